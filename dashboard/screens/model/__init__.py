"""Page Model: one model under all backends, then one of its results with samples, files and record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import access, data
from dashboard.data.frames import iter_rows, unit, with_unique_series
from dashboard.formatting import STATUS_WORDS, count, escape, interval, missing, seconds
from dashboard.jobs import rerun
from dashboard.screens.model import result
from dashboard.ui import doubts, downloads, empty, frame, tables, widths
from dashboard.ui.answers import verdict
from dashboard.ui.frame import PageSpec
from dashboard.ui.tables import TableColumn, measured
from dashboard.view import View, ViewSelection, choosing, links
from dashboard.viewers import files, ladder, samples
from dashboard.viewers.samples import ModelResult
from store.identity import XLA
from store.metrics import metric
from store.paired.read import steps
from store.paired.report import changed_sources

_WITHIN_MODEL = ("backend", "accelerator", "dtype")
"""Filters that narrow the results of one model."""


def show(view: View) -> None:
    """Draw the model if only one passes the filters, otherwise the list to choose one from."""
    results = data.rows(view.snapshot, "sides", view.selection.without(_WITHIN_MODEL))
    filtered = data.filtered_rows(results, view.selection, _WITHIN_MODEL)
    models = filtered[["suite", "model", "test"]].drop_duplicates()
    if models.empty:
        frame.head(PAGE.title, view, [], 0, baseline=True)
        empty.no_rows(view.selection, "results")
    elif len(models) > 1:
        _choose(view)
    else:
        suite, model, test = (str(name) for name in models.iloc[0])
        of_model = (results["suite"] == suite) & (results["model"] == model) & (results["test"] == test)
        _one(view, with_unique_series(filtered), record_ids=tuple(results.loc[of_model, "record_id"].dropna()))


def _choose(view: View) -> None:
    models = data.rows(view.snapshot, "model_list", view.selection)
    models_n, tests = len(models[["suite", "model"]].drop_duplicates()), sorted(models["test"].unique())
    where = f", in {escape(' and '.join(tests))}," if len(tests) > 1 else ""
    sentence = f"{count(models_n, unit(models['suite']))} of this run{where} pass the filters: select one"
    frame.head(PAGE.title, view, [sentence], int(models["results_n"].sum()), baseline=False)
    columns = {
        "model": TableColumn("Model", "link", pinned=True),
        "test": TableColumn("Test"),
        "suite": TableColumn("Suite"),
        "results_n": TableColumn("Results", "number", help=metric("results_n").definition),
        "ran_n": TableColumn("Ran", "number", help=metric("ran_n").definition),
        "failed_n": TableColumn("Failed", "number", help=metric("failed_n").definition),
        "backends": TableColumn("Backends"),
    }
    selected = tables.show(
        models,
        columns,
        data.source(view, "models", "model_list"),
        key="model-list",
        alt="Models of the run; select one to open it",
        on_select="rerun",
    )
    opened = tables.clicked("model-list")
    selected = selected if opened is None else opened
    if selected is not None and selected < len(models):
        row = models.iloc[selected]
        links.go(view, "model", suite=row["suite"], model=row["model"], test=row["test"])


def _one(view: View, rows: pd.DataFrame, record_ids: tuple[str, ...]) -> None:
    """Draw one model of one test: its results that pass the filters; `record_ids` are those of all of its results."""
    rows = doubts.with_warnings(view, rows)
    suite, model, test = (str(rows[name].iloc[0]) for name in ("suite", "model", "test"))
    selection = replace(view.selection, suite=(suite,), model=(model,), test=(test,))
    sentences = answers(rows, view, f"{model} ({suite}, {test})")
    frame.head(PAGE.title, view, sentences, len(rows), baseline=True, of_one_model=True)
    _show_sides(view, rows, selection)
    _show_steps(view, suite, model, test)
    ladder.show(view, suite, model, test)
    _show_result(view, rows, record_ids)


def failures(rows: pd.DataFrame) -> list[str]:
    """Return one sentence per result that was attempted and gave no number."""
    failed = [row for row in iter_rows(rows) if not row.ran and row.status not in ("skipped", "not_run", "verify_only")]
    return [
        f"**{escape(row.series)}**: {escape(STATUS_WORDS.get(row.status, row.status))}"
        + ("" if missing(row.reason) else f", {escape(row.reason)}")
        for row in failed
    ]


def answers(rows: pd.DataFrame, view: View, model: str) -> list[str]:
    """Return sentences of the fastest backend, of each speedup over the baseline, the lowest first, and of failures.

    A wrong answer wins nothing: its latency is in no sentence.
    """
    ran = rows[rows["valid"] & rows["latency_s"].notna()]
    if ran.empty:
        return [f"**{escape(model)}** gave no valid latency in this run", *failures(rows)]
    best = ran.sort_values("latency_s").iloc[0]
    name = f"**{escape(best['series'])}**"
    warned = "" if missing(best.get("warned")) else f", {doubts.WARNED} {escape(best['warned'])}"
    number = f"{seconds(best['latency_s'])} an iteration (n\u00a0=\u00a0{int(best['steady_n'])}{warned})"
    sentence = f"**{escape(model)}** is fastest with {name}: {number}"
    if len(ran) == 1:
        sentence = f"**{escape(model)}** takes {number} under {name}; no other backend has a valid latency"
    elif _is_undecided(ran, best, view.selection.baseline):
        sentence = (
            f"**{escape(model)}**: no backend is shown to be the fastest; {name} has the lowest latency, {number}"
        )
    return [sentence, *_speedups(rows, view), *failures(rows)]


def _is_undecided(ran: pd.DataFrame, best: Any, baseline: str) -> bool:
    """Tell whether intervals leave open that another result is as fast as the best one."""
    others = iter_rows(ran[ran["series"] != best["series"]])
    return not all(_is_slower(other, best, baseline) for other in others)


def _is_slower(other: Any, best: Any, baseline: str) -> bool:
    """Tell whether intervals show a result to be slower than the best one; where one is missing, they do not.

    Speedups over the same baseline are compared; the speedup of the baseline itself is 1. Speedups over different
    baselines (of another environment, data type or device) cannot be compared, so the latencies are, if both results
    have the same batch size.
    """
    sizes = {None if missing(row.batch_size) else row.batch_size for row in (other, best)}
    if len(sizes) > 1:
        return False
    if other.baseline_record_id != best.baseline_record_id:
        return bool(other.latency_low_s > best.latency_high_s)
    ends = (best.speedup_low, best.variant), (other.speedup_high, other.variant)
    low, high = (1.0 if missing(end) and variant == baseline else end for end, variant in ends)
    return bool(high < low)


def _speedups(rows: pd.DataFrame, view: View) -> list[str]:
    baseline = view.selection.baseline
    known = rows[rows["speedup"].notna() & (rows["variant"] != baseline)].sort_values("speedup")
    return [
        verdict(row.series, row.speedup, row.speedup_low, row.speedup_high, baseline=baseline)
        for row in iter_rows(known)
    ]


def _show_sides(view: View, rows: pd.DataFrame, selection: ViewSelection) -> None:
    """Draw the table of the model's results, with the reasons of missing numbers."""
    st.subheader("Backends side by side", anchor=False)
    row_list = list(iter_rows(rows))
    reasons: list[Any] = [_why(row) for row in row_list]
    listed = doubts.marked(rows).assign(
        status=[STATUS_WORDS.get(row.status, row.status) for row in row_list],
        interval=[interval(row.speedup_low, row.speedup_high) for row in row_list],
        why=reasons,
        verification=pd.Series(map(result.verification_text, row_list), index=rows.index, dtype=object),
    )
    omitted = ["dtype", "batch_size", "cache", "doubt"]
    omitted += [name for name in _AFTER_LATENCY if listed[name].isna().all()]
    omitted += [] if listed["latency_s"].notna().any() else _OF_LATENCY
    columns = _sides_columns(view)
    if any(reasons):
        columns |= {name: replace(columns[name], hidden=True) for name in _BEHIND_REASONS}
    else:
        omitted += ["status", "why"]
    columns = tables.without_constant(columns, listed, omitted)
    tables.show(
        listed,
        columns,
        data.TableSource(view.file_name("model"), data.statement("sides", selection)),
        key="sides",
        alt="Results of the model by backend",
        whole=True,
        room=widths.PAGE_PX,
    )
    _show_reruns(view, rows)
    rerun.offer(view, rerun.of_rows(rows), key="model")


