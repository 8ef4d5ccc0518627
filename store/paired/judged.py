"""Each result with its verdict against the baseline and the reasons to doubt its number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from store.advice import mark_of
from store.compare import compare
from store.compare.sides import Side
from store.identity import model_names
from store.query import Connection, fetch, named
from store.report.table import distinguishing_columns
from store.stats.verdicts import Verdict, Word
from store.verification import UNVERIFIED

Row = dict[str, Any]

KEYS = ("suite", "model", "test", "accelerator", "environment", "dtype")
_SETTINGS = ("optimizer", "loss", "matmul_precision", "workload")
STATUS_WORDS = {"oom": "out of memory", "verify_only": "verified only"}
"""Statuses that do not read as words once their underscores are spaces."""
VERDICT_MARKS: Mapping[Word | None, str] = {"same": "same", "ambiguous": "ambiguous"}
VERIFICATION_MARKS = {
    "FAIL": "wrong answer",
    "EAGER_FAILED": "eager failed",
    "EXCEPTION_RAISED": "check failed",
    "NONDETERMINISTIC_EAGER_RUN": "eager varies",
    "PASS": None,
}
"""Verification code → its mark; a code that is not here says nothing about the answer."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `speedups`, what became of it, and what makes its number doubtful."""

    row: Row
    verdict: Verdict | None
    is_baseline: bool
    doubts: tuple[str, ...]
    """Marks of its own findings, and of its answer where that is not verified."""
    baseline_doubts: tuple[str, ...]
    """Marks of the findings of its baseline, which make the speedup doubtful, too."""

    @property
    def key(self) -> tuple[Any, ...]:
        return key_of(self.row)

    @property
    def variant(self) -> str:
        """Return the backend with its options."""
        return str(self.row["variant"])

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """Return the 95 % interval of the speedup: of blocks, or of processes where these have too few blocks."""
        low, high = self.row["speedup_low"], self.row["speedup_high"]
        few = mark_of("few_blocks") in (*self.doubts, *self.baseline_doubts)
        return _of_processes(self.row, self.verdict) or (low, high) if low is None and few else (low, high)

    @property
    def word(self) -> Word | None:
        """Return the verdict, only where the number that is shown beside it agrees.

        A verdict rests on rounds that both sides took, the speedup on all processes of each: where one side lost some,
        the two may differ.
        """
        word = self.verdict.word if self.verdict else None
        speedup, (low, high) = self.row["speedup"], self.interval
        if low is None or high is None:
            low = high = speedup
        denied = (
            (word == "faster" and low <= 1)
            or (word == "slower" and high >= 1)
            or (word == "same" and self.interval[0] is None and _of_processes(self.row, self.verdict) is None)
        )
        return "ambiguous" if denied else word

    @property
    def standing(self) -> str:
        """Return what the speedup is worth, or why there is none, in a word or two."""
        if not self.row["valid"]:
            return self.failure
        if self.is_baseline:
            return "baseline"
        if self.row["speedup"] is None:
            compared = (self.row["speedup_reason"] or "").startswith("not comparable")
            return "not comparable" if compared else "no baseline"
        if self.verdict is not None and self.word in ("faster", "slower"):
            return "confirmed" if self.verdict.confirmed else "suspected"
        return VERDICT_MARKS.get(self.word, "no verdict")

    @property
    def failure(self) -> str:
        """Return in a word or two why the result is not valid."""
        if self.row["verification_code"] == "FAIL" and self.row["ran"]:
            return "wrong answer"
        status = str(self.row["status"])
        return STATUS_WORDS.get(status, status.replace("_", " "))

    @property
    def marks(self) -> str:
        """Return its standing, then every doubt."""
        return ", ".join(dict.fromkeys((self.standing, *self.doubts))) + self.theirs

    @property
    def theirs(self) -> str:
        """Return the doubts that its baseline alone has, as they stand after its own."""
        alone = [mark for mark in self.baseline_doubts if mark not in self.doubts]
        return f"; baseline: {', '.join(alone)}" if alone and self.row["speedup"] is not None else ""


def _of_processes(row: Row, verdict: Verdict | None) -> tuple[float, float] | None:
    """Return the interval of a verdict, which rests on processes, where it holds the speedup of the row."""
    if verdict is None or verdict.low is None or verdict.high is None or row["speedup"] is None:
        return None
    return (verdict.low, verdict.high) if verdict.low <= row["speedup"] <= verdict.high else None


def process_intervals(con: Connection, rows: Iterable[Row]) -> dict[tuple[Any, ...], tuple[float, float]]:
    """Return the interval over processes of each speedup of too few blocks, by `key_of` its row.

    Args:
        con: a snapshot.
        rows: of `speedups`; a side of another device is compared with none.
    """
    missing = [row for row in rows if row["speedup"] is not None and row["speedup_low"] is None]
    doubts = _doubts(con, missing) if missing else {}
    sides = ("record_id", "baseline_record_id")
    few = [
        row
        for row in missing
        if not row["cross_device"] and any(mark_of("few_blocks") in doubts.get(row[side], ()) for side in sides)
    ]
    verdicts = _verdicts(con, few)
    ends = {key_of(row): _of_processes(row, verdicts.get(key_of(row))) for row in few}
    return {key: interval for key, interval in ends.items() if interval is not None}


class ComparedExperiment(msgspec.Struct, frozen=True, kw_only=True):
    """A model and test in one configuration: what its variants are compared within."""

    name: str
    """Model, test, and what else tells it from the other experiments of the report."""
    heading: str
    """Name of the experiment with its batch size."""
    results: tuple[Judged, ...]

    @property
    def baseline(self) -> Judged | None:
        """Return the result that the others are over, if this report has it."""
        return next((result for result in self.results if result.is_baseline), None)


