"""Page Operators: sentences, tables by backend, of each result and of a model's operators, and links to other pages."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import iter_rows, sections, with_series
from dashboard.formatting import (
    CLASSES,
    STATUS_WORDS,
    TIMES,
    count,
    escape,
    interval,
    listed,
    missing,
    ratio,
    shortened_call,
    when,
)
from dashboard.jobs import rerun
from dashboard.screens.operators import charts
from dashboard.ui import answers, downloads, empty, frame, opening, tables
from dashboard.ui.answers import SECTION
from dashboard.ui.frame import PageSpec
from dashboard.ui.tables import TableColumn, measured, naming
from dashboard.ui.verdicts import LOOKS
from dashboard.view import View, choosing, links
from store.identity import XLA
from store.metrics import metric

KEY = "operator"
"""URL parameter of the chosen operator."""
CHARTS = ("Times", "Against bytes", "Against FLOP")
ALONE = (
    "A ratio of single operators says nothing about a model: there the compiler fuses an operator with its neighbours, "
    "and here it cannot. Where operators lose, the model may win; Speedup has the models."
)


def show(view: View) -> None:
    """Draw the page."""
    unfiltered = data.rows(view.snapshot, "operators", view.selection.unfiltered(), named=None)
    operators = tuple(sorted(unfiltered["operator"].unique(), key=str.lower))
    operator = choosing.requested_name(operators, KEY, "This run has no such operator:")
    rows = _with_series(data.rows(view.snapshot, "operators", view.selection, named=operator))
    sentences = speedup_sentences(view, rows)
    suite = None if unfiltered.empty else "operators"
    frame.head(PAGE.title, view, sentences, len(rows), baseline=True, more="in the table", suite=suite)
    if unfiltered.empty:
        none_here(view)
        return
    with st.container(key="caveat"):
        st.caption(f":material/info: {ALONE}")
    has_times = bool(rows["latency_s"].notna().any())
    if has_times:
        _chart(view, rows)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choosing.one_of("Operator", operators, KEY, "All operators")
    if operator:
        fallbacks(view, operator)
    if rows.empty:
        empty.no_rows(view.selection, "operators")
        return
    _show_tables(view, rows, operator)
    _show_of_model(view, rows, operator)


def _with_series(rows: pd.DataFrame) -> pd.DataFrame:
    """Add column `series` without the data type: it is a part of the call here, and each call has its own row."""
    return rows.assign(series=with_series(rows.drop(columns="dtype"))["series"])


def _chart(view: View, rows: pd.DataFrame) -> None:
    """Draw the choice of a chart and the chart."""
    controls = st.container(horizontal=True, vertical_alignment="bottom")
    with controls:
        chart = choosing.segments("Chart", CHARTS, "operator_chart")
    if chart == CHARTS[0]:
        charts.show_times(view, rows, controls)
    else:
        with choosing.choices_of("times", drawn=False):
            charts.choose(rows)
        charts.show_rates(rows, "input_bytes" if chart == CHARTS[1] else "flops")


_NAMED = 1
_LAST = "eager"


def speedup_sentences(view: View, rows: pd.DataFrame) -> list[str]:
    """Return a sentence per test, accelerator and series that is compared with the baseline, XLA's first."""
    baseline = view.selection.baseline
    if rows.empty:
        return []
    compared = answers.compared(rows[rows["speedup"].notna()], baseline)
    if compared.empty:
        return [answers.no_speedup(rows, baseline)]
    ranked = [
        (_rank(keys, part), _sentence(keys, part, baseline)) for keys, part in sections(compared, [*SECTION, "series"])
    ]
    return [sentence for _, sentence in sorted(ranked, key=lambda pair: pair[0])]


def _rank(keys: tuple[str, ...], part: pd.DataFrame) -> tuple[bool, bool, tuple[str, ...]]:
    backend = str(part["backend"].iloc[0])
    return not backend.startswith(XLA), backend == _LAST, keys