def _show_reruns(view: View, rows: pd.DataFrame) -> None:
    """Draw a link to each newer run that measured one of these results again, with the outcome."""
    names = dict(zip(rows["series_id"], rows["series"], strict=True))
    reruns = [row for row in rerun.later(view) if row.series_id in names]
    for number, row in enumerate(reruns):
        name, run = escape(names[row.series_id]), escape(rerun.run_of(row))
        label = f"**{name}** was measured again by {run}: {escape(rerun.in_full(row))}"
        links.link(view, "model", label, key=f"rerun-{number}", icon=":material/replay:", run=row.run_id)


def _why(row: Any) -> str | None:
    if not missing(row.speedup):
        return None
    return next((str(text) for text in (row.reason, row.speedup_reason) if not missing(text) and text), None)


_AFTER_LATENCY = (
    *("verification", "first_iteration_s", "compiler_time_s", "graphs_number", "peak_memory_bytes"),
    *("fallback_ops_n", "graph_breaks_n"),
)
"""Numbers that are left out where no backend has them: they would take the room of the reasons."""
_OF_LATENCY = ("latency_s", "steady_n", "speedup", "interval")
"""Numbers that are left out where nothing ran."""
_BEHIND_REASONS = ("first_iteration_s", "compiler_time_s", "graphs_number", "fallback_ops_n", "graph_breaks_n")
"""Numbers that are only in the menu of the table where a result has no speedup, for the same reason."""


