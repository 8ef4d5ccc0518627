"""Page Overview: sentences, the matrix of suites and backends, what needs attention, all models, and the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import KEYS, SYNTHETIC, iter_rows, key_of, order_of_backends, rows_by, unit, with_series
from dashboard.formatting import (
    DASH,
    count,
    escape,
    interval,
    listed,
    missing,
    ratio,
    share,
    shortened,
    when,
)
from dashboard.jobs import recurring, rerun
from dashboard.review import attention
from dashboard.screens.overview import costs, grids, numbers
from dashboard.screens.overview.grids import MatrixCell, MatrixRow
from dashboard.screens.overview.numbers import WITHOUT_A_NUMBER, Board, is_baseline
from dashboard.ui import answers, doubts, downloads, empty, frame, reports, tables
from dashboard.ui.frame import PageSpec
from dashboard.ui.tables import TableColumn, naming
from dashboard.ui.verdicts import appearance_of
from dashboard.view import RULES, View, filters, links
from store.metrics import metric
from store.stats.geomean import Spread, spread


def show(view: View) -> None:
    """Draw the page."""
    counts = data.rows(view.snapshot, "counts", view.selection)
    if counts.empty:
        frame.head(PAGE.title, view, [state(view)], 0, baseline=True)
        recurring.show_standings(view.snapshot)
        empty.no_rows(view.selection, "results")
        return
    board = numbers.read(view, counts)
    # Each of them is read once: the cache returns a copy, to which intervals over processes are added.
    speedups, findings = (data.rows(view.snapshot, name, view.selection) for name in ("speedups", "attention"))
    speedups = doubts.with_warnings(view, speedups)
    results = int(counts["results_n"].sum())
    frame.head(PAGE.title, view, _sentences(view, board, speedups), results, baseline=True)
    _offer_baseline(view, board)
    _show_matrix(view, board, speedups)
    slower = sum(change.backend.word == "slower" for _, change in board.moved)
    compared = speedups[speedups["record_id"] != speedups["baseline_record_id"]]["speedup"].notna().any()
    attention.show(view, findings, board.base, slower, compared=bool(compared))
    recurring.show_standings(view.snapshot)
    grids.show_heat_map(view, speedups)
    _show_numbers(view, board)
    attention.show_findings(view, findings)


def _show_numbers(view: View, board: Board) -> None:
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
        numbers.show(view, board)
        costs.show(view, board)
        _show_pairing(view)
        return
    reports.show_rule(view)


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


def _sentences(view: View, board: Board, speedups: pd.DataFrame) -> list[str]:
    """Return the first geometric mean, what moved since the run before, and the state of the run."""
    baseline = view.selection.baseline
    sentences = answers.geomean_sentences(board.means, baseline, speedups)[:1]
    if not sentences and board.has_results:
        sentences = [answers.no_speedup(speedups, baseline)]
    if board.moved:
        sentences.append(f"Since {board.base_name}: {answers.changed_series(board.moved, baseline)}")
    elif board.cells["change"].str.endswith(answers.PARTED).any():
        sentences.append(f"Since {board.base_name}: no change is known, as all results were {answers.PARTED}")
    return [*sentences, state(view)]


def _offer_baseline(view: View, board: Board) -> None:
    """Draw a button that changes the baseline, where no result can be compared with the present one."""
    if board.means["geomean"].notna().any() or not board.has_results:
        return
    ran = board.means.groupby("variant")["ran_n"].sum()
    offered = [name for name in data.choices(view.snapshot).baselines if name in ran.index and ran[name] > 0]
    best = max(offered, key=lambda name: ran[name], default=None)
    if best is not None and (ran.drop(best) > 0).any():
        label = f"Compare with {escape(best)}"
        st.button(label, on_click=filters.choose_baseline, args=(best,), type="primary", key="offer-baseline")


_LONGEST = 80
_RERUNS_NAMED = 2
_SERIES_KEY = [name for name in KEYS if name not in ("accelerator_model", "backend")]
"""Columns of a series without its model that results and means share."""


class MeanDetails(NamedTuple):
    """Details of a mean."""

    spread: Spread | None
    """Distribution of its speedups; None without any."""
    reruns: list[Any]
    """The newest rerun of each of its results that was measured again."""
    ends: str = DASH
    """The interval of its only speedup; a dash if it has several."""
    warned_n: int = 0
    """Number of its results that have measurement warnings, or whose baseline has some."""


def _show_matrix(view: View, board: Board, speedups: pd.DataFrame) -> None:
    """Draw the geometric means by suite, test and backend; synthetic suites are last."""
    means = [row for row in iter_rows(board.cells) if not is_baseline(row, view)]
    columns = order_of_backends({(row.variant, row.backend) for row in means})
    if not columns:
        return
    behind = _models_behind(view, speedups)
    several = len(set(board.cells["accelerator"])) > 1
    own: dict[tuple[str, ...], Any] = {}
    cells: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in iter_rows(board.cells):
        setting = str(row.series)[len(str(row.variant)) :].strip(" ·")
        place = (row.suite, *filter(None, (row.test, row.accelerator if several else "", setting)))
        if is_baseline(row, view):
            own[place] = row
        else:
            cells.setdefault(place, {})[row.variant] = row
    ordered = sorted(cells, key=lambda place: (place[0] in SYNTHETIC, place))
    rows = [
        MatrixRow(
            head=place[0],
            rest=" · ".join(place[1:]),
            change=_of_baseline(view, own.get(place)),
            cells={name: _cell(view, row, behind.get(key_of(row, _SERIES_KEY))) for name, row in cells[place].items()},
        )
        for place in ordered
    ]
    grids.show_matrix(f"Speedup over {view.selection.baseline}", columns, rows)
    if notes := _legend(board, rows):
        st.caption(notes)
    exported = pd.DataFrame(
        [_exported(row, behind.get(key_of(row, _SERIES_KEY))) for place in ordered for row in cells[place].values()]
    )
    downloads.below(exported, "matrix", data.TableSource(view.file_name("matrix"), numbers.sql_of(view, board)))


def _legend(board: Board, rows: Sequence[MatrixRow]) -> str:
    """Return what the coloured line and the mark of a cell mean, where a cell has one."""
    line = (
        f"The coloured line of a cell: how the backend's own time changed since {board.base_name}, and its speedup "
        "before → now."
    )
    warned = any(doubts.WARNED in line for row in rows for cell in row.cells.values() for line in cell.lines)
    mark = f"{doubts.WARNED} models with a measurement warning, which page Speedup names."
    return " ".join([line] * bool(board.moved) + [mark] * warned)


def _models_behind(view: View, speedups: pd.DataFrame) -> dict[tuple[Any, ...], MeanDetails]:
    """Return the details of each mean, by series without its model."""
    reruns = rerun.newest(view)
    return {
        key: MeanDetails(
            spread(ratios),
            [reruns[row.series_id] for row in rows if row.series_id in reruns],
            interval(ratios[0].low, ratios[0].high) if len(ratios) == 1 else DASH,
            sum(not missing(row.warned) for row in rows if row.speedup > 0),
        )
        for key, rows in rows_by(speedups, _SERIES_KEY).items()
        for ratios in [[answers.ratio_of(row) for row in rows if row.speedup > 0]]
    }


def _cell(view: View, row: Any, behind: MeanDetails | None) -> MatrixCell:
    """Return the cell of a mean, or of the reason why there is none."""
    where = {name: [getattr(row, name)] for name in ("suite", "test", "accelerator", "backend")}
    address = links.href(view, "speedup", **where)
    newest = _newest_rerun(view, where, behind.reruns) if behind is not None and behind.reruns else None
    if missing(row.geomean) or behind is None or behind.spread is None:
        why = "no speedup" if row.note == DASH else row.note.removeprefix("no speedup: ")
        return MatrixCell(DASH, address, lines=[shortened(why, _LONGEST), _passed(row)], rerun=newest)
    ratios = behind.spread
    word, ink = _word(row, ratios)
    lines = [_interval_text(row, ratios, behind), _counts(ratios, behind.warned_n), _passed(row)]
    return MatrixCell(ratio(row.geomean), address, word, ink, row.trend, _change(view, row), lines, newest)


def _word(row: Any, behind: Spread) -> tuple[str, str]:
    """Return the verdict of a mean in words, and its colour; one model alone is judged by its own interval."""
    models = len(behind.models)
    alone = models == 1 and not row.cross_device and not behind.unknown
    if missing(row.geomean_low) and not alone:
        few = f"{count(models, unit([row.suite]))}, no interval"
        return ("cross-device" if row.cross_device else few), "inherit"
    if behind.same if alone else row.geomean_low <= 1 <= row.geomean_high:
        return "no difference shown", "inherit"
    if row.geomean > 1:
        return "faster", appearance_of("faster").ink
    return f"{answers.times(row.geomean)} slower", appearance_of("slower").ink


def _interval_text(row: Any, ratios: Spread, behind: MeanDetails) -> str:
    """Return the interval and the median; where there is only one model, its interval and its name."""
    if len(ratios.models) == 1:
        name = f"{shortened(ratios.models[0], 28)} only{doubts.WARNED if behind.warned_n else ''}"
        return name if behind.ends == DASH else f"CI {behind.ends} · {name}"
    parts = [] if missing(row.geomean_low) else [f"CI {interval(row.geomean_low, row.geomean_high)}"]
    return " · ".join([*parts, f"median {ratio(ratios.median)}"])


def _counts(behind: Spread, warned_n: int) -> str:
    """Return how many models have which verdict; a single model's is the word beside its number."""
    if len(behind.models) == 1 and not behind.unknown:
        return ""
    counts = {
        "faster": behind.faster,
        "no difference shown": behind.same,
        "slower": behind.slower,
        "without interval": behind.unknown,
        doubts.WARNED: warned_n,
    }
    parts = [f"{number} {word}" for word, number in counts.items() if number]
    if behind.without is not None and behind.outlier is not None:
        parts.append(f"{ratio(behind.without)} without {shortened(behind.outlier, 22)}")
    return " · ".join(parts)


