"""The report under the PyTorch HUD's rule, and the report of the noise floors that calibrations measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from store.errors import NOTHING_FITS, UsageError, counted
from store.metrics import metric
from store.query import ALL, DEFAULT_BASELINE, Connection, Filters, fetch, named
from store.report.findings import wrong_answers
from store.report.table import (
    Cell,
    Column,
    Picture,
    RatioMark,
    Report,
    Table,
    distinguishing_columns,
    metric_cell,
    metric_column,
    row_label,
    text_columns,
)
from store.stats.floors import DEFAULT_FLOOR, MIN_PAIRS

Row = dict[str, Any]

_GROUP = (
    *("suite", "test", "dtype", "accelerator", "accelerator_model", "machine_id", "environment"),
    *("requested_batch_size", "optimizer", "loss", "matmul_precision", "workload"),
)
_MEANS = (
    ("geomean_vs_eager", "geomean_vs_eager_n", 2),
    ("geomean_vs_baseline", "geomean_vs_baseline_n", 2),
    ("compilation_mean_s", "compilation_n", 2),
    ("execution_mean_ms", "execution_n", 2),
    ("compression_mean", "compression_n", 2),
    ("dynamo_peak_mean_gb", "dynamo_peak_n", 2),
)
_NUMBERS = (
    ("hud_speedup", 3),
    ("abs_latency_ms", 3),
    ("compilation_latency_s", 2),
    ("compression_ratio", 2),
    ("eager_peak_gb", 3),
    ("dynamo_peak_gb", 3),
)
NOT_VERIFIED = "not verified"


def hud_report(
    con: Connection,
    filters: Filters = ALL,
    *,
    baseline_backend: str = DEFAULT_BASELINE,
    baseline_run: str | None = None,
) -> Report:
    """Summarise each backend of a run as the HUD does; without a run in the filters, that of the newest one.

    Raises:
        UsageError: nothing fits the filters.
    """
    runs = fetch(con, named("hud_runs"), {"run": list(filters.run)})
    runs = runs if filters.run else runs[:1]
    means, rows = [], []
    for run in runs:
        parameters = filters.parameters() | {"run": run["run_id"]}
        rows += fetch(con, named("hud_rows"), parameters)
        summary = {key: value for key, value in parameters.items() if key != "model"}
        baseline = {"baseline_backend": baseline_backend, "baseline_run": baseline_run}
        means += fetch(con, named("hud_summary"), summary | baseline)
    if not rows:
        raise UsageError(NOTHING_FITS)
    at = point_text(baseline_run)
    names = "; ".join(run_name(run) for run in runs)
    return Report(
        title=f"HUD rule, {names}",
        tables=(_means(means, f"{baseline_backend}{at}"), _models(rows)),
        notes=_notes(means, rows, f"{baseline_backend}{at}"),
        alarms=_alarms(rows),
        picture=Picture(axis="Speedup vs eager", marks=_marks(means, rows)),
    )


def _alarms(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return sentences about wrong answers of our own runs; those of imported files stand only in the table."""
    ours = [row for row in rows if row["source"] == "xlabench"]
    wrong = {"fail_accuracy": "FAIL"}
    return wrong_answers(row | {"verification_code": wrong.get(row["accuracy"])} for row in ours)


def _marks(means: Sequence[Row], rows: Sequence[Row]) -> tuple[RatioMark, ...]:
    """Return the HUD's speedups of models, then its geometric means; eager over itself is left out."""
    models, groups = (
        distinguishing_columns(source_rows, ("run_id", *_GROUP), always=always)
        for source_rows, always in ((rows, ("test",)), (means, ("suite", "test")))
    )
    marks = [(row, row_label(row, ("model", *models)), row["hud_speedup"], None) for row in rows]
    name, n, _ = _MEANS[0]
    marks += [(row, f"GEOMEAN {row_label(row, groups)}", row[name], row[n]) for row in means]
    return tuple(
        RatioMark(label=label, variant=row["variant"], backend=row["backend"], value=value, n=models_n)
        for row, label, value, models_n in marks
        if value and row["backend"] != "eager"
    )


