"""Page Fallback ops: which op to lower first, the ranking of ops, where they are called, and graph breaks."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import iter_rows, sections, unit, with_series, with_suites
from dashboard.formatting import CLASSES, count, escape, listed, missing, placed, seconds, when
from dashboard.screens.fallback_ops import graph_breaks, one_op
from dashboard.ui import answers, charts, downloads, empty, frame, opening, tables
from dashboard.ui.frame import PageSpec
from dashboard.ui.tables import TableColumn, measured, naming
from dashboard.view import View, choosing
from store.charts import heat
from store.charts.axes import PICKED
from store.identity import XLA
from store.metrics import metric
from store.report.payoffs import LIMITS

KEY = "op"
"""URL parameter of the chosen op."""


def show(view: View) -> None:
    """Draw the page."""
    ops = tuple(data.rows(view.snapshot, "known_ops", view.selection)["op"])
    op = choosing.requested_name(ops, KEY, "No result of this store called the op")
    calls = with_series(data.rows(view.snapshot, "fallback_calls", view.selection, op=op, klass=None))
    results = data.rows(view.snapshot, "fallback_coverage", view.selection)
    sentences = (
        [*one_op.sentences(op, calls), *one_op.payoff_sentences(view, op)] if op else all_ops(view, calls, results)
    )
    ran = int(results["ran"].sum())
    frame.head(PAGE.title, view, sentences, ran, baseline=False)
    if ops:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            more = "" if calls.empty else ", or click a row or a cell below"
            choosing.one_of("Op", ops, KEY, f"All ops; choose one{more}")
    if op:
        one_op.show(view, op, calls)
        _keep_choices(view)
    elif results.empty:
        empty.no_rows(view.selection, "results")
    else:
        _show_all(view, calls)


def _show_all(view: View, calls: pd.DataFrame) -> None:
    if len(calls):
        _show_ranking(view)
        _legend(calls)
        _show_maps(view, calls)
        _show_host_reads(view, calls)
    graph_breaks.show(view)


def _keep_choices(view: View) -> None:
    """Keep the choices of the page over all ops in the address while one op is shown."""
    calls = with_series(data.rows(view.snapshot, "fallback_calls", view.selection, op=None, klass=None))
    if len(calls):
        with choosing.choices_of("all-ops", drawn=False):
            _choose_order()
            _choose_maps(_parts(calls))


def _legend(calls: pd.DataFrame) -> None:
    """Draw the meaning of each class of ops that occurs, as one element, since each costs the browser time."""
    ops = {(row.klass, row.op) for row in iter_rows(calls[["klass", "op"]])}
    numbers = Counter(klass for klass, _ in ops)
    lines = []
    for klass in filter(numbers.get, CLASSES):
        name, meaning = CLASSES[klass]
        lines.append(f"**{name}**, {count(numbers[klass], 'op')}: {meaning}")
    st.caption("  \n".join(lines))


_MODELS_NAMED = 4


def all_ops(view: View, calls: pd.DataFrame, results: pd.DataFrame) -> list[str]:
    """Return the sentences of the page over all ops."""
    of_xla = [row for row in iter_rows(results) if row.ran and row.backend.startswith(XLA)]
    ran = [row for row in of_xla if not missing(row.fallback_ops_n)]  # other tools count no fallback ops
    if calls.empty:
        if not ran:
            why = "was measured by xlabench" if of_xla else "ran"
            planned = any(row.backend.startswith(XLA) for row in iter_rows(results))
            to_do = "" if planned else placed("; `xlabench run --backend openxla+dynamo` measures some")
            return [f"No result of an XLA backend {why} in this view, so fallback ops are unknown{to_do}"]
        return [f"None of the {count(len(ran), 'XLA result')} of this view called a fallback op"]
    texts, what = [], unit(calls["suite"])
    ops = ranked(view, "payoff")
    lower = ops[(ops["klass"] != one_op.HOST_READ) & (ops["steady_models_n"] > 0)]
    if len(lower):
        texts.append(_first_sentence(next(iter_rows(lower)), len(lower), what))
        most_blocking = max(iter_rows(lower), key=lambda row: row.blocked_n)
        if most_blocking.blocked_n:
            texts.append(_blocked_sentence(most_blocking, what))
    texts.append(
        f"{count(calls[['suite', 'model']].drop_duplicates().shape[0], what)} of this view called a fallback op or "
        f"read a value on the host ({sum(row.fallback_ops_n > 0 for row in ran)} of {count(len(ran), 'XLA result')})"
    )
    return texts


def cost(row: Any) -> str:
    """Return what an op costs: the most that lowering it saves where a profile has its time, else its calls."""
    if not missing(row.time_share):
        profiled = f"profiled in {count(int(row.time_n), 'result')}"
        if row.time_share >= 1:
            return f"it takes nearly the whole iteration, up to {seconds(row.saved_s)} ({profiled})"
        # The result with most seconds need not be the one with the largest share.
        part = f"{'up to ' if row.time_n > 1 else ''}{100 * row.time_share:.3g}%"
        return f"lowering it saves up to {seconds(row.saved_s)} of an iteration, {part} ({profiled})"
    if not missing(row.profiled_by):
        run = escape(row.profiled_by)
        return f"lowering it saves up to {seconds(row.saved_s)} of an iteration (profiled by run {run})"
    if missing(row.calls_per_iteration):
        return "an unknown number of calls"
    calls = "1 call" if row.calls_per_iteration == 1 else f"up to {row.calls_per_iteration:.4g} calls"
    return f"{calls} per iteration (not profiled)"


def _first_sentence(top: Any, ops: int, what: str) -> str:
    rest = f" of {ops:,} ops" if ops > 1 else ""
    return (
        f"**{escape(top.op)}** is the op to lower first{rest}: {one_op.proven_payoffs(top) or cost(top)}, "
        f"in {count(int(top.steady_models_n), what)}"
    )


def _blocked_sentence(row: Any, what: str) -> str:
    names = listed([escape(name) for name in row.blocked_models], _MODELS_NAMED)
    return (
        f"Lowering **{escape(row.op)}** alone would leave {count(int(row.blocked_n), what)} without fallback: {names}"
    )


ORDERS: dict[str, str] = {
    "Measured payoff": "payoff",
    "Milliseconds saved": "saved",
    "Models blocked only by this op": "blocked",
}
"""Label → parameter `order` of the query."""
_TABLE = "ops"
_OTHERS = "profiles_of_others"


def ranked(view: View, order: str) -> pd.DataFrame:
    """Return the ops in an order of the query; an op that only another run profiled has its time from that run.

    Column `profiled_by` names that run.
    """
    rows = data.rows(view.snapshot, "fallback_ranking", view.selection, order=order)
    profiled_by: list[Any] = [None] * len(rows)
    if not (rows["saved_s"].isna() & (rows["klass"] != one_op.HOST_READ)).any():
        return rows.assign(profiled_by=profiled_by)
    others: dict[str, Any] = {}
    for row in iter_rows(data.rows(view.snapshot, _OTHERS, view.selection)):
        others.setdefault(row.op, row)  # the most saved comes first
    saved: list[float] = []
    for index, row in enumerate(iter_rows(rows)):
        other = others.get(row.op) if missing(row.saved_s) else None
        saved.append(row.saved_s if other is None else other.saved_s)
        profiled_by[index] = None if other is None else f"{other.run_label} of {when(other.run_started)}"
    rows = rows.assign(saved_s=saved, profiled_by=profiled_by)
    places = [_place(row, order) for _, row in rows.iterrows()]
    return rows.iloc[sorted(range(len(rows)), key=places.__getitem__)].reset_index(drop=True)


def _place(row: pd.Series, order: str) -> tuple[float | bool, ...]:
    """Return the sort key of an op: the order of the query, then what lowering the op saves."""
    gain = 0.0 if missing(row["gain"]) else float(row["gain"])
    first = {
        "payoff": (-gain, -float(row["payoff"]) if gain == 1 else 0.0),
        "blocked": (-float(row["blocked_n"]),),
    }.get(order, ())
    return (row["klass"] == one_op.HOST_READ, *first, math.inf if missing(row["saved_s"]) else -float(row["saved_s"]))


def _choose_order() -> str:
    """Draw the choice of an order; return the query's name of it."""
    return ORDERS[choosing.segments("Ranked by", list(ORDERS), "ranking")]


