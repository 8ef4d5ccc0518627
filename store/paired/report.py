"""The speedup report under the paired rule: models valid on both sides, and who is missing and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from store.choose import newest_run
from store.compare.calibration import false_alarms
from store.errors import NOTHING_FITS, UsageError
from store.metrics import metric
from store.paired.answer import answers
from store.paired.judged import ComparedExperiment, Judged, experiments, key_of, keys_of, series_batch_size
from store.paired.read import MIN_MODELS, SERIES, marks_table, means_table, next_steps, speedups_table
from store.query import ALL, DEFAULT_BASELINE, Connection, Filters, fetch, named, with_baseline
from store.record import REFUSED
from store.report.findings import findings_table, wrong_answers
from store.report.hud import point_text, run_name
from store.report.table import (
    Cell,
    Column,
    Picture,
    RatioMark,
    Report,
    Table,
    distinguishing_columns,
    metric_column,
    row_label,
    text_columns,
)

Row = dict[str, Any]

N_RULE = (
    "n is the number of steady blocks behind a latency, and the number of models behind a geometric mean: those that "
    "are valid on both sides and comparable."
)


def paired_report(
    con: Connection,
    filters: Filters = ALL,
    *,
    baseline_backend: str = DEFAULT_BASELINE,
    baseline_run: str | None = None,
) -> Report:
    """Compare every backend of a run with the baseline; without a run in the filters, the newest one.

    Raises:
        UsageError: nothing fits the filters.
    """
    chosen = filters if filters.run else msgspec.structs.replace(filters, run=(newest_run(con, filters),))
    parameters = with_baseline(chosen, baseline_backend, baseline_run)
    rows = fetch(con, named("speedups"), parameters)
    if not rows:
        raise UsageError(NOTHING_FITS)
    means = fetch(con, named("geomeans"), parameters)
    runs = sorted({str(row["run_id"]) for row in rows if row["source"] == "xlabench"})
    name = f"{baseline_backend}{point_text(baseline_run)}"
    compared = experiments(con, rows, baseline_backend)
    unpaired, several = _unpaired(means, rows), means_table(means, rows, baseline_backend)
    return Report(
        title=f"Speedup over {name}, {_run_name(rows)}",
        tables=(
            _models(rows, baseline_backend, compared),
            _means(means),
            unpaired,
            _missing(rows),
            findings_table(con, runs),
        ),
        people=(
            speedups_table(compared),
            several,
            *([unpaired] if several.rows else []),
            marks_table(con, runs, compared),
        ),
        notes=(
            metric("speedup").sentence,
            metric("latency_s").sentence,
            N_RULE,
            *(false_alarms(con, run).sentence() for run in runs),
            *([SOURCE_RULE] if any(row["suite"] == "own" and "@" in row["model"] for row in rows) else []),
            *changed_sources(fetch(con, named("earlier_sources"), {"runs": list(runs)})),
        ),
        answer=answers(compared, name),
        alarms=wrong_answers(rows),
        steps=next_steps(con, runs, {(row["suite"], row["model"], row["test"]) for row in rows}),
        picture=Picture(axis=f"Speedup over {name}", marks=_marks(rows, means, baseline_backend)),
    )


def _marks(rows: Sequence[Row], means: Sequence[Row], baseline: str) -> tuple[RatioMark, ...]:
    """Return the speedups of models, then the geometric means; the baseline over itself only fills the picture."""
    models = distinguishing_columns(rows, ("run_id", *keys_of(rows), "requested_batch_size"), always=("model", "test"))
    series = distinguishing_columns(means, SERIES[:-1], always=("test",))
    alone = all(row["variant"] == baseline for row in rows)
    marks = [(row, row_label(row, models), "speedup") for row in rows]
    marks += [(row, f"GEOMEAN {row_label(row, series)}", "geomean") for row in means if row["n"] >= MIN_MODELS]
    return tuple(
        RatioMark(
            label=label,
            variant=row["variant"],
            backend=row["backend"],
            value=row[name],
            low=row[f"{name}_low"],
            high=row[f"{name}_high"],
            n=int(row["n"]) if name == "geomean" else None,
        )
        for row, label, name in marks
        if row[name] and (alone or row["variant"] != baseline)
    )


def baseline_of(con: Connection, run_id: str) -> str | None:
    """Return what a run's results are compared with; None: no results.

    It is inductor, without a mode or other settings, if the run has it; else eager; else the first inductor there is.
    """
    rows = fetch(con, named("results"), Filters(run=(run_id,)).parameters())
    variants = sorted({row["variant"] for row in rows if row["backend"] in (DEFAULT_BASELINE, "eager")})
    usual = (DEFAULT_BASELINE, f"{DEFAULT_BASELINE} cudagraphs")  # which the view takes for the same baseline
    if not rows or not variants or any(name in variants for name in usual):
        return DEFAULT_BASELINE if rows else None
    return "eager" if "eager" in variants else variants[0]


def _run_name(rows: Sequence[Row]) -> str:
    names = sorted({run_name(row) for row in rows})
    return "; ".join(names)


def _models(rows: Sequence[Row], baseline: str, compared: Sequence[ComparedExperiment]) -> Table:
    """One row per model and configuration, side by side the variants: what was measured, then what it is worth."""
    keys = distinguishing_columns(rows, ("run_id", *keys_of(rows)), always=("model", "test"))
    rows = [row | {"asked_batch": series_batch_size(row)} for row in rows]
    variants = sorted({row["variant"] for row in rows}, key=lambda name: (name != baseline, name))
    by_key: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        by_key.setdefault(tuple(row[key] for key in (*keys, "asked_batch")), {})[row["variant"]] = row
    judged = {result.key: result for experiment in compared for result in experiment.results}
    columns = list(text_columns(*keys, "batch size"))
    for variant in variants:
        columns += [metric_column("latency_s", 3, variant), Column(title="n", numeric=True), metric_column("speedup")]
    for variant in variants:
        columns += [metric_column("speedup_low", prefix=variant), metric_column("speedup_high", prefix=variant)]
        columns += [Column(title=f"{variant} verdict"), Column(title=f"{variant} marks")]
    body = []
    for key, by_variant in by_key.items():
        cells: list[Cell] = [*key[:-1], _batches(by_variant.values())]
        for variant in variants:
            cells += _measured(by_variant.get(variant, {}))
        for variant in variants:
            cells += _worth(judged[key_of(by_variant[variant])]) if variant in by_variant else [None] * 4
        body.append(tuple(cells))
    return Table(title="Models", columns=tuple(columns), rows=tuple(body))


def _batches(rows: Iterable[Row]) -> str | None:
    """Return the batch size as resolved; several where the variants do not agree."""
    return ", ".join(str(size) for size in sorted({row["batch_size"] for row in rows} - {None})) or None


def _measured(row: Row) -> list[Cell]:
    if row.get("latency_s") is None:
        return [None, None, None]
    return [metric("latency_s").shown(row["latency_s"]), int(row["steady_n"]), row["speedup"]]


def _worth(result: Judged) -> list[Cell]:
    """Return the interval of a speedup, the verdict's word, and all marks."""
    low, high = (None, None) if result.is_baseline else result.interval
    return [low, high, result.word, result.marks]


