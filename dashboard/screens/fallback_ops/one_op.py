"""One fallback op: its models, its history, and the measured payoff of lowering it."""

from __future__ import annotations

import shlex
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import iter_rows, sections, unit, with_series, with_suites
from dashboard.formatting import CLASSES, DASH, GAINS, count, escape, interval, listed, missing, ratio, when
from dashboard.jobs import planned, rerun
from dashboard.ui import answers, downloads, opening
from dashboard.ui.answers import SECTION
from dashboard.ui.tables import TableColumn, measured, naming
from dashboard.view import View, links
from runner.jobs.rerun import without
from store.charts import history
from store.metrics import metric
from store.report.payoffs import LIMITS, WAYS

MOST_RUNS = 60
_NAMED = 4


def sentences(op: str, calls: pd.DataFrame) -> list[str]:
    """Return the first sentences of an op; `calls` are the calls of this op alone."""
    if calls.empty:
        return [f"No result of this view calls **{escape(op)}**; its history is below"]
    calls = with_suites(calls)
    name, meaning = CLASSES.get(str(calls["klass"].iloc[0]), (str(calls["klass"].iloc[0]), ""))
    steady = _models(calls[calls["steady"].astype(bool)])
    alone = _models(calls[calls["alone"].astype(bool)])
    what = unit(calls["suite"])
    texts = [
        f"**{escape(op)}** ({escape(name.lower())}) is called in steady iterations of {count(len(steady), what)}"
        + (f"; it alone keeps {count(len(alone), what)} from running without fallback" if alone else "")
    ]
    if alone:
        texts.append(f"Models blocked only by this op: {listed([escape(model) for model in alone], _NAMED)}")
    return [*texts, meaning] if meaning else texts


def show(view: View, op: str, calls: pd.DataFrame) -> None:
    """Draw the models of the op, then its history."""
    _measured_alone(view, op)
    if len(calls):
        downloads.draft_of_op(view, op)
        _table(view, op, calls)
        show_payoffs(view, op)
    _history(view, op)


def _measured_alone(view: View, op: str) -> None:
    """Draw links from a fallback op to its own measurements, of this run or of the newest run that has some."""
    runs = data.rows(view.snapshot, "operator_runs", view.selection, op=op)
    newest = runs[runs["run_id"] == runs["run_id"].iloc[0]] if len(runs) else runs
    for row in iter_rows(newest):
        where = "" if row.shown else f", run {escape(row.run_label)} of {when(row.run_started)}"
        links.link(
            view,
            "operators",
            f"Measured alone as **{escape(row.operator)}**, {count(int(row.calls_n), 'call')}{where}",
            key=f"alone-{row.operator}",
            icon=":material/function:",
            operator=row.operator,
            **links.ANYWHERE | {"run": row.run_id},
        )
    if runs.empty:
        st.caption("No run has measured it alone. To do so:")
        downloads.command("xlabench run --suite-name operators --config FILE")


def sites(places: list[str]) -> str:
    """Return call sites as one text."""
    return ", ".join(places) if len(places) else "the place was not found"


def _models(calls: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(calls["model"].astype(str)))


def _table(view: View, op: str, calls: pd.DataFrame) -> None:
    st.subheader("Models", anchor=False)
    listed_calls = calls.assign(
        call_sites=[sites(places) for places in calls["call_sites"]],
        alone=["yes" if alone else "no" for alone in calls["alone"]],
    ).sort_values(["time_share", "calls_per_iteration"], ascending=False, na_position="last")
    columns = {
        **naming("model", "suite", "series", "test", "accelerator", pinned=("model", "series")),
        "calls_per_iteration": TableColumn(
            "Calls per iteration", "decimal", help=metric("calls_per_iteration").definition
        ),
        "calls_compile": measured("calls_compile", "Calls while compiling"),
        "time_s": measured("time_s"),
        "time_share": measured("time_share", "Share of time"),
        "latency_s": measured("latency_s"),
        "steady_n": TableColumn("n", "number", help="Steady samples behind the latency."),
        "alone": TableColumn("Only fallback op", help="Whether no other fallback op is called in steady iterations."),
        "call_sites": TableColumn("Called at", help="Place in the program, recorded by an extra process."),
    }
    selected = opening.table(
        view,
        listed_calls,
        columns,
        data.source(view, "op-models", "fallback_calls", op=op, klass=None),
        key="op-models",
        alt=f"Results that call {op}",
        omitted_if_constant=("suite", "accelerator"),
    )
    rerun.offer(view, rerun.of_rows(calls), key="op", selected=selected)