def _show_ranking(view: View) -> None:
    """Draw the choice of an order, and the table."""
    st.subheader("Ranking", anchor=False)
    order = _choose_order()
    rows = ranked(view, order)
    measured_n = int((rows["payoffs_n"] > 0).sum())
    profiled, elsewhere = int((rows["time_n"] > 0).sum()), int(rows["profiled_by"].notna().sum())
    shown = rows.assign(
        **{
            "class": [CLASSES.get(klass, (klass, ""))[0] for klass in rows["klass"]],
            "models": [", ".join(names) for names in rows["models"]],
            "payoff_said": [one_op.payoffs_of(row) for row in iter_rows(rows)],
            "blocked_models": [", ".join(names) for names in rows["blocked_models"]],
        }
    )
    tables.show(
        shown,
        _ranking_columns(elsewhere=elsewhere > 0),
        data.TableSource(view.file_name("fallback-ops"), _behind(view, order, elsewhere)),
        key=_TABLE,
        alt="Fallback ops, the one to lower first on top",
        on_select=partial(_open_op, list(rows["op"])),
    )
    st.caption(
        f"The payoff is how much faster a model was with the op replaced ({measured_n} of "
        f"{count(len(rows), 'op')} measured; the page of an op measures it). Ranked by it, ops with a payoff come "
        "first, then the others by what they save, then ops whose replacement was slower, and host reads, which no "
        "lowering can remove. Saved is the most that lowering the op, or code without the host read, can take off an "
        "iteration: its time under the profiler, and never more than the iteration itself "
        f"({profiled} profiled{f', {elsewhere} only in other runs of the same models' if elsewhere else ''})."
    )


