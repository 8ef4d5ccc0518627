"""The review as a report: the answer in sentences, then the tables that it rests on, in the order one acts on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from store.compare.calibration import NOT_CALIBRATED
from store.errors import counted
from store.identity import model_names
from store.metrics import metric
from store.query import DEFAULT_BASELINE, Connection, fetch, named
from store.report.findings import findings_table, wrong_answers
from store.report.payoffs import WAYS, sentence
from store.report.render import Figure, html_page, render
from store.report.table import Cell, Column, Report, Table, text_columns
from store.state.reviews import Entry, ReviewStanding, standings
from store.weekly import counts, flips, programs, speed
from store.weekly.counts import speedups_table
from store.weekly.figures import figures
from store.weekly.flips import Flip, Flips
from store.weekly.lanes import PAGE, Lane, LaneSides, Pages, lanes, sides_of
from store.weekly.programs import versions_table
from store.weekly.speed import CONFIRMED, NOT_CONFIRMED, SUSPECTED, Speed

Row = dict[str, Any]
_MOST = 3
"""Payoffs that the answer names; the table has all."""
_NUMBERS = ("payoff", "payoff_low", "payoff_high")


def payoffs_of(con: Connection, lanes: Iterable[Lane]) -> list[Row]:
    """Return one row per result of the newest runs and op that was measured there, proven gains first."""
    payoffs: dict[tuple[Any, ...], Row] = {}
    for lane in lanes:
        parameters = {"runs": [lane.now.run_id], "accelerator": lane.accelerator}
        for row in fetch(con, named("weekly_payoffs"), parameters):
            payoffs[
                tuple(row[name] for name in ("run_id", "suite", "model", "test", "variant", "environment", "op"))
            ] = row
    return sorted(payoffs.values(), key=lambda row: row["gain"] != 1)


def payoff_sentences(rows: Iterable[Row]) -> list[str]:
    """Return the largest proven gains as sentences; nothing where none is proven."""
    proven = [row for row in rows if row["gain"] == 1]
    more = len(proven) - _MOST
    rest = [f"{more} more proven payoffs are in the table."] if more > 0 else []
    return [f"Measured: {sentence(row)}." for row in proven[:_MOST]] + rest


def payoffs_table(rows: Iterable[Row]) -> Table:
    """Return one row per result and op, with the reason where a measurement gave no number."""
    words = list(text_columns("op", "accelerator", "suite", "model", "test", "variant"))
    numbers = [
        Column(title=number.label, definition=number.definition, digits=2, numeric=True)
        for number in map(metric, _NUMBERS)
    ]
    columns = (
        *words,
        *numbers,
        *text_columns("replaced by", "why no payoff", "measured by"),
    )
    return Table(title="Measured payoffs of fallback ops", columns=columns, rows=tuple(map(_cells, rows)))


def _cells(row: Row) -> tuple[Cell, ...]:
    words = (row[name] for name in ("op", "accelerator", "suite", "model", "test", "variant"))
    numbers = (None if row[name] is None else metric(name).shown(row[name]) for name in _NUMBERS)
    by = ", ".join(WAYS.get(way, way) for way in row["ways"]) or None
    run = f"{row['payoff_run_label']} of {row['payoff_started']:%Y-%m-%d}"
    return (*words, *numbers, by, row["payoff_reason"], run)


_COLUMNS = (
    *text_columns("finding", "state", "filed as", "assignee", "note"),
    Column(title="by", definition="Who wrote last; unverified where no login confirmed the name."),
    Column(title="when"),
)


def review_table(entries: Iterable[Entry], runs: Collection[str]) -> Table:
    """Return one row per finding of these runs that somebody spoke of."""
    reviews = standings(entry for entry in entries if entry.subject.run_id in runs)
    return Table(title="Review notes", columns=_COLUMNS, rows=tuple(map(_row, reviews.values())))


def _row(standing: ReviewStanding) -> tuple[Cell, ...]:
    last = standing.entries[-1]
    by = last.who if last.verified else f"{last.who} (unverified)"
    facts = (standing.state, standing.reference, standing.assignee, standing.note)
    return (last.what, *facts, by, f"{last.created_at:%Y-%m-%d %H:%M} UTC")


_NAMES = 8
"""Names that a sentence has; the tables have all."""


class Weekly(msgspec.Struct, frozen=True):
    """The review, and its charts."""

    report: Report
    figures: tuple[Figure, ...]
    first: int
    """How many of the report's tables stand before the charts."""
    verdict: str
    """The conclusion in one sentence."""

    def render(self, form: str) -> str:
        """Return it in one of the formats of reports; HTML has the charts."""
        if form == "html":
            return html_page(self.report, self.figures, self.first, self.verdict)
        return render(self.report, form)


