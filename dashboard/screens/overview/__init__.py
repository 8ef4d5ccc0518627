"""Page Overview: sentences, the matrix of suites and backends, what needs attention, and the tables of a rule."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import data
from dashboard.data import query_text
from dashboard.data.frames import each, unit, with_series
from dashboard.launch import recurring, rerun
from dashboard.screens.overview import heat_map, matrix, scoreboard
from dashboard.screens.overview.board import WITHOUT_A_NUMBER, moved_sentence, read, slower_n
from dashboard.ui import answers, empty, frame, opening, tables
from dashboard.ui.tables import TableColumn, measured, naming
from dashboard.view import RULES, filters, links
from dashboard.words import STATUS_WORDS, count, error_text, escape, interval, listed, missing, shortened, when
from store.errors import UsageError
from store.metrics import metric
from store.query import named
from store.report.peer import PeerOptions

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.screens.overview.board import Board
    from dashboard.view import View, ViewSelection


def show(view: View) -> None:
    """Draw the page."""
    counts = data.rows(view.snapshot, "counts", view.selection)
    if counts.empty:
        frame.head("Overview", view, [state(view)], 0, baseline=True)
        recurring.show_standings(view.snapshot)
        empty.no_rows(view.selection, "results")
        return
    board = read(view, counts)
    results = int(counts["results_n"].sum())
    frame.head("Overview", view, _sentences(view, board), results, baseline=True)
    _offer_baseline(view, board)
    matrix.show(view, board)
    _show_attention(view, board.base, slower_n(board))
    recurring.show_standings(view.snapshot)
    heat_map.show(view)
    _numbers(view, board)
    _findings_table(view)


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
        scoreboard.show(view, board)
        _show_pairing(view)
        return
    _show_rule(view)


def show_empty() -> None:
    """Draw the page over a store without a run, with the state of the recurring runs that should have filled it."""
    empty.show_store("Overview")
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


_SLOWER = "slower than baseline"
_PAGES = {"slower than baseline": "speedup"}
"""Finding → the page that shows it; page Runs shows the others."""
_NAMED = 3


def _show_attention(view: View, base: dict[str, Any] | None, slower: int) -> None:
    """Draw the short list: one line per kind of finding, each a link to the page that shows it.

    Args:
        view: what is shown.
        base: row of the run before, None where there is none.
        slower: number of series whose own time became longer since that run.
    """
    findings = data.rows(view.snapshot, "attention", view.selection)
    st.subheader("Needs attention", anchor=False)
    if findings.empty and _not_lowered(view).empty and not slower:
        st.markdown(
            "Nothing: every planned experiment has a result, and no compiled result is slower than the baseline."
        )
    with st.container(gap=None, key="attention-list"):
        for finding in dict.fromkeys(findings["finding"]):
            part = findings[findings["finding"] == finding]
            states = _states(view) if finding == "failed" else ""
            headline = _affected_results(len(part), finding, view.selection.baseline)
            _line(view, _PAGES.get(finding, "runs"), finding, f"**{headline}**{states} · {_named(part)}")
        _fallbacks(view)
        if base is not None:
            name = f"{escape(shortened(base['run_label'] or base['run_id'][:8]))} of {when(base['run_started'])}"
            moved = f" · {count(slower, 'series', 'series')} slower (suspected)" if slower else ""
            _line(view, "compare", "base", f"**Compare** with {name}{moved}", a=base["run_id"], b=view.selection.run_id)


def _affected_results(number: int, finding: str, baseline: str) -> str:
    """Return how many results have a finding; only compiled results can be slower than the baseline."""
    if finding == _SLOWER:
        verb = "is" if number == 1 else "are"
        return f"{count(number, 'compiled result')} {verb} slower than {escape(baseline)}"
    return count(number, finding, "wrong answers" if finding == "wrong answer" else finding)


def _findings_table(view: View) -> None:
    """Draw an expander with each finding and its reason, the most severe first; a name opens the model."""
    findings = data.rows(view.snapshot, "attention", view.selection)
    if findings.empty:
        return
    title = f"Each of the {count(len(findings), 'finding')}"
    with st.expander(title, key="findings", on_change="rerun", icon=":material/checklist:") as part:
        if part.open:
            _draw_findings(view, findings)


def _draw_findings(view: View, findings: pd.DataFrame) -> None:
    rows = list(each(findings))
    shown = findings.assign(
        finding=[_finding(row) for row in rows],
        interval=[interval(row.speedup_low, row.speedup_high) for row in rows],
        why=[_why(row) for row in rows],
    )
    selected = opening.table(
        view,
        shown,
        _findings_columns(view),
        key="attention",
        alt="What needs attention",
        file_name="attention",
        sql=data.statement("attention", view.selection),
        told_once=("environment", "accelerator", "suite"),
    )
    rerun.offer(view, rerun.of_rows(findings, "finding"), key="attention", selected=selected)


def _line(view: View, page: str, key: str, label: str, **params: object) -> None:
    links.link(view, page, label, key=f"to-{key}", icon=":material/arrow_forward:", **params)


def _named(part: pd.DataFrame) -> str:
    """Return the models of a finding, the first few by name."""
    return listed([escape(shortened(name)) for name in dict.fromkeys(part["model"])], _NAMED)


def _states(view: View) -> str:
    """Return how long the failing series have failed, as ` (1 new, 2 persistent)`."""
    failing = data.rows(view.snapshot, "failing", view.selection, until=view.started)
    numbers = failing["state"].value_counts()
    states = [f"{int(numbers[state])} {state}" for state in ("new", "persistent", "flaky") if state in numbers]
    return f" ({', '.join(states)})" if states else ""


def _fallbacks(view: View) -> None:
    """Draw the line of ops that XLA does not lower; the op that most models call is first."""
    lower = _not_lowered(view)
    if lower.empty:
        return
    called = lower[["op", "suite", "model"]].drop_duplicates().sort_values("op")
    models, what = called["op"].value_counts(), unit(called["suite"])
    op_texts = [f"{escape(shortened(op))} in {count(int(number), what)}" for op, number in models.head(_NAMED).items()]
    others = f" and {len(models) - _NAMED} more" if len(models) > _NAMED else ""
    text = f"**{count(len(models), 'op')} fell back to the CPU** · {', '.join(op_texts)}{others}"
    _line(view, "fallback-ops", "fallbacks", text)


def _not_lowered(view: View) -> pd.DataFrame:
    """Return the calls of ops that XLA does not lower."""
    ops = data.rows(view.snapshot, "fallback_ops", view.selection)
    return ops[(ops["klass"] != "host_read") & (ops["calls_per_iteration"] > 0)]


def _finding(row: Any) -> str:
    return STATUS_WORDS.get(row.status, str(row.status)) if row.finding == "failed" else str(row.finding)


def _why(row: Any) -> str:
    if row.finding == _SLOWER:
        return f"interval below 1, n = {int(row.steady_n)} against {int(row.baseline_steady_n)} samples; unconfirmed"
    return "no reason was recorded" if missing(row.reason) else str(row.reason)


def _findings_columns(view: View) -> dict[str, TableColumn]:
    return {
        "finding": TableColumn("Finding", pinned=True),
        **naming("suite", "model", "test", "accelerator", "variant", "environment", pinned=()),
        "why": TableColumn("Why"),
        "speedup": measured("speedup", note=f"Baseline: {view.baseline_text}."),
        "interval": tables.interval_column("speedup"),
        "steady_n": measured("steady_n", "n", width=40),
        "baseline_steady_n": measured("baseline_steady_n", "n of it", width=60),
        "failure_phase": TableColumn("Phase", help="How far the experiment came.", hidden=True),
    }


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