def _behind(view: View, order: str, elsewhere: int) -> str | dict[str, str]:
    """Return the SQL of the table, with a second statement where times come from profiles of other runs."""
    ranking = data.statement("fallback_ranking", view.selection, order=order)
    if not elsewhere:
        return ranking
    return {"Ranking": ranking, "Profiles of other runs": data.statement(_OTHERS, view.selection)}


def _open_op(ops: list[str]) -> None:
    """Choose the op of the selected row; the next run of the page shows it."""
    rows = st.session_state[_TABLE]["selection"]["rows"]
    if rows:
        choosing.leave_value("op", ops[rows[0]])


def _ranking_columns(*, elsewhere: bool) -> dict[str, TableColumn]:
    most = "Largest value of a result; values of different models are never summed."
    return {
        "op": TableColumn("Op", pinned=True),
        "class": TableColumn("Class"),
        "saved_s": TableColumn(
            "Saved, ms",
            "ms",
            help="Largest time per iteration that a lowering, or code without the host read, can save. "
            f"{most} A dash means that nothing was profiled.",
        ),
        "profiled_by": TableColumn(
            "Profiled by run",
            help="The other run, if only another run of the same model profiled the op.",
            filed=not elsewhere,
        ),
        "payoff": measured("payoff", note="Of the result with the largest payoff."),
        "payoff_said": TableColumn("Evidence", help=LIMITS),
        "ranked_by": TableColumn(
            "Ranked by", hidden=True, help="time: the largest share of time; calls: the op was not profiled."
        ),
        "time_share": measured("time_share", "Time", most),
        "calls_per_iteration": TableColumn("Calls/iteration", "decimal", help=f"Calls per iteration. {most}"),
        "steady_models_n": measured("steady_models_n", "Models"),
        "blocked_n": measured("blocked_n"),
        "calls_compile": measured("calls_compile", "Calls while compiling", most, hidden=True),
        "results_n": measured("results_n", hidden=True),
        "time_n": measured("time_n", hidden=True),
        "blocked_models": TableColumn("Blocked models", help="Models that call no other fallback op.", hidden=True),
        "models": TableColumn("In models"),
    }


_SHOWN: dict[str, str] = {"Calls per iteration": "calls_per_iteration", "Share of time": "time_share"}
"""Label → column."""
_OPS_DRAWN = 40
_MODELS_DRAWN = 60
_MODELS_ABREAST = 8
_TITLES = {klass: title for klass, (title, _) in CLASSES.items()}


def _parts(calls: pd.DataFrame) -> dict[tuple[str, ...], pd.DataFrame]:
    return dict(sections(calls, ["series", "test", "accelerator"]))


def _choose_maps(parts: Collection[tuple[str, ...]]) -> tuple[str, list[tuple[str, ...]]]:
    """Draw the choices of the column that the colour shows and of the heat maps; return them."""
    column = _SHOWN[choosing.segments("Colour", list(_SHOWN), "colour")]
    return column, choosing.charts_of("Backend, test and accelerator", list(parts), "map")


