"""How a process ended, how it was arranged in its group, and what records of a run share."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.messages import Hello, Loaded, ProcessReport
from runner.schedule.groups import Order
from runner.settings import OwnModel, Settings
from store.record import (
    Accelerator,
    Environment,
    Error,
    MachineState,
    Quiet,
    Run,
    Status,
)


@dataclass(kw_only=True)
class Outcome:
    """How one measuring process ended, and what it had reported."""

    status: Status
    error: Error | None = None
    loaded: Loaded | None = None
    report: ProcessReport | None = None
    answer: Any = None
    """Last answer of a process that is not timed."""
    machine: MachineState | None = None
    """What the machine did while the process lived; of a timed process."""
    quiet: Quiet | None = None
    """Which of its turns were disturbed; of a timed process whose turns were judged."""
    disturbed: str | None = None
    """Why the quiet turns are too few for a result, where they are."""


@dataclass(frozen=True)
class Arrangement:
    """How a process was arranged with the others of its group."""

    order: Order = "sequence"
    block: int = 1
    """Blocks of its turns, the longest one's."""
    together: int = 1
    """Processes that took turns, itself included."""
    warnings: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What all records of a run share."""

    run: Run
    timestamp: float
    environment: Environment
    settings: Settings
    accelerators: Mapping[Accelerator, str]
    python: str = sys.executable
    """The interpreter of the environment."""
    torchbench_dir: Path | None = None
    own: Mapping[str, OwnModel] = field(default_factory=dict)
    """Sources of the models of suite `own`, by their names."""
    hello: Hello | None = None
