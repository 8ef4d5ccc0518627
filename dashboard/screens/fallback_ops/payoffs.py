"""What lowering an op would pay: where it was measured, and how it is measured where it was not."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import data, rerun, run_files
from dashboard.rows import each, with_series
from dashboard.screens import opening
from dashboard.tables import Column, measured
from dashboard.words import count, escape, interval, listed, missing, ratio, when
from runner.jobs.payoff import without
from store.report.payoffs import LIMITS, WAYS

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View

__all__ = ["GAINS", "LIMITS", "of_op", "proven", "sentences", "show"]

GAINS = {1: "proven", 0: "not told apart", -1: "slower replaced"}
_MEANING = (
    "Measures each result unchanged and with the op replaced, in turns, and verifies the answers. This shows the gain "
    "of this replacement. The results appear here and in `xlabench report payoffs`, in no other view."
)
_HOST_READ = "host_read"
_NAMED = 4


def of_op(row: Any) -> str:
    """Return the interval of the largest payoff of a row of the ranking, or why there is none."""
    if not missing(row.payoff):
        known = not missing(row.payoff_low)
        found = f"{GAINS[int(row.gain)]}: {interval(row.payoff_low, row.payoff_high)}" if known else "one process"
        return f"{found} in {row.payoff_model}"
    if not missing(row.payoff_reason):
        return f"no payoff: {row.payoff_reason}"
    return "nothing to lower" if row.klass == _HOST_READ else "not measured"


def proven(row: Any) -> str | None:
    """Return a proven gain of a row of the ranking as words of a sentence, or None."""
    if missing(row.gain) or row.gain != 1:
        return None
    found = f"{ratio(row.payoff)} ({interval(row.payoff_low, row.payoff_high)})"
    return f"without it {escape(row.payoff_model)} was {found} as fast, measured"


def sentences(view: View, op: str) -> list[str]:
    """Return what was measured without an op, the largest payoff first; nothing where nothing was."""
    rows = data.rows(view.snapshot, "op_payoffs", view.selection, op=op)
    known = rows[rows["payoff"].notna()]
    said = [f"{escape(row.model)} {row.test} {escape(row.backend)} {ratio(row.payoff)}" for row in each(known)]
    return [f"Measured with the op replaced: {listed(said, _NAMED)} as fast"] if said else []


def show(view: View, op: str) -> None:
    """Draw what was measured without the op, and how to measure the rest."""
    st.subheader("Payoff", anchor=False)
    rows = with_series(data.rows(view.snapshot, "op_payoffs", view.selection, op=op))
    if (rows["klass"] == _HOST_READ).any():
        st.markdown("It reads a value on the host: there is nothing to lower, and so nothing to measure.")
        return
    known = rows[rows["payoff_run_id"].notna()]
    if len(known):
        st.caption(LIMITS)
        _table(view, op, known)
    else:
        st.markdown("Not measured: run this, or ask for it here.")
        with st.container(width=720):
            st.code(_command(next(each(rows)), op), wrap_lines=True)
    _offer(view, op, rows)


def _command(row: Any, op: str) -> str:
    words = ["--only", f"{row.suite}/{row.model}", "--test", row.test, "--without-fallback", op]
    return shlex.join(["xlabench", "run", *words])


def _table(view: View, op: str, known: pd.DataFrame) -> None:
    shown = known.assign(
        by=[", ".join(WAYS.get(way, way) for way in ways) for ways in known["ways"]],
        newly=[", ".join(names) for names in known["newly_called"]],
        run=[f"{row.payoff_run_label} · {when(row.payoff_started)}" for row in each(known)],
    )
    columns = {
        "model": Column("Model", pinned=True),
        "suite": Column("Suite"),
        "series": Column("Backend"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "payoff": measured("payoff"),
        "payoff_low": measured("payoff_low", "Low"),
        "payoff_high": measured("payoff_high", "High"),
        "with_latency_s": measured("with_latency_s"),
        "without_latency_s": measured("without_latency_s"),
        "by": Column("Replaced by"),
        "payoff_reason": Column("Why no payoff"),
        "newly": Column("Calls instead", help="Fallback ops that the model calls only since the op is replaced."),
        "replicas_ran_n": measured("replicas_ran_n"),
        "run": Column("Measured by run"),
    }
    opening.table(
        view,
        shown,
        columns,
        key="op-payoffs",
        alt=f"What models gain without {op}",
        file_name="op-payoffs",
        sql=data.statement("op_payoffs", view.selection, op=op),
        told_once=("suite", "accelerator"),
    )


def _offer(view: View, op: str, rows: pd.DataFrame) -> None:
    """Draw the button that opens what would be measured, of the results that call the op in steady iterations."""
    steady = rows[rows["steady"].astype(bool)]
    if steady.empty:
        st.caption("No result of this view calls it in steady iterations, so lowering it pays nothing there.")
        return
    with st.popover("Measure the payoff", icon=":material/speed:", key="measure-payoff", on_change="rerun") as part:
        if part.open:
            _ask(view, op, steady)


def _ask(view: View, op: str, steady: pd.DataFrame) -> None:
    run = str(steady["run_id"].iloc[0])
    file = run_files.of(view.snapshot, run)
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