def weekly_report(
    con: Connection,
    runs: Sequence[str] = (),
    since: str | None = None,
    baseline: str = DEFAULT_BASELINE,
    dashboard: str | None = None,
    said: Iterable[Entry] = (),
) -> Weekly:
    """Review runs against those of a week before: what passes, fails, moved and why.

    Runs and `since` are those of `store.weekly.lanes.lanes`; `said` are reviews of findings.

    Raises:
        UsageError: there is no run, or none of that name; or the dashboard's address is none.
    """
    pages = Pages(dashboard)
    reviewed = lanes(con, runs, since)
    sides = [sides_of(con, lane) for lane in reviewed]
    flipped, moved = flips.flips_of(con, sides), speed.speed_of(con, reviewed)
    fallbacks = programs.fallback_table(programs.fallback_changes(con, sides))
    structure = programs.structure_tables(con, sides)
    paid = payoffs_of(con, reviewed)
    ids = [run for lane in reviewed for run in lane.runs]
    report = Report(
        title=_title(reviewed),
        alarms=tuple(sentence for lane_sides in sides for sentence in wrong_answers(lane_sides.now.values())),
        answer=(*_answer(reviewed, flipped, moved, (fallbacks, structure[0])), *payoff_sentences(paid)),
        tables=_distinguishing_tables(
            sides,
            pages,
            *(counts.passing_table(lane_sides) for lane_sides in sides),
            review_table(said, [lane.now.run_id for lane in reviewed]),
            *flips.tables(flipped, pages),
            speed.changes_table(moved, pages),
            speedups_table(con, sides, baseline),
            fallbacks,
            payoffs_table(paid),
            *structure,
            versions_table(con, reviewed),
            counts.rates_table(sides),
            speed.reasons_table(moved),
            findings_table(con, ids),
        ),
        notes=_notes(reviewed, moved),
    )
    verdict = _verdict(flipped, moved) if _is_compared(reviewed) else "There is no earlier run to compare with."
    return Weekly(report, figures(con, reviewed, moved, baseline), len(sides), verdict)


def _verdict(flipped: Flips, moved: Speed) -> str:
    """Say what got worse and what got better, in one sentence."""
    slower, faster = (moved.count(word, CONFIRMED) for word in ("slower", "faster"))
    maybe = moved.count("slower", SUSPECTED)
    sure = sum(flip.counts == flips.COUNTS for flip in flipped.failing)
    bad = [
        (sure, "is newly failing", "are newly failing"),
        (len(flipped.failing) - sure, "failed once and was not retried", "failed once and were not retried"),
        (slower, "is slower", "are slower"),
        (maybe, "is suspected to be slower", "are suspected to be slower"),
    ]
    good = [
        (len(flipped.passing), "is newly passing", "are newly passing"),
        (faster, "is faster", "are faster"),
    ]
    worse, better = _clauses(bad), _clauses(good)
    return f"{worse or _nothing_worse(moved)}; {better or 'nothing got better'}."


def _clauses(parts: Sequence[tuple[int, str, str]]) -> str:
    """Return `2 experiments are slower, 1 is suspected to be`: numbers with their verbs, for one and for many."""
    verbs = [(number, one if number == 1 else many) for number, one, many in parts if number]
    first = [f"{counted(number, 'experiment')} {verb}" for number, verb in verbs[:1]]
    return ", ".join([*first, *(f"{number:,} {verb}" for number, verb in verbs[1:])])


def _nothing_worse(moved: Speed) -> str:
    """Say that nothing got worse, with its doubt: experiments that are ambiguous, or that none can be compared."""
    unsure, apart = (moved.unmoved(word) for word in ("ambiguous", "not comparable"))
    if apart == moved.cells_n:
        why = f"none of {apart:,} experiments can be compared" if apart else "both runs share no experiment"
        return f"Whether anything got slower is unknown: {why}"
    if not unsure:
        return "Nothing got worse"
    return f"Nothing is shown to be worse, but {unsure:,} of {moved.cells_n:,} experiments are ambiguous"


def _distinguishing_tables(sides: Sequence[LaneSides], pages: Pages, *tables: Table) -> tuple[Table, ...]:
    """Return the tables without the accelerator or the suite where all have the same, and without links to nowhere."""
    suites = {
        row["suite"] for lane_sides in sides for rows in (lane_sides.now, lane_sides.last) for row in rows.values()
    }
    equal = {name for name, count in (("accelerator", len(sides)), ("suite", len(suites))) if count == 1}
    if pages.address is None:
        equal.add(PAGE.title)
    return tuple(_without_columns(table, equal) for table in tables)


def _without_columns(table: Table, titles: set[str]) -> Table:
    indexes = [index for index, column in enumerate(table.columns) if column.title not in titles]
    return msgspec.structs.replace(
        table,
        columns=tuple(table.columns[index] for index in indexes),
        rows=tuple(tuple(row[index] for index in indexes) for row in table.rows),
    )


