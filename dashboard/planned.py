"""What a request would measure, and for how long, before anybody starts it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard import access, estimates, settings, tables
from dashboard.tables import Column
from dashboard.words import count, escape
from runner.errors import RunnerError
from runner.jobs import preview
from runner.jobs.request import RunRequest, decode, encode

if TYPE_CHECKING:
    from runner.jobs.preview import Preview

_ASKED_AGAIN_S = 300.0
_REASONS = 8
_TOML = "xlabench.toml"


def of(request: RunRequest) -> Preview | str:
    """Return the plan of a request, or in one sentence why there is none: nobody's is made who may not launch it."""
    launching = access.may("launch")
    if not launching.allowed:
        return launching.reason
    file = settings.home() / _TOML
    changed = file.stat().st_mtime_ns if file.is_file() else 0
    return _planned(encode(request), str(settings.home()), changed)


def each_experiment(found: Preview) -> None:
    """Draw every experiment with why it is skipped, opened by a click."""
    with st.expander("Each experiment", key="new-plan", on_change="rerun", icon=":material/list:") as part:
        if part.open:
            _table(found)


def brief(shown: str | None, found: Preview) -> None:
    """Draw numbers, estimate and reasons."""
    runnable, skipped = len(found.runnable), len(found.skipped)
    text = f"**{count(runnable, 'experiment')}** to measure, in {count(found.processes, 'process', 'processes')} each"
    st.markdown(text + (f"; {skipped:,} skipped" if skipped else ""))
    st.markdown(estimates.estimate(shown, found.runnable, found.processes).sentence())
    reasons = Counter(entry.skip_reason or "" for entry in found.skipped)
    notes = [f"{number:,} skipped: {escape(reason)}" for reason, number in reasons.most_common()]
    notes += [escape(text) for text in (*found.missing_suites.values(), *found.lacking)]
    if notes:
        st.caption("\n".join(f"- {note}" for note in notes[:_REASONS]))


@st.cache_data(max_entries=50, ttl=_ASKED_AGAIN_S, show_spinner="Planning…")
def _planned(text: str, home: str, changed: int) -> Preview | str:
    """Plan once per request and settings file; interpreters that it names are asked what they offer."""
    del home, changed
    try:
        request = decode(text)
        assert isinstance(request, RunRequest)  # noqa: S101 - the callers'
        return preview.preview(request, settings.home())
    except (RunnerError, ValueError) as error:
        return str(error)


def _table(found: Preview) -> None:
    every = [*found.runnable, *found.skipped]
    frame = pd.DataFrame(
        {
            "model": [entry.config.model_name for entry in every],
            "suite": [entry.config.suite_name for entry in every],
            "test": [entry.config.test for entry in every],
            "accelerator": [entry.config.accelerator for entry in every],
            "variant": [entry.variant for entry in every],
            "environment": [entry.environment for entry in every],
            "skip": [entry.skip_reason for entry in every],
        }
    )
    columns = {
        "model": Column("Model", pinned=True),
        "suite": Column("Suite"),
        "test": Column("Test"),
        "accelerator": Column("Accelerator"),
        "variant": Column("Backend"),
        "environment": Column("Environment"),
        "skip": Column("Why skipped"),
    }
    tables.show(frame, columns, key="new-experiments", alt="Experiments of the plan", file_name="xlabench-plan")