def _sentence(keys: tuple[str, ...], part: pd.DataFrame, baseline: str) -> str:
    verdicts = part["verdict"]
    slower = part[verdicts == "slower"].sort_values("speedup")
    worst = [f"{escape(shortened_call(row.model))} {ratio(row.speedup)}" for row in iter_rows(slower.head(_NAMED))]
    more = f" and {len(slower) - _NAMED} more" if len(slower) > _NAMED else ""
    named = f" ({listed(worst)}{more})" if worst else ""
    numbers = {
        "slower": len(slower),
        "faster": int((verdicts == "faster").sum()),
        "same": int((verdicts == "same").sum()),
        "unknown": int(verdicts.isna().sum()),
    }
    counts = answers.outcome_counts(keys[2], baseline, numbers, "operator", named, "no verdict")
    return f"In {escape(keys[0])} on {escape(keys[1])} {counts}"


def none_here(view: View) -> None:
    """Draw that the run measured no operators, a link to the newest run that has some, and the commands that do."""
    st.info("This run measured no operators.", icon=":material/info:")
    for row in iter_rows(data.rows(view.snapshot, "operator_newest_run", view.selection)):
        operators_text = count(int(row.operators_n), "operator")
        label = f"Show the newest run that did: {escape(row.run_label)} of {when(row.run_started)}, {operators_text}"
        links.link(view, "operators", label, key="with-operators", icon=":material/function:", run=row.run_id)
    st.markdown("Measure those of a configuration, or those that a model calls, under every backend:")
    with st.container(width=720):
        downloads.command(
            "xlabench run --suite-name operators --config FILE\nxlabench run --ops-of huggingface/BertTiny"
        )


def fallbacks(view: View, operator: str) -> None:
    """Draw links to the fallback ops of this operator, where results of the run call one."""
    for row in iter_rows(data.rows(view.snapshot, "operator_fallbacks", view.selection, op=operator)):
        name, _ = CLASSES.get(row.klass, (row.klass, ""))
        label = f"Fallback op **{escape(row.op)}** ({escape(name.lower())}): {_callers(row.models_n, row.operators_n)}"
        links.link(
            view,
            "fallback-ops",
            label,
            key=f"falls-back-{row.op}",
            icon=":material/call_split:",
            op=row.op,
            **links.ANYWHERE,
        )


def _callers(models: int, operators: int) -> str:
    texts = [count(int(models), "model")] if models else []
    texts += [count(int(operators), "operator")] if operators else []
    return f"called by {' and '.join(texts)} of this run"


_US = 1e6
KEYS = ["operator", "arguments", "test", "accelerator", "suite", "model"]
"""Key of a row of the table: a call of an operator, forward or with its backward."""


def _show_tables(view: View, rows: pd.DataFrame, operator: str | None) -> None:
    """Draw both tables; a name opens the operator on page Model."""
    st.subheader("Operators by backend", anchor=False)
    st.caption(
        f"Median time of one call in µs; next to it the speedup over {escape(view.baseline_text)}: ▲ faster, ▼ slower, "
        "≈ no difference shown by its 95 % interval; without a sign no verdict, and the note says why. eval is the "
        "forward, train forward and backward."
    )
    by_call, columns = abreast(rows), _abreast_columns(view, rows)
    opening.table(
        view,
        by_call,
        columns if by_call["note"].notna().any() else {name: columns[name] for name in columns if name != "note"},
        data.source(view, "operators", named=operator),
        key="operators",
        alt="Time of each operator under each backend, with its speedup over the baseline",
        omitted_if_constant=("accelerator",),
    )
    rerun.offer(view, rerun.of_rows(rows), key="operators")
    _all_results(view, rows, operator)