def _passed(row: Any) -> str:
    """Return how many planned experiments passed, or how many ran where none was verified."""
    planned = int(row.planned_n)
    if row.verify_asked:
        return f"passed {share(int(row.verified_n), planned)}"
    return f"ran {share(int(row.ran_n), planned)}{', not verified' if row.ran_n else ''}"


def _change(view: View, row: Any) -> tuple[str, str] | None:
    """Return the change since the run before, and the colour of its verdict."""
    if row.moved is None:
        return None
    shown = appearance_of("same" if row.moved.by_baseline_only else row.moved.backend.word)
    return f"{answers.change_word(row.moved, view.selection.baseline)}, {answers.from_to(row.moved)}", shown.ink


def _of_baseline(view: View, baseline: Any | None) -> tuple[str, str] | None:
    """Return how the baseline's own time moved, because it moves every speedup of the row."""
    moved = None if baseline is None else baseline.moved
    if moved is None or moved.backend.word not in ("faster", "slower"):
        return None
    shown, factor = appearance_of(moved.backend.word), answers.times(moved.backend.ratio or 1)
    return f"{view.selection.baseline} {shown.sign} {factor} {shown.word}", shown.ink


def _newest_rerun(view: View, where: Mapping[str, list[str]], reruns: Sequence[Any]) -> tuple[str, str]:
    """Return the address of the newest of the runs that measured results of a cell again, and what they found."""
    run = max(reruns, key=lambda row: (row.run_started, row.run_id)).run_id
    outcomes = listed([f"{row.model} {rerun.outcome(row)}" for row in reruns], _RERUNS_NAMED)
    return links.href(view, "speedup", **where, run=run), f"{rerun.MARK} measured again: {outcomes}"