def _history(view: View, op: str) -> None:
    st.subheader("Over the runs", anchor=False)
    params: dict[str, Any] = {"op": op, "most_runs": MOST_RUNS}
    rows = with_series(data.rows(view.snapshot, "op_history", view.selection, **params))
    if rows.empty:
        st.markdown("No run of the store has a result of an XLA backend that passes the filters.")
        return
    st.caption(
        f"Models that call the op, in at most the newest {count(MOST_RUNS, 'run')}. The grey step is the number of "
        "models that ran under the backend, which differs between plans."
    )
    for keys, part in sections(rows, SECTION):
        st.markdown(f"**{answers.section_title(keys)}**")
        st.altair_chart(
            history.models_over_runs(_points(part)),
            key="op-history-" + "-".join(keys),
            alt=f"Models that call {op} by run, {' '.join(keys)}",
        )
    downloads.below(rows, "op-history", data.source(view, "op-history", **params))


def _points(part: pd.DataFrame) -> pd.DataFrame:
    rows = list(iter_rows(part))
    return pd.DataFrame(
        {
            "place": [f"{row.run_started:%Y-%m-%d %H:%M:%S} {row.run_id}" for row in rows],
            "run": [f"{row.run_label} · {when(row.run_started)}" for row in rows],
            "versions": [f"torch {row.torch or 'unknown'}, torch_xla {row.torch_xla or 'unknown'}" for row in rows],
            "variant": part["series"],
            "backend": part["backend"],
            "models": part["models_n"],
            "ran": part["ran_n"],
            "label": [f"{int(row.models_n)} of {int(row.ran_n)}" for row in rows],
            "calls": [DASH if missing(row.calls_per_iteration) else f"{row.calls_per_iteration:.4g}" for row in rows],
        }
    )


_MEANING = (
    "Measures each result unchanged and with the op replaced, in turns, and verifies the answers. This shows the gain "
    "of this replacement. The results appear here and in `xlabench report payoffs`, in no other view."
)
HOST_READ = "host_read"
_REASONS_NAMED = 4


def payoffs_of(row: Any) -> str:
    """Return the interval of the largest payoff of a row of the ranking, or why there is none."""
    if not missing(row.payoff):
        has_interval = not missing(row.payoff_low)
        gain_text = (
            f"{GAINS[int(row.gain)]}: {interval(row.payoff_low, row.payoff_high)}" if has_interval else "one process"
        )
        return f"{gain_text} in {row.payoff_model}"
    if not missing(row.payoff_reason):
        return f"no payoff: {row.payoff_reason}"
    return "nothing to lower" if row.klass == HOST_READ else "not measured"


def proven_payoffs(row: Any) -> str | None:
    """Return the proven gain of a row of the ranking as a clause, or None."""
    if missing(row.gain) or row.gain != 1:
        return None
    faster = f"{ratio(row.payoff)} faster ({interval(row.payoff_low, row.payoff_high)})"
    return f"without it {escape(row.payoff_model)} was {faster}, measured"


def payoff_sentences(view: View, op: str) -> list[str]:
    """Return a sentence of the payoffs measured without an op, the largest first; none where none was measured."""
    rows = data.rows(view.snapshot, "op_payoffs", view.selection, op=op)
    known = with_suites(rows)[rows["payoff"].notna()]
    speedups = [f"{escape(row.model)} {row.test} {escape(row.backend)} {ratio(row.payoff)}" for row in iter_rows(known)]
    return [f"Measured speedup without the op: {listed(speedups, _REASONS_NAMED)}"] if speedups else []


