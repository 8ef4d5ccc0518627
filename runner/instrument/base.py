"""What an instrument is, and the bench it works on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.messages import Instrument, Instrumented
from store.record import ExperimentConfig


@dataclass
class Bench:
    """One instrumented run: where its files go and what it found."""

    command: Instrument
    found: Instrumented = field(default_factory=lambda: Instrumented(artifacts=[]))
    output: Any = None
    """What the last iteration returned."""

    @property
    def folder(self) -> Path:
        return Path(self.command.folder)

    @property
    def config(self) -> ExperimentConfig:
        return self.command.load.config

    @property
    def iterations(self) -> int:
        return self.command.load.settings.iterations_per_run

    def of_repeat(self, repeat: int) -> Path:
        """Return the folder of one instrumented block, made if need be; the peer has one per repeat too."""
        folder = self.folder / str(repeat)
        folder.mkdir(parents=True, exist_ok=True)
        return folder


class Tool:
    """An instrument; each method does nothing unless it is needed."""

    names: tuple[str, ...] = ()
    """Instruments that this class serves."""
    expects_failure = False
    """Whether the run is made because it fails: then that it fails is no news."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def prepare(self) -> None:
        """Set switches before the model is built."""

    def before_first(self) -> None:
        """Act once the model is on its device, before anything is compiled."""

    def begin(self, repeat: int) -> None:
        """Start looking: inputs and random streams are ready, the block's first iteration comes next."""

    def end(self, repeat: int) -> None:
        """Stop looking: the device has finished the block."""

    def finish(self) -> None:
        """Write what belongs to the whole run; called also where the run failed."""
