"""Charts of means, rates and models of a suite over the runs, and of one model; two clicked points compare runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import data
from dashboard.data.frames import differing_settings, iter_rows, key_of, unit, with_series, with_settings_key
from dashboard.formatting import STATUS_WORDS, TIMES, WRONG, count, escape, interval, listed, missing, ratio, share
from dashboard.ui import answers, charts, downloads, tables
from dashboard.ui.tables import TableColumn, measured
from dashboard.view import View, choosing, links
from store.charts import history
from store.charts.drawing import Drawing
from store.metrics import metric
from store.metrics.text import significant
from store.paired.report import SOURCE_RULE, changed_sources
from store.state.marks import NAMES

RATES = {"Ran": ("ran_n", "planned_n"), "Verified": ("verified_n", "answered_n")}
_WIDTHS = (5, 3, 3)
"""Widths of the panels; the third, the number of models, is left out where it is always the same."""
_ABOVE_PX = 44
_CLICK = "Click two points to compare their runs."


def show(view: View, part: pd.DataFrame, keys: tuple[str, ...], run_ids: tuple[str, ...], marks: pd.DataFrame) -> None:
    """Draw the charts of one test, accelerator and suite, and their table."""
    st.subheader(answers.section_title(keys), anchor=False)
    if len(set(part["run_id"])) > 1:
        st.caption(_CLICK)
    baseline = view.selection.baseline
    events = events_of(marks, part)
    means = answers.compared(part[part["geomean"].notna()], baseline)
    if means.empty:
        st.info(_no_speedup(view, keys, run_ids))
        _rates(view, part, events, set())
    else:
        alike = len(set(means["n"])) == 1
        first, second, *third = st.columns(_WIDTHS[:2] if alike else _WIDTHS)
        with first:
            over = f", means of {count(int(means['n'].iloc[0]), unit(means['suite']))}" if alike else ""
            _above().caption(f"Speedup over {escape(baseline)}{over}")
            _speedups(view, _with_steps(view, means, run_ids), events)
        with second:
            _rates(view, part, events, named=set(means["series"]))
        for place in third:
            with place:
                _above().caption("Models behind the means")
                _models(view, means, events)
    of = replace(view.selection, test=(keys[0],), accelerator=(keys[1],), suite=(keys[2],))
    _table(view, part, data.statement("trend_geomeans", of, **data.over_runs(view.selection, run_ids)))


def _no_speedup(view: View, keys: tuple[str, ...], run_ids: tuple[str, ...]) -> str:
    """Say how many results have no number and what became of them, or that only the baseline's is missing."""
    of = {"runs": list(run_ids), "of_test": keys[0], "of_accelerator": keys[1], "of_suite": keys[2]}
    without = data.rows(view.snapshot, "trend_without", view.selection, **of)
    if without.empty:
        return f"No result of these runs has a speedup: {escape(view.selection.baseline)} was not measured with them."
    words = {**STATUS_WORDS, "wrong": WRONG, "disturbed": "disturbed by other programs"}
    outcomes = [f"{row.results_n:,} {words.get(row.status, row.status)}" for row in iter_rows(without)]
    total = count(int(without["results_n"].sum()), "result")
    return f"No result of these runs has a speedup; {total} without a valid number: {escape(', '.join(outcomes))}."


def _above() -> DeltaGenerator:
    """Return the container above a chart; its fixed height makes all charts begin at the same height."""
    return st.container(height=_ABOVE_PX, border=False, vertical_alignment="center")


def _speedups(view: View, means: pd.DataFrame, events: pd.DataFrame) -> None:
    title = f"Speedup over {view.selection.baseline} (log scale)"
    clicked(view, history.lines(_means(means), title, events=events, kind="ratio"), "means", "Geometric means")
    if (means["step"] != "").any():
        st.caption(STEPS)


STEPS = (
    "A hollow point is not to be compared with the one before it: its mean is over other models, or some were measured "
    "differently. Its tooltip says what changed."
)
_FEW_MODELS = 4