def abreast(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per call of an operator, with columns for the time and the verdict of each series."""
    table_rows = []
    for keys, part in rows.groupby(KEYS, sort=False, dropna=False):
        row: dict[str, Any] = dict(zip(KEYS, keys, strict=True))
        of_series = list(iter_rows(part))
        ran = [
            int(result.steady_n)
            for result in of_series
            if not missing(result.latency_s) and not missing(result.steady_n)
        ]
        row["steady_n"] = min(ran) if ran else None
        for result in of_series:
            row[f"latency_s {result.series}"] = result.latency_s
            row[f"speedup {result.series}"] = _verdict(result)
        row["note"] = _note(of_series)
        table_rows.append(row)
    return pd.DataFrame(table_rows)


def _note(rows: list[Any]) -> str | None:
    """Return why results have no verdict, each reason once, with its series where it is not the reason of all."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if not missing(row.verdict_reason) and not _is_baseline(row):
            reasons.setdefault(str(row.verdict_reason), []).append(str(row.series))
    texts = [why if len(names) == len(rows) else f"{', '.join(names)}: {why}" for why, names in reasons.items()]
    return "; ".join(texts) or None


def _is_baseline(row: Any) -> bool:
    return not missing(row.record_id) and bool(row.record_id == row.baseline_record_id)


def _verdict(row: Any) -> str | None:
    """Return sign and ratio, the ratio alone without a verdict, and None without a ratio."""
    if missing(row.speedup) or _is_baseline(row):
        return None
    return ratio(row.speedup) if missing(row.verdict) else f"{LOOKS[row.verdict].sign} {ratio(row.speedup)}"


def _abreast_columns(view: View, rows: pd.DataFrame) -> dict[str, TableColumn]:
    columns = {
        **naming("operator", "arguments", "test", "accelerator", pinned=("operator", "arguments")),
    }
    of_latency, of_speedup = metric("latency_s").definition, metric("speedup").definition
    all_series = list(dict.fromkeys(rows["series"]))
    for series in all_series:
        help_text = f"{series}: {of_latency}"
        columns[f"latency_s {series}"] = TableColumn(f"{short(series)}, µs", "decimal", help=help_text, scale=_US)
    for series in all_series:
        if series != view.selection.baseline:
            help_text = f"{series}: {of_speedup} Baseline: {view.baseline_text}."
            columns[f"speedup {series}"] = TableColumn(f"{short(series)} {TIMES}", "verdict", help=help_text)
    return columns | {
        "steady_n": TableColumn("n", "number", help=f"{metric('steady_n').definition} Of the backend with fewest."),
        "note": TableColumn("No verdict because"),
    }


def _all_results(view: View, rows: pd.DataFrame, operator: str | None) -> None:
    verdicts: list[Any] = [_in_words(row) for row in iter_rows(rows)]
    described = rows.assign(
        status=[STATUS_WORDS.get(status, status) for status in rows["status"]],
        verdict=verdicts,
        interval=[interval(row.speedup_low, row.speedup_high) for row in iter_rows(rows)],
        verdict_reason=[row.reason if missing(row.latency_s) else row.verdict_reason for row in iter_rows(rows)],
    )
    with st.expander(f"Each result, {count(len(rows), 'row')}", key="each-operator"):
        opening.table(
            view,
            described,
            _result_columns(view),
            data.source(view, "operator-results", "operators", named=operator),
            key="each-operators",
            alt="Each result of an operator: times, floor, speedup, bytes, FLOP",
            omitted_if_constant=("accelerator", "dtype"),
        )


def _in_words(row: Any) -> str | None:
    if missing(row.verdict):
        return None
    return f"{LOOKS[row.verdict].sign} {'no difference shown' if row.verdict == 'same' else LOOKS[row.verdict].word}"


def _result_columns(view: View) -> dict[str, TableColumn]:
    return {
        **naming("operator", "arguments", "series", "test", "accelerator", pinned=("operator", "arguments", "series")),
        "latency_s": micro("latency_s"),
        "steady_n": TableColumn("n", "number", help=metric("steady_n").definition),
        "floor_s": micro("floor_s", hidden=True),
        "speedup": measured("speedup", note=f"Baseline: {view.baseline_text}."),
        "interval": tables.interval_column("speedup"),
        "verdict": TableColumn("Verdict", "verdict"),
        "verdict_reason": TableColumn("Note", help="Why there is no verdict, or no time."),
        "forward_s": micro("forward_s", hidden=True),
        "forward_speedup": measured("forward_speedup", hidden=True),
        "backward_s": micro("backward_s", hidden=True),
        "backward_speedup": measured("backward_speedup", hidden=True),
        "input_bytes": measured("input_bytes", hidden=True),
        "bytes_per_s": TableColumn(
            "Input bytes, GB/s", "decimal", help=metric("bytes_per_s").definition, scale=1e-9, hidden=True
        ),
        "flops": TableColumn("MFLOP", "decimal", help=metric("flops").definition, scale=1e-6, hidden=True),
        "flops_per_s": TableColumn(
            "GFLOP/s", "decimal", help=metric("flops_per_s").definition, scale=1e-9, hidden=True
        ),
        "status": TableColumn("Status", hidden=True),
        "dtype": TableColumn("Dtype", hidden=True),
    }


def short(series: str) -> str:
    """Return the short name of a series for the header of a narrow column; the help has the full name."""
    return series.removeprefix("openxla+")


def micro(name: str, *, hidden: bool = False) -> TableColumn:
    """Return the column of a metric in microseconds, because times of operators are often below a millisecond."""
    known = metric(name)
    return TableColumn(f"{known.label}, µs", "decimal", help=known.definition, scale=_US, hidden=hidden)


def _show_of_model(view: View, rows: pd.DataFrame, operator: str | None) -> None:
    """Draw a section per model whose operators were measured; draw nothing where there is none."""
    totals = data.rows(view.snapshot, "operator_totals", view.selection)
    for (model, test), part in sections(rows[rows["of_model"].notna()], ["of_model", "of_test"]):
        st.subheader(f"Of {escape(model)}, {escape(test)}", anchor=False)
        _sums(view, totals[(totals["of_model"] == model) & (totals["of_test"] == test)], f"{model}-{test}")
        _shares(view, part, operator, f"{model}-{test}")


def _sums(view: View, totals: pd.DataFrame, key: str) -> None:
    """Draw the time of all operators of the model together; filters do not apply."""
    st.caption(
        "All its operators together (filters do not apply): calls x time of one, and the time of the model. Eager "
        "takes longer than the sum because of Python, views and waiting; a compiler may take less, because it fuses "
        "operators of the model."
    )
    columns = {
        **naming("variant", "accelerator", "environment", pinned=("variant",)),
        "calls_s": measured("calls_s"),
        "model_latency_s": measured("model_latency_s"),
        "model_share": measured("model_share"),
        "operators_n": measured("operators_n"),
        "measured_n": measured("measured_n"),
        "calls": measured("calls"),
    }
    tables.show(
        totals,
        tables.without_constant(columns, totals, ("accelerator", "environment")),
        data.source(view, "operator-totals"),
        key=f"sums-{key}",
        alt="Sum of calls x time of the model's operators by backend, next to the model's latency",
    )


def _shares(view: View, rows: pd.DataFrame, operator: str | None, key: str) -> None:
    opening.table(
        view,
        shares_abreast(rows),
        _shares_columns(rows),
        data.source(view, "operators-of-model", "operators", named=operator),
        key=f"shares-{key}",
        alt="Calls x time of each operator of the model, and its share of the model's latency",
        omitted_if_constant=("accelerator",),
    )


def shares_abreast(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per operator; the operator with the largest share under any backend is first."""
    table_rows = []
    for keys, part in rows.groupby(KEYS, sort=False, dropna=False):
        row: dict[str, Any] = dict(zip(KEYS, keys, strict=True)) | {"calls": part["calls"].iloc[0]}
        for result in iter_rows(part):
            row[f"calls_s {result.series}"] = result.calls_s
            row[f"model_share {result.series}"] = result.model_share
        row["most"] = part["calls_s"].max()
        table_rows.append(row)
    return pd.DataFrame(table_rows).sort_values("most", ascending=False, na_position="last", ignore_index=True)


def _shares_columns(rows: pd.DataFrame) -> dict[str, TableColumn]:
    columns = {
        **naming("operator", "arguments", "accelerator", pinned=("operator", "arguments")),
        "calls": measured("calls"),
    }
    for series in dict.fromkeys(rows["series"]):
        of_time, of_share = (f"{series}: {metric(name).definition}" for name in ("calls_s", "model_share"))
        columns[f"calls_s {series}"] = TableColumn(f"{short(series)}, ms", "ms", help=of_time)
        columns[f"model_share {series}"] = TableColumn(f"{short(series)}, %", "percent", help=of_share)
    return columns


PAGE = PageSpec(place=50, title="Operators", url_path="operators", icon=":material/function:", show=show)