_EXPORTED = (
    *("suite", "test", "accelerator", "environment", "dtype", "variant", "geomean", "geomean_low", "geomean_high"),
    *("n", "planned_n", "ran_n", "verified_n"),
)
"""Columns of a mean that files contain."""


def _exported(row: Any, behind: MeanDetails | None) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in _EXPORTED}
    if behind is not None and (ratios := behind.spread) is not None:
        values |= {
            "median": ratios.median,
            "faster_n": ratios.faster,
            "same_n": ratios.same,
            "slower_n": ratios.slower,
            "without_interval_n": ratios.unknown,
            "largest_outlier": ratios.outlier,
            "geomean_without_it": ratios.without,
        }
    return values | {"since_the_run_before": row.change}


_WORDS = {
    "paired": "in the mean",
    "not_comparable": "valid on both sides, and a setting differs",
    "only_left": "only here: not planned for the baseline",
    "only_right": "only the baseline has them",
    "failed_left": "no valid result here: failed, disturbed or a wrong answer",
    "failed_right": "no valid result of the baseline: failed, disturbed or a wrong answer",
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
        what=[_WORDS[row.why] for row in iter_rows(rows)], models=[", ".join(names) for names in rows["models"]]
    )
    tables.show(
        shown,
        tables.without_constant(columns, shown, ["accelerator", "suite"]),
        data.source(view, "pairing"),
        key="pairing-table",
        alt="Models in the geometric means, and those that are not, by reason",
    )


PAGE = PageSpec(place=10, title="Overview", url_path="", icon=":material/dashboard:", show=show, show_empty=show_empty)