def _with_steps(view: View, means: pd.DataFrame, run_ids: tuple[str, ...]) -> pd.DataFrame:
    """Add column `step`: what changed in the models behind a mean since the point before; empty where nothing did."""
    steps = data.rows(view.snapshot, "trend_steps", view.selection, **data.over_runs(view.selection, run_ids))
    section = ["test", "accelerator", "suite"]  # one, as `means` are of one
    shown = steps[(steps[section] == means[section].iloc[0]).all(axis=1)]
    changed = {(row.run_id, *key_of(row)): _step(row) for row in iter_rows(shown)}
    return means.assign(step=[changed.get((row.run_id, *key_of(row)), "") for row in iter_rows(means)])


def _step(row: Any) -> str:
    """Return what changed, as `with vgg16; without alexnet; measured with other threads: dcgan`."""
    parts = {"with": row.added, "without": row.gone, f"measured with other {listed(row.settings)}:": row.otherwise}
    return "; ".join(f"{word} {listed(list(models), _FEW_MODELS)}" for word, models in parts.items() if len(models))


def clicked(view: View, lines: Drawing, key: str, alt: str) -> None:
    """Draw a chart; clicked points of two runs open page Compare with these runs."""
    state = charts.selectable(lines, key=key, text=alt)
    runs = dict.fromkeys(str(point["run_id"]) for point in state["selection"].get(history.PICKED, []))
    if len(runs) == 1:
        st.caption("One run is chosen; click a point of another one.")
    if len(runs) > 1:
        known = {str(row.run_id): row.run_started for row in iter_rows(data.runs(view.snapshot))}
        first, second = sorted(list(runs)[:2], key=lambda run: known[run])
        links.go(view, "compare", a=first, b=second)


