"""The view that every page receives: snapshot, selection, and facts of the shown run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.words import missing, when

if TYPE_CHECKING:
    from datetime import datetime

    import pandas as pd

    from dashboard.filters import Choices
    from dashboard.selection import ViewSelection


@dataclass(frozen=True)
class View:
    """A selection on a snapshot, with the facts of its runs."""

    snapshot: str
    selection: ViewSelection
    run: dict[str, Any]
    """The shown run's row of view `runs`."""
    newest: bool
    reruns_n: int
    """Number of newer runs that measure a few cells again."""
    verifying_n: int
    """Number of newer runs that only verify answers."""
    baseline_text: str
    """Baseline in words: `inductor, same run`."""

    @classmethod
    def of(cls, snapshot: str, runs: pd.DataFrame, selection: ViewSelection, choices: Choices) -> View:
        """Look the selected runs up in view `runs`; `choices` says which run is the newest."""
        newest = choices.newest == selection.run_id
        return cls(
            snapshot=snapshot,
            selection=selection,
            run=_row(runs, selection.run_id),
            newest=newest,
            reruns_n=choices.reruns_n if newest else 0,
            verifying_n=choices.verifying_n if newest else 0,
            baseline_text=f"{selection.baseline}, {_baseline_run(runs, selection)}",
        )

    @property
    def run_name(self) -> str:
        """Label of the run, else the start of its id."""
        return self.fact("run_label") or str(self.run["run_id"])[:8]

    @property
    def started(self) -> datetime | None:
        """UTC time at which the run began."""
        return _moment(self.run["run_started"])

    @property
    def ingested(self) -> datetime | None:
        """UTC time of the last ingest that added to the run."""
        return _moment(self.run["ingested_at"])

    def fact(self, name: str) -> str | None:
        """Return a text of the run's row, None where it is unknown."""
        value = self.run.get(name)
        return None if missing(value) or not value else str(value)

    def file_name(self, what: str) -> str:
        """Return a name for downloads, without a suffix; of the run's id only letters, digits and hyphens stay."""
        short = "".join(c for c in str(self.run["run_id"])[:8] if c.isalnum() or c == "-")
        return f"xlabench-{what}-{short}"


def _moment(value: Any) -> datetime | None:
    return None if missing(value) else value


def _row(runs: pd.DataFrame, run_id: str) -> dict[str, Any]:
    rows = runs[runs["run_id"] == run_id]
    return {str(name): value for name, value in rows.iloc[0].items()}


def _baseline_run(runs: pd.DataFrame, selection: ViewSelection) -> str:
    point = selection.baseline_point
    if point in ("latest", "oldest"):
        point_text = f"{point} result of each series"
    elif selection.baseline_run in (selection.run_id, "same"):
        point_text = "same run"
    else:
        row = _row(runs, selection.baseline_run)
        point_text = f"run {row['run_label'] or row['run_id'][:8]} of {when(row['run_started'])}"
    return f"{point_text}, on {selection.baseline_accelerator}: cross-device" if selection.cross_device else point_text