def _title(reviewed: Sequence[Lane]) -> str:
    newest = max(lane.now.started for lane in reviewed)
    labels = ", ".join(sorted({lane.now.label for lane in reviewed}))
    return f"Review of {newest:%Y-%m-%d}: {labels}"


def _answer(reviewed: Sequence[Lane], flipped: Flips, moved: Speed, changed: Sequence[Table]) -> tuple[str, ...]:
    if not _is_compared(reviewed):
        return tuple(_compared(reviewed))
    return (*_compared(reviewed), *_flipped(flipped), *_moved(moved), _programs(changed), *_alarms(moved))


def _is_compared(reviewed: Iterable[Lane]) -> bool:
    return any(lane.last is not None for lane in reviewed)


def _compared(reviewed: Sequence[Lane]) -> list[str]:
    sentences = []
    for lane in reviewed:
        against = f" against {lane.last.text()}" if lane.last else ""
        note = f" {lane.note}" if lane.note else ""
        sentences.append(f"{lane.name}: {lane.now.text()}{against}.{note}")
    return sentences


def _flipped(flipped: Flips) -> list[str]:
    sure = [flip for flip in flipped.failing if flip.counts == flips.COUNTS]
    failing = f"Newly failing, also when retried: {len(sure)}{_named(sure)}"
    if rest := len(flipped.failing) - len(sure):
        failing += f"; {rest} more were not retried and are not counted yet"
    passing = f"Newly passing: {len(flipped.passing)}{_named(flipped.passing)}."
    sentences = [f"{failing}.", passing]
    if flipped.flaky:
        sentences.append(f"Flaky: {len(flipped.flaky)}{_named(flipped.flaky)}.")
    if flipped.gone or flipped.added:
        sentences.append(
            f"No longer tried: {len(flipped.gone)}. New in the plan: {len(flipped.added)}. "
            "Neither counts as newly failing or passing."
        )
    return sentences


def _named(flipped: Sequence[Flip]) -> str:
    """Return the first names in brackets."""
    names_of = model_names((str(flip.what()[1]), str(flip.what()[2])) for flip in flipped)
    names = [
        " ".join([names_of[str(suite), str(model)], *map(str, rest)])
        for _, suite, model, *rest in (flip.what() for flip in flipped)
    ]
    more = [f"{len(names) - _NAMES} more"] if len(names) > _NAMES else []
    return f" ({', '.join([*names[:_NAMES], *more])})" if names else ""


def _moved(moved: Speed) -> list[str]:
    if not moved.comparisons:
        return []
    parts = []
    for word in ("slower", "faster"):
        numbers = [f"{moved.count(word, certainty)} {certainty}" for certainty in (CONFIRMED, SUSPECTED)]
        if denied := moved.count(word, NOT_CONFIRMED):
            numbers.append(f"{denied} {NOT_CONFIRMED} when measured again")
        parts.append(f"{word.capitalize()}: {', '.join(numbers)}.")
    rest = ", ".join(f"{moved.unmoved(word)} {word}" for word in ("same", "ambiguous", "not comparable"))
    return [f"{' '.join(parts)} The others of the {moved.cells_n} experiments in both runs: {rest}."]


def _programs(changed: Sequence[Table]) -> str:
    fallbacks, numbers = changed
    parts = []
    for word in ("new", "gone"):
        ops = sorted({str(row[1]) for row in fallbacks.rows if row[0] == word})
        parts.append(f"{len(ops)} {word}" + (f" ({', '.join(ops)})" if ops else ""))
    numbers_n = len(numbers.rows)
    return f"Fallback ops: {', '.join(parts)}. Numbers of graphs, ops, fusions or breaks that changed: {numbers_n}."


def _alarms(moved: Speed) -> list[str]:
    """Say how often these runs' own rule calls equal things different."""
    alarms = {alarm.run_id: alarm for comparison in moved.comparisons for alarm in comparison.false_alarms}
    return [f"False alarms: {alarm.sentence()}" for alarm in alarms.values()]


def _notes(reviewed: Sequence[Lane], moved: Speed) -> tuple[str, ...]:
    notes = [
        "Passing counts the planned experiments that finished and, if they were verified, gave no wrong answer.",
        "A new failure counts when its automatic retry in the same run failed as well (--retry-new-failures).",
        "Differences between runs of different days are suspected until `xlabench compare A B --confirm` repeats both.",
        *dict.fromkeys(comparison.renamed for comparison in moved.comparisons if comparison.renamed),
    ]
    if any(cell.floor.pairs == 0 for comparison in moved.comparisons for cell in comparison.cells):
        notes.append(NOT_CALIBRATED)
    if any(lane.last is None for lane in reviewed):
        notes.append("There is no earlier run to compare with: nothing is new or gone, and earlier counts are `?`.")
    return tuple(notes)