def events_of(marks: pd.DataFrame, part: pd.DataFrame, changes: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return marks that apply to some of the rows, and confirmed changes, within their time, as vertical lines."""
    first, last = part["run_started"].min(), part["run_started"].max()
    events = [
        {"at": mark.marked_at, "kind": "mark", "text": f"{mark.text} ({mark.who})", "short": mark.text}
        for mark in iter_rows(marks)
        if first <= mark.marked_at <= last and _names(mark, part)
    ]
    events += [
        {"at": change.started_after, "kind": "change", **_change_texts(change)}
        for change in (iter_rows(changes) if changes is not None else ())
        if first <= change.started_after <= last
    ]
    return pd.DataFrame(events, columns=["at", "kind", "text", "short"])


def _change_texts(change: Any) -> dict[str, str]:
    """Return the word of a confirmed change, alone and with its factor, which is above 1 both ways."""
    factor, low, high = change.change_ratio, change.change_low, change.change_high
    if factor > 1:
        return {"short": "slower", "text": f"slower by {ratio(factor)} ({interval(low, high)})"}
    ends = (None, None) if missing(low) or missing(high) else (1 / high, 1 / low)
    return {"short": "faster", "text": f"faster by {ratio(1 / factor)} ({interval(*ends)})"}


def _names(mark: Any, part: pd.DataFrame) -> bool:
    """Tell whether a mark applies to any of the rows; a name that it leaves open applies to all."""
    matching = part
    for name in NAMES:
        value = getattr(mark, name)
        if not missing(value) and name in matching.columns:
            matching = matching[matching[name] == value]
    return len(matching) > 0


def _means(means: pd.DataFrame) -> pd.DataFrame:
    rows, what = (
        list(iter_rows(means[["geomean", "geomean_low", "geomean_high", "n", "step"]])),
        unit(means["suite"]),
    )
    intervals = [interval(row.geomean_low, row.geomean_high) for row in rows]
    return history.points(
        means,
        [row.geomean for row in rows],
        [
            f"{ratio(row.geomean)} ({ends}), {count(int(row.n), what)}" + (f"; {row.step}" if row.step else "")
            for row, ends in zip(rows, intervals, strict=True)
        ],
    ).assign(
        low=means["geomean_low"].to_numpy(),
        high=means["geomean_high"].to_numpy(),
        step=(means["step"] != "").to_numpy(),
    )


def _rates(view: View, part: pd.DataFrame, events: pd.DataFrame, named: set[str]) -> None:
    """Draw the rate of experiments that ran or passed.

    Series `named` in the legend of the means are not named again; without means this chart has a legend of its own.
    """
    with _above():
        rate = choosing.segments("Rate", list(RATES), "rate", labelled=False)
    over, of = RATES[rate]
    rows = part[(part[of] > 0) & ((rate == "Ran") | part["verify_asked"])]
    if rows.empty:
        st.info("Not verified: no run was started with `--verify`.")
        return
    labels = [
        f"ran {share(int(row.ran_n), int(row.planned_n))} · verified "
        + (share(int(row.verified_n), int(row.answered_n)) if row.verify_asked else "not requested")
        for row in iter_rows(rows[["ran_n", "planned_n", "verified_n", "answered_n", "verify_asked"]])
    ]
    points = history.points(rows, rows[over] / rows[of], labels)
    title = "Ran, of the plan" if rate == "Ran" else "Verified, of what ran"
    clicked(view, history.lines(points, title, events=events, kind="share", legend=not named), f"rate-{rate}", title)
    if named and (others := sorted(set(rows["series"]) - named)):
        st.caption(f"Shown only here, because they have no speedup: {escape(listed(others))}.")


def _models(view: View, means: pd.DataFrame, events: pd.DataFrame) -> None:
    """Draw the number of models behind the means: a mean also moves when its models change."""
    what = unit(means["suite"])
    points = history.points(means, means["n"].astype(float), [count(int(n), what) for n in means["n"]])
    lines = history.lines(points, "Models", events=events, kind="whole", legend=False)
    clicked(view, lines, "models", "Models behind the means")


def _table(view: View, part: pd.DataFrame, sql: str) -> None:
    with st.expander(f"The numbers ({len(part)})", key="part-numbers", on_change="rerun") as opened:
        if not opened.open:
            return
        rows = list(iter_rows(part))
        listed = part.iloc[::-1].assign(
            interval=[interval(row.geomean_low, row.geomean_high) for row in reversed(rows)],
            ran=[share(int(row.ran_n), int(row.planned_n)) for row in reversed(rows)],
            verified=[
                share(int(row.verified_n), int(row.answered_n)) if row.verify_asked else "not verified"
                for row in reversed(rows)
            ],
        )
        columns = {
            "run_label": TableColumn("Run", pinned=True),
            "run_started": TableColumn("Started", "time", help="UTC", pinned=True),
            "series": TableColumn("Backend", help="Backend plus every setting in which rows differ."),
            "geomean": measured("geomean", "Speedup", f"Baseline: {view.baseline_text}."),
            "interval": TableColumn("95 % CI", help="Confidence interval of the geometric mean."),
            "n": TableColumn("Models", "number", help="Models behind the mean."),
            "ran": TableColumn("Ran", help="Experiments with steady samples, of those planned."),
            "verified": TableColumn("Verified", help="Of what ran."),
        }
        tables.show(
            listed,
            columns,
            data.TableSource(view.file_name("trends"), sql),
            key="trend-numbers",
            alt="Geometric means, rates and models of each run",
        )


MEASURES = {
    "Latency": "latency_s",
    "First iteration": "first_iteration_s",
    "Compiler time": "compiler_time_s",
    "Peak memory": "peak_memory_bytes",
}
_REASONS = 4
_TITLE = "One model over the runs"


def show_one_model(
    view: View, keys: tuple[str, ...], run_ids: tuple[str, ...], changes: pd.DataFrame, marks: pd.DataFrame
) -> None:
    """Draw an expander with one model over the runs; its title has the number of models with confirmed changes.

    It is open at first where the URL names a model or a number.
    """
    section_changes = changes[
        (changes["test"] == keys[0]) & (changes["accelerator"] == keys[1]) & (changes["suite"] == keys[2])
    ]
    changed = section_changes.loc[section_changes["run_after"].isin(run_ids), "model"].nunique()
    title = f"{_TITLE} · {count(changed, 'model')} with a confirmed change" if changed else _TITLE
    named = bool(st.query_params.get("of_model") or st.query_params.get("number"))
    with st.expander(title, key="one-model", expanded=named, on_change="rerun") as part:
        if part.open:
            _one(view, keys, run_ids, section_changes, marks)


def _one(
    view: View, keys: tuple[str, ...], run_ids: tuple[str, ...], changes: pd.DataFrame, marks: pd.DataFrame
) -> None:
    of = {"runs": list(run_ids), "of_test": keys[0], "of_accelerator": keys[1], "of_suite": keys[2]}
    models = [str(name) for name in data.rows(view.snapshot, "trend_models", view.selection, **of)["model"]]
    if not models:
        st.info("These runs planned no model that passes the filters.", icon=":material/info:")
        return
    model, name = _boxes(_interesting(models, changes))
    if keys[2] == "own":
        earlier = data.rows(view.snapshot, "earlier_sources", view.selection, runs=list(run_ids))
        sentences = changed_sources(earlier[earlier["model"] == model].to_dict("records"))
        st.caption(escape(" ".join([SOURCE_RULE, *sentences])))
    rows = with_series(data.rows(view.snapshot, "trend_history", view.selection, of_model=model, **of))
    known = with_settings_key(rows[rows[name].notna() & rows["valid"]])
    if known.empty:
        st.info(f"No run has a {metric(name).label.lower()} of {escape(model)}.")
    else:
        changes = changes[(changes["model"] == model) & changes["series_id"].isin(rows["series_id"])]
        events = events_of(marks, rows, changes if name == "latency_s" else None)
        chart = history.lines(_points(known, name), metric(name).header, events=events)
        clicked(view, chart, f"model-{name}", f"{metric(name).label} of {model} over the runs")
        upright = "Dashed lines: confirmed changes. Solid lines: users' marks."
        st.caption(f"{metric(name).definition} {upright} {differing_settings(known)}")
    _show_absent(rows, name)
    source = data.source(view, "trend-of-model", "trend_history", of_model=model, **of)
    downloads.below(rows, "model-numbers", source)


def _boxes(models: list[str]) -> tuple[str, str]:
    choosing.notice_unknown("Model", models, "of_model")
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    model = left.selectbox("Model", models, key="of_model", bind="query-params", label_visibility="collapsed")
    with right:
        measure = choosing.segments("Number", list(MEASURES), "number", labelled=False)
    return str(model or models[0]), MEASURES[measure]


def _interesting(models: list[str], changes: pd.DataFrame) -> list[str]:
    """Return the models, those with the newest confirmed changes first."""
    changed = [name for name in dict.fromkeys(changes["model"]) if name in models]
    return [*changed, *(name for name in models if name not in changed)]


def _points(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the rows as points, in the unit that pages show for the metric."""
    known = metric(name)
    unit = known.display_unit or known.unit
    values = [known.shown(value) for value in rows[name]]
    labels = [f"{significant(value, 4)} {unit}, n = {n:.0f}" for value, n in zip(values, rows["steady_n"], strict=True)]
    ends = {"low": "latency_low_s", "high": "latency_high_s"} if name == "latency_s" else {}
    shown: dict[str, Any] = {end: [known.shown(value) for value in rows[column]] for end, column in ends.items()}
    return history.points(rows, values, labels).assign(**shown, way=rows["way"])


def _show_absent(rows: pd.DataFrame, name: str) -> None:
    """Draw how many results lack the number, by reason."""
    absent = rows[rows[name].isna() | ~rows["valid"]]
    if absent.empty:
        return
    why = [_absence_reason(row) for row in iter_rows(absent)]
    reasons = pd.Series(why).value_counts()
    reason_counts = "; ".join(f"{n} {TIMES} {escape(str(text)[:160])}" for text, n in reasons.head(_REASONS).items())
    st.caption(f"{count(len(absent), 'result')} without it: {reason_counts}")


def _absence_reason(row: Any) -> str:
    if row.ran and not row.valid:
        return "wrong answer"
    return str(row.reason) if not missing(row.reason) else STATUS_WORDS.get(row.status, str(row.status))
