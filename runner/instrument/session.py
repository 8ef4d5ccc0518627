"""The run under instruments: the timed process's own measurement, with a look-out around each block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from runner.process.measure import Measurement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.instrument.base import Bench, Tool
    from runner.messages import Loaded
    from runner.workload import Runtime

WARM_BLOCKS = 3
"""The compilation, and two more: XLA may compile in the second iteration too."""
MOST_BLOCKS = 3
"""More than this many instrumented blocks show nothing new, and dumps are large."""


class Session(Measurement):
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
        step, self._bench.module = timed.step, timed.workload.module

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
    """A runtime that tells when a block is over."""

    def __init__(self, runtime: Runtime, on_end: Any) -> None:
        self._runtime = runtime
        self._on_end = on_end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def after_block(self) -> None:
        self._runtime.after_block()
        self._on_end()