def _means(means: Sequence[Row], baseline: str) -> Table:
    """Return one row per test and variant: the rate as "P %, k/n", and each mean with its own n."""
    keys = distinguishing_columns(means, ("run_id", *_GROUP), always=("suite", "test"))
    columns = list(text_columns(*keys, "variant"))
    columns.append(Column(title="passed", definition=metric("passed_n").definition))
    for name, _, digits in _MEANS:
        column = metric_column(name, digits)
        over = f"geomean vs {baseline}" if name == "geomean_vs_baseline" else column.title
        columns += [msgspec.structs.replace(column, title=over), Column(title="n", numeric=True)]
    body = []
    for row in means:
        cells: list[Cell] = [*(row[key] for key in keys), row["variant"], _rate(row)]
        for name, count, _ in _MEANS:
            cells += [metric(name).shown(row[name]) if row[count] and row[name] is not None else None, row[count]]
        body.append(tuple(cells))
    return Table(title="Compilers", columns=tuple(columns), rows=tuple(body))


def _rate(row: Row) -> str:
    if not row["judged_n"] and row["backend"] != "eager":
        return f"{NOT_VERIFIED}, {counted(row['models_n'], 'model')}"
    return f"{row['pass_percent']} %, {row['passed_n']}/{row['models_n']}"


def _models(rows: Sequence[Row]) -> Table:
    keys = distinguishing_columns(rows, ("run_id", *_GROUP), always=("suite", "test"))
    columns = list(text_columns(*keys, "model", "batch size", "variant", "accuracy"))
    columns += [metric_column(name, digits) for name, digits in _NUMBERS]
    body = [
        (
            *(row[key] for key in keys),
            row["model"],
            row["batch_size"],
            row["variant"],
            row["accuracy"],
            *(metric_cell(name, row[name]) for name, _ in _NUMBERS),
        )
        for row in rows
    ]
    return Table(title="Models", columns=tuple(columns), rows=tuple(body))


def _notes(means: Sequence[Row], rows: Sequence[Row], baseline: str) -> tuple[str, ...]:
    notes = [
        (
            "A model passes if its verification passed and it has a speedup, or if the tables exclude it from "
            "verification. Rates count every model that has a row."
        ),
        "A mean covers the n models that passed and have the number; these models differ between rows.",
        f"Speedups are over eager, as in the HUD. The HUD has none over {baseline}; it is computed in the same way.",
    ]
    unjudged = {row["source"] for row in means if not row["judged_n"]}
    if unjudged:
        to_do = ": measure with `xlabench run --verify`" if "xlabench" in unjudged else "; the imported files have none"
        notes.append(f"Without a check of the answers nothing passes{to_do}.")
    if later_n := sum(row["passed"] and row["verification_run_id"] is not None for row in rows):
        notes.append(f"{counted(later_n, 'answer')} passed in a later run, not in the one that measured.")
    return tuple(notes)


def point_text(baseline_run: str | None) -> str:
    """Return the words after the name of the baseline that say which of its results are used."""
    points = {None: "", "same": "", "latest": " (its latest results)", "oldest": " (its oldest results)"}
    return points.get(baseline_run, f" of run {baseline_run}")


def run_name(row: Row) -> str:
    """Return a run's id, label and start, as titles of reports name it."""
    return f"run {row['run_id']} ({row['run_label']}, {row['run_started']:%Y-%m-%d %H:%M} UTC)"


_NAMES = ("suite", "model", "test", "variant")
_COLUMNS = (
    *text_columns(*_NAMES),
    Column(title="floor", unit="%", digits=1, numeric=True, definition="95 % of identical pairs differ by less."),
    Column(
        title="A/A pairs",
        numeric=True,
        definition="Pairs of processes behind the floor, from all runs of this machine.",
    ),
    Column(title="source"),
)


def floors_report(con: Connection, run_id: str) -> Report:
    """Return the floors of a run's experiments, from all calibrations and twins of their machine."""
    rows = fetch(con, named("noise_floors"), {"run": run_id})
    body = tuple(
        (*(row[name] for name in _NAMES), row["floor"] * 100, int(row["pairs_n"]), row["source"]) for row in rows
    )
    return Report(
        title="Noise floors: " + ("1 experiment" if len(rows) == 1 else f"{len(rows)} experiments"),
        tables=(Table(title="Floors", columns=_COLUMNS, rows=body),),
        notes=(
            "A difference below the floor is never called faster or slower.",
            f"Below {MIN_PAIRS} pairs, the default of {DEFAULT_FLOOR:.0%} is mixed in; another calibration adds pairs.",
        ),
    )
