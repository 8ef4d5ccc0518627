"""XLA's own profile (XPlane) of steady blocks, for XProf or TensorBoard; it needs no port."""

from __future__ import annotations

import time

from runner.instrument.base import Bench, Tool


class XlaProfile(Tool):
    """One profile over all instrumented blocks, or over as many as fit into `--profile-xla-duration-ms`."""

    names = ("profile_xla",)

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._until: float | None = None
        self._stopped = False

    def begin(self, repeat: int) -> None:
        del repeat
        if self._until is not None:
            return
        from torch_xla.debug import profiler

        # In-process: a server would need a port, and two runs on one machine would want the same one.
        profiler.start_trace(str(self.bench.folder / "xplane"))
        self._until = time.monotonic() + self.bench.command.load.settings.profile_xla_duration_ms / 1000

    def end(self, repeat: int) -> None:
        del repeat
        if self._until is not None and time.monotonic() >= self._until:
            self._stop()

    def finish(self) -> None:
        if self._until is not None:
            self._stop()

    def _stop(self) -> None:
        if self._stopped:
            return
        from torch_xla.debug import profiler

        self._stopped = True
        profiler.stop_trace()