def _show_maps(view: View, calls: pd.DataFrame) -> None:
    """Draw the choice of what the colour shows, and the heat maps."""
    st.subheader("Ops by model", anchor=False)
    parts = _parts(calls)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        column, charted = _choose_maps(parts)
    unknown = int(calls[column].isna().sum())
    if unknown:
        why = "without a profile pass" if column == "time_share" else "that never reached a steady state"
        st.caption(f"{count(unknown, 'cell')} {why} have no number.")
    models_n = len(calls[["suite", "model"]].drop_duplicates())
    most = 2 if models_n <= _MODELS_ABREAST else 1
    for place, keys in charts.abreast(charted, most):
        with place:
            _map(keys, parts[keys], column)
    downloads.below(calls, "calls", data.source(view, "fallback-calls", op=None, klass=None))


def _map(keys: tuple[str, ...], cells: pd.DataFrame, column: str) -> None:
    st.markdown(f"**{answers.section_title(keys)}**")
    ops, ops_n = _ops(cells, column)
    cells = with_suites(cells)
    models = sorted(cells["model"].unique(), key=str.lower)[:_MODELS_DRAWN]
    shown = cells[cells["op"].isin(ops) & cells["model"].isin(models)]
    points = shown.groupby(["op", "model", "klass"])[column].max().rename("value").reset_index()
    key = "heat-" + "-".join(keys)
    as_share = column == "time_share"
    labels = [_label(value, as_share=as_share) for value in points["value"]]
    charts.selectable(
        heat.fallback_heat(points.assign(label=labels), ops, models, _TITLES, as_share=as_share),
        key=key,
        text=f"Fallback ops by model, {' '.join(keys)}",
        on_select=partial(_open_cell, key),
    )
    if ops_n > len(ops) or cells["model"].nunique() > len(models):
        total = count(cells["model"].nunique(), unit(cells["suite"]))
        st.caption(f"{len(ops)} of {count(ops_n, 'op')} and {len(models)} of {total}; the files below have all.")


def _ops(cells: pd.DataFrame, column: str) -> tuple[list[str], int]:
    """Return the ops to draw, by class and then the largest value first, and the number of all ops."""
    places = {klass: place for place, klass in enumerate(CLASSES)}
    most: dict[tuple[str, str], float] = defaultdict(lambda: -math.inf)
    for klass, op, value in zip(cells["klass"], cells["op"], cells[column], strict=True):
        most[klass, op] = max(most[klass, op], -math.inf if missing(value) else value)
    ranked = sorted(most, key=lambda key: (places.get(key[0], len(places)), -most[key], key[1]))
    return [op for _, op in ranked][:_OPS_DRAWN], len(ranked)


def _label(value: float, *, as_share: bool) -> str:
    if value != value:  # noqa: PLR0124 - NaN
        return "not known"
    return f"{value:.2%}" if as_share else f"{value:.4g}"


def _open_cell(key: str) -> None:
    """Choose the op of the selected cell; the next run of the page shows it."""
    cells = st.session_state[key]["selection"].get(PICKED) or ()
    if cells:
        choosing.leave_value("op", cells[0]["op"])


def _show_host_reads(view: View, calls: pd.DataFrame) -> None:
    """Draw the host reads of the view with their call sites."""
    st.subheader("Host reads", anchor=False)
    reads = calls[calls["klass"] == one_op.HOST_READ]
    if reads.empty:
        st.markdown("No result of this view read a value on the host.")
        return
    st.caption("Each read waits for the device. No lowering can remove it: change the code that reads the value.")
    listed = reads.assign(call_sites=[one_op.sites(places) for places in reads["call_sites"]])
    columns = {
        **naming("model", "suite", "series", "test", "accelerator"),
        "call_sites": TableColumn("Read at", help="Place in the program, recorded by an extra process."),
        "calls_per_iteration": TableColumn("Reads/iteration", "decimal", help=metric("calls_per_iteration").definition),
        "calls_compile": measured("calls_compile", "While compiling"),
        "time_share": measured("time_share", "Time"),
        "op": TableColumn("Op"),
    }
    opening.table(
        view,
        listed,
        columns,
        data.source(view, "host-reads", "fallback_calls", op=None, klass=one_op.HOST_READ),
        key="reads",
        alt="Values read on the host, with their call sites",
        omitted_if_constant=("suite", "accelerator", "op"),
    )


PAGE = PageSpec(place=40, title="Fallback ops", url_path="fallback-ops", icon=":material/call_split:", show=show)
