"""The instruments by name; a new one is a file and a line here, a flag, and its place in `passes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.instrument.counters import DynamoCounters, XlaMetrics
from runner.instrument.hlo import HloDump
from runner.instrument.inductor import InductorDebug
from runner.instrument.memory_snapshot import MemorySnapshot
from runner.instrument.minify import Minify
from runner.instrument.output import SaveOutput
from runner.instrument.torch_profile import TorchProfile
from runner.instrument.xla_profile import XlaProfile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.instrument.base import Bench, Tool

TOOLS: tuple[type[Tool], ...] = (
    HloDump,
    InductorDebug,
    DynamoCounters,
    XlaMetrics,
    SaveOutput,
    TorchProfile,
    XlaProfile,
    MemorySnapshot,
    Minify,
)
"""`save_ir` is not here: it needs its variables only."""


def tools_of(names: Sequence[str], bench: Bench) -> list[Tool]:
    """Return the tools that serve these instruments, each once."""
    return [tool(bench) for tool in TOOLS if set(tool.names) & set(names)]