def show_payoffs(view: View, op: str) -> None:
    """Draw the payoffs measured without the op, and how to measure the others."""
    st.subheader("Payoff", anchor=False)
    rows = with_series(data.rows(view.snapshot, "op_payoffs", view.selection, op=op))
    if (rows["klass"] == HOST_READ).any():
        st.markdown("It reads a value on the host: there is nothing to lower, and so nothing to measure.")
        return
    known = rows[rows["payoff_run_id"].notna()]
    if len(known):
        st.caption(LIMITS)
        _payoffs_table(view, op, known)
    else:
        st.markdown("Not measured yet. Run this command, or request the measurement below:")
        with st.container(width=720):
            downloads.command(_command(next(iter_rows(rows)), op))
    _offer(view, op, rows)


def _command(row: Any, op: str) -> str:
    words = ["--only", f"{row.suite}/{row.model}", "--test", row.test, "--without-fallback", op]
    return shlex.join(["xlabench", "run", *words])


def _payoffs_table(view: View, op: str, known: pd.DataFrame) -> None:
    shown = known.assign(
        by=[", ".join(WAYS.get(way, way) for way in ways) for ways in known["ways"]],
        newly=[", ".join(names) for names in known["newly_called"]],
        run=[f"{row.payoff_run_label} · {when(row.payoff_started)}" for row in iter_rows(known)],
    )
    columns = {
        **naming("model", "suite", "series", "test", "accelerator", pinned=("model", "series")),
        "payoff": measured("payoff"),
        "payoff_low": measured("payoff_low", "Low"),
        "payoff_high": measured("payoff_high", "High"),
        "with_latency_s": measured("with_latency_s"),
        "without_latency_s": measured("without_latency_s"),
        "by": TableColumn("Replaced by"),
        "payoff_reason": TableColumn("Why no payoff"),
        "newly": TableColumn("New fallback ops", help="Ops that the model calls only when this op is replaced."),
        "replicas_ran_n": measured("replicas_ran_n"),
        "run": TableColumn("Measured by run"),
    }
    opening.table(
        view,
        shown,
        columns,
        data.source(view, "op-payoffs", op=op),
        key="op-payoffs",
        alt=f"What models gain without {op}",
        omitted_if_constant=("suite", "accelerator"),
    )


def _offer(view: View, op: str, rows: pd.DataFrame) -> None:
    """Draw the popover that requests the payoff of the results that call the op in steady iterations."""
    steady = rows[rows["steady"].astype(bool)]
    if steady.empty:
        st.caption("No result of this view calls it in steady iterations, so lowering it pays nothing there.")
        return
    with st.popover("Measure the payoff", icon=":material/speed:", key="measure-payoff", on_change="rerun") as part:
        if part.open:
            _ask(view, op, steady)


def _ask(view: View, op: str, steady: pd.DataFrame) -> None:
    run = str(steady["run_id"].iloc[0])
    file = planned.run_file(view.snapshot, run)
    if isinstance(file, str):
        st.warning(escape(file), icon=":material/block:")
        return
    cells = [cell for cell in rerun.of_rows(steady) if cell.run_id == run]
    names = {f"{cell.text} · {cell.environment}": cell for cell in cells}
    chosen = st.multiselect("Results", list(names), default=list(names), key="payoff-results")
    request = without(file, [(names[name].experiment_id, names[name].environment) for name in chosen], op)
    if request is None:
        st.caption("Choose results." if not chosen else "The plan of the run contains none of these results.")
        return
    st.markdown(f"{count(len(chosen), 'result')} as they are and without **{escape(op)}**.")
    rerun.ask(view, request, f"payoff {op}", "payoff", _MEANING)