def experiments(con: Connection, rows: Sequence[Row], baseline: str) -> tuple[ComparedExperiment, ...]:
    """Return the rows of `speedups` by experiment, the baseline first, each with its verdict and its doubts."""
    verdicts, doubts = _verdicts(con, rows), _doubts(con, rows)
    name = _namer(rows)
    groups: dict[tuple[Any, ...], list[Judged]] = defaultdict(list)
    keys = keys_of(rows)
    for row in rows:
        judged = Judged(
            row=row,
            verdict=None if row["speedup"] is None else verdicts.get(key_of(row)),
            is_baseline=_is_baseline(row, baseline),
            doubts=(*_answer_doubt(row), *doubts.get(row["record_id"], ())),
            baseline_doubts=() if _is_baseline(row, baseline) else doubts.get(row["baseline_record_id"], ()),
        )
        groups[row["run_id"], *(row[key] for key in keys), series_batch_size(row)].append(judged)
    return tuple(_experiment(name(results[0].row), results) for results in groups.values())


def _experiment(name: str, results: list[Judged]) -> ComparedExperiment:
    batches = sorted({result.row["batch_size"] for result in results} - {None})
    batch = f", batch size {' or '.join(map(str, batches))}" if batches else ""
    ordered = sorted(results, key=lambda result: (not result.is_baseline, result.variant))
    return ComparedExperiment(name=name, heading=name + batch, results=tuple(ordered))


def keys_of(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return what tells experiments apart, with the settings in which results of one model and variant differ.

    Most plans have one value of these settings for each model. Where a result is missing, its setting is the requested
    one, which may differ from that of the others: it does not make another experiment.
    """
    values: dict[tuple[Any, ...], set[Any]] = defaultdict(set)
    for row in rows:
        of = (row["run_id"], row["variant"], series_batch_size(row), *(row[key] for key in KEYS))
        for name in _SETTINGS:
            values[name, *of].add(row[name])
    several = {name for (name, *_), different in values.items() if len(different) > 1}
    return (*KEYS, *(name for name in _SETTINGS if name in several))


def series_batch_size(row: Row) -> int | None:
    """Return what tells batch sizes apart: the requested one; the peer's records know the resolved one only."""
    batch: int | None = row["batch_size"] if row["source"] == "peer" else row["requested_batch_size"]
    return batch


def _is_baseline(row: Row, baseline: str) -> bool:
    """Tell whether the row is what the others of its run are over: compared with itself it is 1 by definition."""
    if row["record_id"] is not None and row["record_id"] == row["baseline_record_id"]:
        return True
    return bool(row["variant"] == baseline and row["baseline_run_id"] in (None, row["run_id"]))


def key_of(row: Row) -> tuple[Any, ...]:
    """Identify a result."""
    return row["run_id"], row["experiment_id"], row["environment"]


def _verdicts(con: Connection, rows: Iterable[Row]) -> dict[tuple[Any, ...], Verdict]:
    """Return the verdicts by row, as `xlabench compare BASELINE VARIANT` gives them."""
    pairs = {
        (row["baseline_run_id"], row["baseline_variant"], row["run_id"], row["variant"])
        for row in rows
        if row["speedup"] is not None and row["record_id"] != row["baseline_record_id"]
    }
    verdicts = {}
    for old_run, old, new_run, new in sorted(pairs):
        sides = Side(text=old, run_id=old_run, variant=old), Side(text=new, run_id=new_run, variant=new)
        for cell in compare(con, *sides).cells:
            verdicts[new_run, cell.experiment_id, cell.environment] = cell.verdict
    return verdicts


def _doubts(con: Connection, rows: Iterable[Row]) -> dict[str, tuple[str, ...]]:
    """Return the marks of findings by record; a finding that holds for the whole machine marks no row."""
    runs = {row[name] for row in rows for name in ("run_id", "baseline_run_id")} - {None}
    marks: dict[str, list[str]] = defaultdict(list)
    for row in fetch(con, named("result_findings"), {"runs": sorted(runs)}):
        mark = mark_of(row["code"])
        if mark is not None:
            marks[row["record_id"]].append(mark)
    return {record: tuple(codes) for record, codes in marks.items()}


def _answer_doubt(row: Row) -> tuple[str, ...]:
    """Return the mark of an answer that nobody has found right, also where it was only verified."""
    if not row["ran"] and row["status"] != "verify_only":
        return ()
    code = row["verification_code"]
    mark = "unverified" if code in UNVERIFIED else VERIFICATION_MARKS.get(code, "unverified")
    if code == "PASS" and row["verification_run_id"] is not None:
        mark = "verified later"
    return () if mark is None else (mark,)


def _namer(rows: Sequence[Row]) -> Callable[[Row], str]:
    """Return what names the experiment of a row: as short as the other rows allow."""
    names = model_names((row["suite"], row["model"]) for row in rows)
    distinguishing = distinguishing_columns(rows, keys_of(rows)[3:])
    batches = defaultdict(set)
    for row in rows:
        batches[row["run_id"], row["suite"], row["model"], row["test"]].add(series_batch_size(row))
    several_runs = len({row["run_id"] for row in rows}) > 1

    def name(row: Row) -> str:
        words = [
            names[row["suite"], row["model"]],
            str(row["test"]),
            *(str(row[key]) for key in distinguishing if row[key] is not None),
        ]
        batch_size = series_batch_size(row)
        if batch_size is not None and len(batches[row["run_id"], row["suite"], row["model"], row["test"]]) > 1:
            words.append(f"at batch size {batch_size}")
        if several_runs:
            words.append(f"in run {str(row['run_id'])[:8]}")
        return " ".join(words)

    return name
