"""The instrumented process: the tools, one run under them, and a list of what they left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from runner.instrument.base import Bench, Tool
from runner.instrument.dumps import (
    DynamoCounters,
    HloDump,
    InductorDebug,
    MemorySnapshot,
    Minify,
    SaveOutput,
    XlaMetrics,
)
from runner.instrument.passes import Limit, artifacts
from runner.instrument.profiles import TorchProfile, XlaProfile
from runner.messages import Instrument, Instrumented, Loaded
from runner.process.measure import MeasuringProcess
from runner.workload import Runtime

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


WARM_BLOCKS = 3
"""The compilation, and two more: XLA may compile in the second iteration too."""
MOST_BLOCKS = 3
"""More than this many instrumented blocks show nothing new, and dumps are large."""


class Session(MeasuringProcess):
    """Takes blocks as the timed process does; its times go nowhere."""

    def __init__(self, bench: Bench, tools: Sequence[Tool]) -> None:
        super().__init__(bench.command.load)
        self._bench = bench
        self._tools = tools
        self._repeat: int | None = None
        self._looking = False

    def run(self) -> None:
        """Warm up, then take min(`repeat`, 3) blocks under the instruments."""
        self.first()
        self.exactly(WARM_BLOCKS)
        for repeat in range(min(self._settings.repeat, MOST_BLOCKS)):
            self._repeat = repeat
            self.exactly(WARM_BLOCKS + repeat + 1)
        self._repeat = None

    def load(self) -> Loaded:
        loaded = super().load()
        timed = self.timed
        step = timed.step

        def watched(*arguments: Any) -> Any:
            self._begin()
            self._bench.output = step(*arguments)
            return self._bench.output

        timed.step = watched
        timed.runtime = cast("Runtime", _Watched(timed.runtime, self._end))
        return loaded

    def _begin(self) -> None:
        """The first iteration of a block starts the instruments: what comes before it is preparation."""
        if self._repeat is not None and not self._looking:
            self._looking = True
            for tool in self._tools:
                tool.begin(self._repeat)

    def _end(self) -> None:
        if self._looking and self._repeat is not None:
            self._looking = False
            for tool in reversed(self._tools):
                tool.end(self._repeat)


class _Watched:
    """A runtime that reports the end of a block."""

    def __init__(self, runtime: Runtime, on_end: Any) -> None:
        self._runtime = runtime
        self._on_end = on_end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def after_block(self) -> None:
        self._runtime.after_block()
        self._on_end()


_TEXT = 500
"""Characters of an exception that a warning holds: a C++ compiler can say a megabyte."""


def instrument(command: Instrument) -> Instrumented:
    """Run the experiment under its instruments and list what they left, also where the run fails.

    Compilation and two more blocks warm up; then min(`repeat`, 3) blocks are instrumented.
    """
    bench = Bench(command)
    with Limit(bench.folder, command.limit_bytes) as limit:
        tools = [tool(bench) for tool in TOOLS if set(tool.names) & set(command.instruments)]
        try:
            _run(bench, tools)
        except Exception as error:  # noqa: BLE001 - what was dumped before a failure explains it
            if not any(tool.expects_failure for tool in tools):
                bench.found.warnings.append(f"the instrumented run failed: {type(error).__name__}: {error}"[:_TEXT])
        _finish(bench, tools)
    bench.found.artifacts = artifacts(bench.folder, limit.written(), limit.cut)
    bench.found.warnings += limit.warnings()
    return bench.found


def _run(bench: Bench, tools: Sequence[Tool]) -> None:
    for tool in tools:
        tool.prepare()
    session = Session(bench, tools)
    session.load()
    for tool in tools:
        tool.before_first()
    session.run()


def _finish(bench: Bench, tools: Sequence[Tool]) -> None:
    for tool in tools:
        try:
            tool.finish()
        except Exception as error:  # noqa: BLE001 - the other instruments' files are still good
            bench.found.warnings.append(f"{'/'.join(tool.names)}: {type(error).__name__}: {error}"[:_TEXT])
