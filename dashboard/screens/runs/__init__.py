"""Page Runs & jobs: each run's plan, results and raw records, the queue of jobs, and the form for a new run."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.data.frames import with_series
from dashboard.formatting import count, escape
from dashboard.jobs import form, queue
from dashboard.screens.runs import records
from dashboard.ui import empty, frame, tables
from dashboard.ui.frame import PageSpec
from dashboard.ui.tables import TableColumn
from dashboard.view import View, choosing, filters, links
from store import query
from store.metrics import metric

KEY = "runs-list"


_RARE = ("verify_only_n", "never_steady_n", "disturbed_n")
"""Columns that are left out where all runs have 0."""


def _show_list(view: View, runs: pd.DataFrame) -> None:
    listed = runs.copy()
    listed["complete"] = ["yes" if done else "no" for done in runs["complete"]]
    listed["origin"] = [
        source if known else f"{source}, no plan recorded"
        for source, known in zip(runs["source"], runs["plan_known"], strict=True)
    ]
    st.caption("Select a run to show it on every page.")
    tables.show(
        listed,
        {name: column for name, column in _list_columns().items() if name not in _RARE or listed[name].any()},
        data.TableSource("xlabench-runs", query.named("runs")),
        key=KEY,
        alt="Runs of the store",
        on_select=lambda: _choose(view.snapshot, list(runs["run_id"])),
    )


def _choose(shown: str, run_ids: list[str]) -> None:
    """Set the sidebar's filter, and so the URL, to the run of the selected row."""
    selected = st.session_state[KEY]["selection"]["rows"]
    if selected:
        choosing.leave_value("run", dict(data.choices(shown).runs)[run_ids[selected[0]]])


def _list_columns() -> dict[str, TableColumn]:
    numbers = {
        "planned_n": "Planned",
        "ran_n": "Ran",
        "failed_n": "Failed",
        "verify_only_n": "Verified only",
        "never_steady_n": "Never steady",
        "disturbed_n": "Disturbed",
        "skipped_n": "Skipped",
        "not_run_n": "Not run",
    }
    return {
        "run_label": TableColumn("Run", pinned=True),
        "run_started": TableColumn("Started (UTC)", "time"),
        **{name: TableColumn(word, "number", help=metric(name).definition) for name, word in numbers.items()},
        "complete": TableColumn("Complete", help="Every planned experiment has a result or a reason to be skipped."),
        "torch": TableColumn("torch"),
        "torch_xla": TableColumn("torch_xla"),
        "host": TableColumn("Host"),
        "accelerator_model": TableColumn("Device"),
        "origin": TableColumn(
            "Origin", help="Who measured: xlabench, or another tool whose records were read.", hidden=True
        ),
        "last_finished": TableColumn("Finished (UTC)", "time", hidden=True),
        "ingested_at": TableColumn("Ingested (UTC)", "time", hidden=True),
        "run_id": TableColumn("Run id", hidden=True),
        "path": TableColumn("Folder", hidden=True),
        "command": TableColumn("Command", hidden=True),
    }


def _show_differences(view: View, rows: pd.DataFrame) -> None:
    """Draw the box for the other run, which is bound to the URL, and the facts that differ."""
    del rows
    other = _other_run(view)
    if other is None:
        st.caption("There is no other run to compare with. The next `xlabench run` adds one.")
        return
    differences = data.rows(view.snapshot, "facts_that_differ", view.selection, a=other, b=view.selection.run_id)
    verb = "differs" if len(differences) == 1 else "differ"
    st.markdown(
        f"**{count(len(differences), 'setting')}** {verb} between the two runs."
        if len(differences)
        else "No recorded fact differs between the two runs."
    )
    links.link(
        view,
        "compare",
        "Compare their results",
        key="compare-these",
        icon=":material/compare_arrows:",
        a=other,
        b=view.selection.run_id,
    )
    if len(differences):
        columns = {
            "scope": TableColumn("Of", help="The environment, the settings of the measurement, or the run itself."),
            "environment": TableColumn("Environment"),
            "field": TableColumn("Field", pinned=True),
            "value_a": TableColumn("Other run"),
            "value_b": TableColumn("Shown run"),
        }
        tables.show(
            differences,
            tables.without_constant(columns, differences, ["environment"]),
            data.source(view, "what-differs", "facts_that_differ", a=other, b=view.selection.run_id),
            key="differs",
            alt="Facts in which the two runs differ",
        )


