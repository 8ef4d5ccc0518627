"""Page Overview: sentences, the matrix of suites and backends, what needs attention, and the tables of a rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data import query_text
from dashboard.data.frames import KEYS, each, with_series
from dashboard.jobs import recurring
from dashboard.screens.overview import matrix, models
from dashboard.screens.overview.board import (
    PLACE,
    WITHOUT_A_NUMBER,
    Board,
    moved_sentence,
    place_columns,
    read,
    show_moves,
    since,
    slower_n,
    sql_of,
)
from dashboard.ui import answers, empty, frame, tables, widths
from dashboard.ui.frame import PageSpec
from dashboard.ui.tables import TableColumn, measured, naming
from dashboard.view import RULES, View, ViewSelection, filters
from dashboard.words import count, error_text, escape, when
from store.errors import UsageError
from store.metrics import metric
from store.query import named
from store.report.peer import PeerOptions


def show(view: View) -> None:
    """Draw the page."""
    counts = data.rows(view.snapshot, "counts", view.selection)
    if counts.empty:
        frame.head(PAGE.title, view, [state(view)], 0, baseline=True)
        recurring.show_standings(view.snapshot)
        empty.no_rows(view.selection, "results")
        return
    board = read(view, counts)
    results = int(counts["results_n"].sum())
    frame.head(PAGE.title, view, _sentences(view, board), results, baseline=True)
    _offer_baseline(view, board)
    matrix.show(view, board)
    models.show_attention(view, board.base, slower_n(board))
    recurring.show_standings(view.snapshot)
    models.show_heat_map(view)
    _numbers(view, board)
    models.show_findings(view)


def _numbers(view: View, board: Board) -> None:
    """Draw the tables of the chosen rule."""
    st.subheader("The numbers", anchor=False)
    st.segmented_control(
        "Rule",
        list(RULES.values()),
        default=RULES["paired"],
        required=True,
        key="rule",
        bind="query-params",
        persist_state="session",
        label_visibility="collapsed",
    )
    if view.selection.rule == "paired":
        _show_tables(view, board)
        _show_pairing(view)
        return
    _show_rule(view)


def show_empty() -> None:
    """Draw the page over a store without a run, with the state of the recurring runs that should have filled it."""
    empty.show_store(PAGE.title)
    recurring.show_standings(None)


def state(view: View) -> str:
    """Return whether the run is complete and what happened to its experiments."""
    run = view.run
    kind = (
        ("planned experiment", None)
        if run["plan_known"]
        else ("experiment of a file without a plan", "experiments of a file without a plan")
    )
    parts = [f"{int(run['ran_n']):,} of {count(int(run['planned_n']), *kind)} ran"]
    for name, word in WITHOUT_A_NUMBER.items():
        if run.get(name):
            parts.append(f"{int(run[name]):,} {word}")
    outcome = "is complete" if run["complete"] else "is not complete"
    if not run["ran_n"] and any(run.get(name) for name in ("failed_n", "disturbed_n", "never_steady_n")):
        outcome = "measured nothing"
    name = f"{escape(view.run_name)} of {when(view.started)}"
    subject = f"The last run, {name}," if view.newest else f"Run {name}"
    return f"{subject} {outcome}: {', '.join(parts)}"


def _sentences(view: View, board: Board) -> list[str]:
    """Return the first geometric mean, what moved, and the state of the run."""
    rows = data.rows(view.snapshot, "speedups", view.selection)
    means = answers.geomean_sentences(board.means, view.selection.baseline, rows)
    if not means and board.has_results:
        means = [answers.no_speedup(data.rows(view.snapshot, "speedups", view.selection), view.selection.baseline)]
    moved = moved_sentence(board, view.selection.baseline)
    return [*means[:1], *([moved] if moved else []), state(view)]


def _offer_baseline(view: View, board: Board) -> None:
    """Draw a button that changes the baseline, where no result can be compared with the present one."""
    if board.means["geomean"].notna().any() or not board.has_results:
        return
    ran = board.means.groupby("variant")["ran_n"].sum()
    offered = [name for name in data.choices(view.snapshot).baselines if name in ran.index and ran[name] > 0]
    best = max(offered, key=lambda name: ran[name], default=None)
    if best is not None:
        label = f"Compare with {escape(best)}"
        st.button(label, on_click=filters.choose_baseline, args=(best,), type="primary", key="offer-baseline")


def _show_tables(view: View, board: Board) -> None:
    """Draw the tables of speedups, costs and changes, each as wide as the window."""
    with st.expander("Every number of the table above", key="numbers", on_change="rerun") as part:
        if part.open:
            _table(view, board.cells, _speed_columns(view, board), "overview", sql_of(view, board))
    if board.cells["first_iteration_n"].sum():
        _costs(view, board.cells)
    if board.base is not None:
        show_moves(view, since(board.cells, view, board.base), board.base, board.base_name)


def _costs(view: View, cells: pd.DataFrame) -> None:
    memory = data.rows(view.snapshot, "memory_ratios", view.selection)
    columns = _cost_columns()
    cells = cells.merge(memory, on=KEYS, how="left") if len(memory) else cells.assign(memory_ratio=None)
    if cells["memory_ratio"].isna().all():
        columns = {name: column for name, column in columns.items() if not name.startswith("memory")}
    st.subheader("What it costs", anchor=False)
    st.caption(
        "Compile time, memory, fallback ops. The time of a steady iteration is subtracted from that of the first, so "
        "without a compilation the difference is about 0, and noise can make it negative."
    )
    behind = {what: data.statement(query, view.selection) for what, query in _COSTS.items()}
    _table(view, cells, columns, "costs", behind)


_COSTS = {"Counts and medians": "counts", "Memory": "memory_ratios"}
"""Kind of cost → its query."""


def _table(view: View, cells: pd.DataFrame, columns: dict[str, TableColumn], what: str, sql: Mapping[str, str]) -> None:
    tables.show(
        cells,
        tables.without_constant(columns, cells, PLACE),
        key=what,
        alt=f"Results by test, suite and backend ({what})",
        file_name=view.file_name(what),
        sql=sql,
        whole=True,
        room=widths.PAGE_PX,
    )


def _speed_columns(view: View, board: Board) -> dict[str, TableColumn]:
    moved = board.cells["ran"].str.contains("→").any()
    columns = place_columns() | {
        "ran": TableColumn(
            "Ran",
            "verdict",
            width=125 if moved else 70,
            help="Experiments with steady samples, of those planned; where it moved, before → now.",
        ),
        "verified": TableColumn(
            "Verified", width=75, help="Results whose outputs agreed with the reference, of those that ran."
        ),
        "geomean": measured("geomean", "Speedup", f"Baseline: {view.baseline_text}; above 1 is faster.", 75),
        "interval": TableColumn(
            "95 %", width=90, help="Interval of the geometric mean: Student's t on the logs of the speedups."
        ),
        "n": TableColumn("n", "number", width=40, help=metric("n").definition),
    }
    if board.base:
        columns |= {
            "change": TableColumn(
                "Since the run before",
                "verdict",
                width=175,
                help=f"Since {board.base_name}: what became of the backend's own time, then its geomean before → now, "
                f"over the models of both. {_VERDICT_HELP}",
            ),
            "trend": TableColumn(
                "Last runs", "line", width=80, help="Geomean speedup of up to 13 runs of these series."
            ),
        }
    note = TableColumn(
        "No number", width=90 if moved else 200, help="How many experiments of the row gave no number, and why."
    )
    return columns | {"note": note}


def _cost_columns() -> dict[str, TableColumn]:
    over = "Median over models."
    return place_columns() | {
        "first_iteration_s": measured("first_iteration_s", "First iteration", over, 120),
        "first_iteration_n": TableColumn(
            "n", "number", width=40, help="Models behind the median of the first iteration."
        ),
        "compiler_time_s": measured("compiler_time_s", "Compiler says", over, 120),
        "compiler_time_n": TableColumn("n", "number", width=40, help="Models whose compiler reports its time."),
        "memory_ratio": measured("memory_ratio", "Memory", "Geometric mean over models.", 85),
        "memory_n": TableColumn("n", "number", width=40, help="Models behind the memory ratio."),
        "fallback": TableColumn(
            "Fallback",
            width=85,
            help="Models that called an op that XLA did not lower, of those counted; a dash for backends without XLA.",
        ),
    }


_VERDICT_HELP = (
    "Where the baseline's time moved, the text says so. Faster and slower: the interval over models excludes 1 and the "
    "change is above the noise floor; they are suspected, because two runs do not take turns. Unchanged: the whole "
    "interval is within the floor. All others are ambiguous."
)


WORDS = {
    "paired": "in the mean",
    "not_comparable": "valid on both sides, and a setting differs",
    "only_left": "only here: the baseline never tried them",
    "only_right": "only the baseline has them",
    "failed_left": "no valid result here: failed or disturbed",
    "failed_right": "no valid result of the baseline: failed or disturbed",
}


def _show_pairing(view: View) -> None:
    """Draw the lists of models in an expander: they are read only when it is open, because they need every pair."""
    with st.expander("Models behind the means", key="pairing", on_change="rerun", icon=":material/join_inner:") as part:
        if part.open:
            _pairing_table(view)


def _pairing_table(view: View) -> None:
    rows = with_series(data.rows(view.snapshot, "pairing", view.selection))
    st.caption(f"Paired with {escape(view.baseline_text)}. {metric('n').definition}")
    columns = {
        **naming("test", "accelerator", "suite", "series"),
        "what": TableColumn("What they are"),
        "n": TableColumn("n", "number", help="Models of the list."),
        "models": TableColumn("Models"),
    }
    shown = rows.assign(
        what=[WORDS[row.why] for row in each(rows)], models=[", ".join(names) for names in rows["models"]]
    )
    tables.show(
        shown,
        tables.without_constant(columns, shown, ["accelerator", "suite"]),
        key="pairing-table",
        alt="Models in the geometric means, and those that are not, by reason",
        file_name=view.file_name("pairing"),
        sql=data.statement("pairing", view.selection),
    )


def _show_rule(view: View) -> None:
    """Draw the tables of the chosen rule."""
    if view.selection.only or view.selection.cross_device:
        st.caption("This rule ignores the filter “Only models with” and a baseline on another device.")
    try:
        if view.selection.rule == "hud":
            _hud(view)
        else:
            _peer(view)
    except UsageError as error:
        st.info(error_text(error), icon=":material/info:")


def _hud(view: View) -> None:
    selection = view.selection
    at = None if selection.baseline_point == "same" else selection.baseline_run
    params: dict[str, Any] = selection.parameters() | {"baseline_run": at}
    tables.show_report(
        data.hud_report(view.snapshot, selection),
        key="hud",
        file_name=view.file_name("hud"),
        sql=[query_text.written_out(named(name), params) for name in ("hud_summary", "hud_rows")],
    )


def _peer(view: View) -> None:
    """Draw one table per test and accelerator with every timestamp of the store, as PyTorch/XLA's aggregator does."""
    places = data.rows(view.snapshot, "counts", view.selection)[["test", "accelerator", "accelerator_model"]]
    for number, place in enumerate(places.drop_duplicates().itertuples(index=False)):
        model = place.accelerator_model if isinstance(place.accelerator_model, str) else place.accelerator
        st.subheader(f"{escape(place.test)} · {escape(model)}", anchor=False)
        options = _options(view.selection, str(place.test), str(model))
        text = query_text.written_out(named("peer_datapoints"), _datapoint_params(options))
        report = data.peer_report(view.snapshot, options)
        tables.show_report(
            report, key=f"peer-{number}", file_name=view.file_name("peer"), sql=[text for _ in report.tables]
        )


def _options(selection: ViewSelection, test: str, accelerator: str) -> PeerOptions:
    ours = ("inductor", "openxla+dynamo", "openxla+lazytensor", "eager")
    others = selection.backend or ours
    return PeerOptions(
        test=test,
        baseline="oldest" if selection.baseline_point == "oldest" else "latest",
        accelerator=f"^{re.escape(accelerator)}$",
        backends=(selection.baseline, *(name for name in others if name != selection.baseline)),
        suite=selection.suite,
        include=tuple(f"^{re.escape(name)}$" for name in selection.model),
    )


def _datapoint_params(options: PeerOptions) -> dict[str, Any]:
    return {
        "metric": options.metric,
        "test": options.test,
        "accelerator": options.accelerator,
        "suite": list(options.suite),
        "files": [],
    }


PAGE = PageSpec(place=10, title="Overview", url_path="", icon=":material/dashboard:", show=show, show_empty=show_empty)