def _sides_columns(view: View) -> dict[str, TableColumn]:
    return {
        "series": TableColumn("Backend", pinned=True, help="Backend plus every setting in which rows differ."),
        "latency_s": measured("latency_s"),
        "steady_n": TableColumn("n", "number", help="Steady samples behind the latency."),
        "speedup": measured("speedup", note=f"Baseline: {view.baseline_text}."),
        "interval": tables.interval_column("speedup"),
        "status": TableColumn("Status"),
        "doubt": doubts.COLUMN,
        "why": TableColumn("Why no speedup", width=240),
        "verification": TableColumn("Verification", help="Part Verification of a result says what it means."),
        "verification_code": TableColumn("Verification code", "code", hidden=True),
        "throughput_per_s": measured("throughput_per_s", hidden=True),
        "first_iteration_s": measured("first_iteration_s", "First iteration"),
        "compiler_time_s": measured("compiler_time_s", "Compiler"),
        "graphs_number": measured("graphs_number"),
        "peak_memory_bytes": measured("peak_memory_bytes", "Memory"),
        "fallback_ops_n": measured("fallback_ops_n", "Fallbacks"),
        "graph_breaks_n": measured("graph_breaks_n", "Breaks"),
        "cache": TableColumn("Cache", hidden=True),
        "dtype": TableColumn("Dtype", hidden=True),
        "batch_size": measured("batch_size", hidden=True),
    }


def _show_steps(view: View, suite: str, model: str, test: str) -> None:
    """Draw whether the model's source has changed, then the next steps, each as a sentence and a command."""
    earlier = data.rows(view.snapshot, "earlier_sources", view.selection, runs=[view.selection.run_id])
    for sentence in changed_sources(earlier[earlier["model"] == model].to_dict("records")):
        st.caption(escape(sentence))
    rows = data.rows(view.snapshot, "next_steps", view.selection, run=view.selection.run_id)
    of_model = rows[(rows["suite"] == suite) & (rows["model"] == model) & (rows["test"] == test)]
    next_steps = steps(of_model.to_dict("records"))
    if not next_steps:
        return
    st.subheader("What to look at next", anchor=False)
    for step in next_steps:
        st.markdown(f"{escape(step.why)}:")
        downloads.command(step.command)


PARTS: dict[str, Callable[[ModelResult], None]] = {
    "Samples": samples.show,
    "Verification": result.show_verification,
    "Metrics": result.show_metrics,
    "Fallback ops": result.show_ops,
    "Programs": result.show_programs,
    "History": result.show_history,
    "Files": lambda chosen: files.show(chosen.view, chosen.keys),
    "Identity and record": result.show_identity,
}


def _show_result(view: View, rows: pd.DataFrame, record_ids: tuple[str, ...]) -> None:
    """Draw the choices of a result and a part, both bound to the URL, and the chosen part.

    Args:
        view: what is shown.
        rows: the results to choose from.
        record_ids: records of all results of the model and test, also of those that the filters leave out.
    """
    st.subheader("One result", anchor=False)
    names = list(rows["series"])
    choosing.notice_unknown("Result", names, "result")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Result",
            names,
            index=_first(rows),
            key="result",
            bind="query-params",
            width=380,
        )
        part = choosing.segments("Part", list(PARTS), "part")
    chosen = ModelResult(view, rows.iloc[names.index(name)], record_ids)
    chosen.reproduce()
    downloads.draft_of_record(view, chosen.document)
    _rerun_buttons(view, rows.iloc[[names.index(name)]])
    if not chosen.row["ran"]:
        files.end_of_log(view, chosen.keys)
    PARTS[part](chosen)


def _rerun_buttons(view: View, row: pd.DataFrame) -> None:
    """Draw the button that measures the result again, in turns with the model's baseline if that is another result."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="result-again"):
        for cell in rerun.of_rows(row):
            rerun.one(view, cell, "Measure it again", key="again-result", together_with=(view.selection.baseline,))
        access.ask_name("result-name")


def _first(rows: pd.DataFrame) -> int:
    """Return the position of the result to show at first: a failed one, else the first on XLA, else the first."""
    failed = [
        not ran and status not in ("skipped", "not_run")
        for ran, status in zip(rows["ran"], rows["status"], strict=True)
    ]
    on_xla = [str(backend).startswith(XLA) for backend in rows["backend"]]
    return next((flags.index(True) for flags in (failed, on_xla) if True in flags), 0)


PAGE = PageSpec(place=80, title="Model", url_path="model", icon=":material/deployed_code:", show=show)