def _other_run(view: View) -> str | None:
    """Draw the choice of the run that the shown one is compared with; return its id."""
    runs = [(run_id, text) for run_id, text in data.choices(view.snapshot).runs if run_id != view.selection.run_id]
    if not runs:
        return None
    texts = [text for _, text in runs[: filters.RUNS_LISTED]]
    choosing.notice_unknown("Other run", texts, "with_run")
    chosen = st.selectbox("Other run", texts, index=_before(view, runs), key="with_run", bind="query-params", width=520)
    return next(run_id for run_id, text in runs if text == chosen)


def _before(view: View, runs: list[tuple[str, str]]) -> int:
    """Return the position of the run before the shown one, preferably of the same label; the newest run is first."""
    known = data.runs(view.snapshot)
    earlier = known[known["run_started"] < view.run["run_started"]]
    of_label = earlier[earlier["run_label"] == view.run["run_label"]]
    wanted = next(iter([*of_label["run_id"], *earlier["run_id"]]), None)
    listed = [run_id for run_id, _ in runs[: filters.RUNS_LISTED]]
    return listed.index(wanted) if wanted in listed else 0


DIFFERENCES = "What differs"
SECTIONS: dict[str, Callable[[View, pd.DataFrame], None]] = {
    "Experiments": records.show_experiments,
    "Measurement warnings": records.show_warnings,
    DIFFERENCES: _show_differences,
    "Records": records.show,
}
"""Section in the URL → the function that draws it from the results of the run."""


RUNS, JOBS, NEW = PARTS = ("Runs", "Jobs", "New run")


def show(view: View) -> None:
    """Draw the page."""
    runs = data.runs(view.snapshot)
    rows = with_series(data.rows(view.snapshot, "experiments", view.selection))
    going_on = queue.sentence()
    frame.head(PAGE.title, view, [_answer(runs, view), *([going_on] if going_on else [])], len(rows), baseline=False)
    part = choosing.segments("Show", PARTS, "show")
    if part == RUNS:
        _runs(view, runs, rows)
    else:
        with choosing.choices_of("results-of-run", drawn=False):
            _choose_section(view)
        _jobs(part, view.snapshot)


def show_empty() -> None:
    """Draw the page over an empty store: jobs need no results, and the first run can be requested here."""
    empty.show_store(PAGE.title)
    st.divider()
    _jobs(choosing.segments("Show", (JOBS, NEW), "show"), None)


def _jobs(part: str, shown: str | None) -> None:
    if part == NEW:
        form.show(shown)
    else:
        queue.show()


def _runs(view: View, runs: pd.DataFrame, rows: pd.DataFrame) -> None:
    _show_list(view, runs)
    st.subheader(f"Run {escape(view.run_name)}", anchor=False)
    if rows.empty:
        empty.no_rows(view.selection, "results")
    else:
        records.show_matrix(view, rows)
        SECTIONS[_choose_section(view)](view, rows)
    empty.show_imports(view.snapshot)


def _choose_section(view: View) -> str:
    """Draw the choice of what is shown of the run; return it."""
    section = choosing.segments("Details", list(SECTIONS), "look")
    if section != DIFFERENCES:
        with choosing.choices_of("other-run", drawn=False):
            _other_run(view)
    return section


def _answer(runs: pd.DataFrame, view: View) -> str:
    unfinished = int((~runs["complete"].astype(bool)).sum())
    text = f"{count(len(runs), 'run')} in the store"
    if len(runs) == 1:
        text += ", not complete" if unfinished else ", complete"
    else:
        text += f", {unfinished:,} of them not complete" if unfinished else ", all complete"
    run = view.run
    return (
        f"{text}. **{escape(view.run_name)}** ran {int(run['ran_n']):,} of {count(int(run['planned_n']), 'experiment')}"
    )


PAGE = PageSpec(
    place=90, title="Runs & jobs", url_path="runs", icon=":material/list_alt:", show=show, show_empty=show_empty
)
