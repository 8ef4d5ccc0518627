"""The view that the URL describes: its selection, the options for it, and facts of the shown run, without Streamlit.

The modules of this package draw it (`filters`, `choosing`) and lead from one view to another (`links`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Literal

import pandas as pd

from dashboard.formatting import count, missing, when

FILTER_WORDS: dict[str, str] = {
    "suite": "Suite",
    "model": "Model",
    "backend": "Backend",
    "test": "Test",
    "accelerator": "Accelerator",
    "dtype": "Dtype",
}
"""URL parameter of each filter → its label."""

ONLY: tuple[str, ...] = ("no fallback ops", "no graph breaks")
"""Options of the filter on models: they are known to have none of these in the run."""

Point = Literal["same", "latest", "oldest", "pinned"]
Rule = Literal["paired", "hud", "peer"]
RULES: dict[Rule, str] = {"paired": "Paired", "hud": "HUD", "peer": "PyTorch/XLA"}
"""Rule of the summary on Overview → its name."""


@dataclass(frozen=True)
class ViewSelection:
    """The view that the sidebar and the URL describe; an empty filter means all."""

    run_id: str
    baseline: str
    """Backend that results are compared with."""
    baseline_point: Point = "same"
    """The baseline's results: those of the shown run, the latest or oldest of each series, or those of one run."""
    baseline_run_id: str | None = None
    """The run of the baseline if `baseline_point` is `pinned`, else None."""
    baseline_accelerator: str | None = None
    """Accelerator of the baseline; None: the same. Another one is cross-device: it gives ratios and no verdict."""
    only: tuple[str, ...] = ()
    """Choices of `ONLY`: models without fallback ops, without graph breaks."""
    rule: Rule = "paired"
    """Rule of the summary; only Overview uses it."""
    suite: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    backend: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    accelerator: tuple[str, ...] = ()
    dtype: tuple[str, ...] = ()

    @property
    def baseline_run(self) -> str:
        """The argument of the store's macros: the id of a run, or `latest` or `oldest`."""
        if self.baseline_point == "same":
            return self.run_id
        return self.baseline_run_id or self.baseline_point

    @property
    def cross_device(self) -> bool:
        """Whether the baseline may be of another accelerator."""
        return self.baseline_accelerator is not None

    def active(self) -> dict[str, tuple[str, ...]]:
        """Return the filters that restrict something, by label."""
        filters = {word: getattr(self, name) for name, word in FILTER_WORDS.items() if getattr(self, name)}
        return filters | ({"Only models with": self.only} if self.only else {})

    def unfiltered(self) -> ViewSelection:
        """Return the same run and baseline without filters."""
        return self.without((*FILTER_WORDS, "only"))

    def chosen(self) -> dict[str, tuple[str, ...]]:
        """Return every filter by its URL parameter."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name in FILTER_WORDS}

    def without(self, names: Iterable[str]) -> ViewSelection:
        """Return the selection with these filters off."""
        off: dict[str, Any] = dict.fromkeys(names, ())
        return replace(self, **off)

    def parameters(self) -> dict[str, object]:
        """Return the parameters for queries by name; a query binds those that it names."""
        return {name: list(values) for name, values in self.chosen().items()} | {
            "run": self.run_id,
            "only": list(self.only),
            "baseline_backend": self.baseline,
            "baseline_run": self.baseline_run,
            "baseline_point": self.baseline_run_id or self.baseline_point,
            "baseline_accelerator": self.baseline_accelerator,
        }


BETWEEN = " · "
"""Text between the parts of the text of a run."""


@dataclass(frozen=True)
class Choices:
    """Options of the sidebar: runs, the newest first, and the values of each filter."""

    runs: tuple[tuple[str, str], ...]
    """Pairs of run_id and text, the newest run first."""
    listed: tuple[str, ...]
    """Texts of the runs in the boxes: those of the chosen label."""
    values: Mapping[str, tuple[str, ...]]
    """URL parameter of a filter → its values."""
    devices: tuple[str, ...]
    """Accelerators, then models of accelerators."""
    newest: str
    """The newest run of the chosen label that is no rerun of a few results."""
    reruns: tuple[str, ...]
    """Ids of the newer runs of the label that measure a few results again, the newest first."""
    verifying: tuple[str, ...]
    """Ids of the newer runs of the label that only verify answers, the newest first."""

    @property
    def baselines(self) -> tuple[str, ...]:
        """Backends that may be the baseline; the default one first."""
        backends = self.values["backend"]
        preferred = [name for name in ("inductor", "openxla+lazytensor") if name in backends]
        return tuple(dict.fromkeys([*preferred, *backends]))


def run_text(run: Any) -> str:
    """Return the text of a run, a row of view `runs`, for boxes and the URL; it ends with the beginning of the id."""
    torch = f"torch {run.torch}" if run.torch and not missing(run.torch) else "torch unknown"
    finished = run.planned_n - run.not_run_n
    extent = count(run.planned_n, "result") if run.complete else f"{finished} of {run.planned_n} so far"
    return BETWEEN.join((run.run_label or "unnamed", when(run.run_started), torch, extent, str(run.run_id)[:8]))


@dataclass(frozen=True)
class View:
    """A selection on a snapshot, with the facts of its runs."""

    snapshot: str
    selection: ViewSelection
    run: dict[str, Any]
    """The shown run's row of view `runs`."""
    newest: bool
    reruns: tuple[str, ...]
    """Ids of the newer runs that measure a few results again, the newest first; none if the shown run is another."""
    verifying: tuple[str, ...]
    """The same of newer runs that only verify answers."""
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
            reruns=choices.reruns if newest else (),
            verifying=choices.verifying if newest else (),
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

    def file_name(self, what: str, run_id: str | None = None) -> str:
        """Return a name for downloads, without a suffix; of the run's id only letters, digits and hyphens stay."""
        short = "".join(c for c in str(run_id or self.run["run_id"])[:8] if c.isalnum() or c == "-")
        return f"xlabench-{what}-{short}"


def _moment(value: Any) -> datetime | None:
    return None if missing(value) else value


def _row(runs: pd.DataFrame, run_id: str) -> dict[str, Any]:
    row = runs.iloc[runs["run_id"].tolist().index(run_id)]
    return {str(name): value for name, value in row.items()}


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