def _means(means: Sequence[Row]) -> Table:
    """One row per test and variant."""
    keys = distinguishing_columns(means, SERIES, always=("test", "variant"))
    columns = list(text_columns(*keys))
    columns += [Column(title="n", numeric=True, definition=metric("n").definition)]
    columns += [metric_column(name, 3) for name in ("geomean", "geomean_low", "geomean_high")]
    columns += text_columns("ran", "verified")
    body = [
        (
            *(row[key] for key in keys),
            int(row["n"]),
            row["geomean"],
            row["geomean_low"],
            row["geomean_high"],
            f"{row['ran_n']}/{row['planned_n']}",
            f"{row['verified_n']}/{row['answered_n']}" if row["verify_asked"] else "not verified",
        )
        for row in means
    ]
    return Table(title="Geometric means", columns=tuple(columns), rows=tuple(body))


_LISTS = {
    "only_here": "valid here, not in the baseline",
    "only_baseline": "valid in the baseline, not here",
    "not_comparable": "valid on both sides, not comparable",
    "failed": "failed here",
}
_REFUSED = "disturbed here: measure again with --retry-failed"


def _unpaired(means: Sequence[Row], rows: Iterable[Row]) -> Table:
    """One row per test, variant and list of models that are in no geometric mean; what failed is in no other list."""
    keys = distinguishing_columns(means, SERIES, always=("test", "variant"))
    refused: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for row in rows:
        if row["status"] in REFUSED:
            refused[tuple(row[key] for key in SERIES)].add(row["model"])
    body: list[tuple[Cell, ...]] = []
    for row in means:
        again = refused[tuple(row[key] for key in SERIES)]
        failed = set(row["failed"]) - again
        lists = {
            title: [model for model in row[name] if model not in again and (name == "failed" or model not in failed)]
            for name, title in _LISTS.items()
        }
        lists[_REFUSED] = sorted(again)
        shown = [(title, len(models), ", ".join(models)) for title, models in lists.items() if len(models)]
        body += [(*(row[key] for key in keys), *cells) for cells in shown]
    titles = (*keys, "not paired because", "n", "models")
    columns = tuple(Column(title=title, numeric=title == "n") for title in titles)
    return Table(title="Not paired", columns=columns, rows=tuple(body))


def _missing(rows: Sequence[Row]) -> Table:
    """One row per result without a speedup, with the reason."""
    keys = distinguishing_columns(rows, ("run_id", *keys_of(rows)), always=("model", "test"))
    body = [
        (*(row[key] for key in keys), row["variant"], row["status"], row["speedup_reason"])
        for row in rows
        if row["speedup"] is None
    ]
    columns = text_columns(*keys, "variant", "status", "no speedup because")
    return Table(title="Without a speedup", columns=columns, rows=tuple(body))


SOURCE_RULE = (
    "The name of your own model ends with a hash of its source, of the files in its folder that it imports or reads, "
    "and of the inputs given with --input; a changed file starts a new series."
)


def changed_sources(rows: Iterable[Mapping[Any, Any]]) -> tuple[str, ...]:
    """Return a sentence for each row of query `earlier_sources`."""
    return tuple(
        f"{row['model']} is a new series: its source has changed since {row['earlier']} was measured on "
        f"{row['before_started']:%Y-%m-%d %H:%M} UTC. The two are not compared."
        for row in rows
    )
