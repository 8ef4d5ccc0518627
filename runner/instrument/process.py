"""The instrumented process: profilers and the other tools, one run under them, and a list of what they left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

from runner.instrument.dumps import (
    DynamoCounters,
    HloDump,
    InductorDebug,
    MemorySnapshot,
    Minify,
    SaveOutput,
    XlaMetrics,
)
from runner.instrument.passes import Bench, Limit, Tool, artifacts
from runner.messages import Instrument, Instrumented, Loaded
from runner.process.measure import ExperimentMeasurement
from runner.workload import Runtime

_MICROSECOND_S = 1e-6
_PREFIX = "aten::"
_TABLE_ROWS = 500  # the peer's
_OF_THE_PROFILER = ("Activity Buffer Request", "Buffer Flush", "Instrumentation")
"""Kineto's names for its own work with CUDA. On an H200 it was 2.0 of the 2.7 ms of a block of 0.3 ms."""


class TorchProfile(Tool):
    """One profile per block serves all three flags."""

    names = ("dump_pytorch_profiles", "profile_cuda_cpu", "profile_cuda_cpu_individual_ops")

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._profile: Any = None
        self._seconds: Counter[str] = Counter()
        self._blocks = 0
        self._began = self._wall_s = 0.0

    def begin(self) -> None:
        import torch
        from torch.profiler import ProfilerActivity, profile

        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available() and self.bench.config.accelerator == "cuda":
            activities.append(ProfilerActivity.CUDA)
        self._profile = profile(activities=activities)
        self._profile.start()
        self._began = time.perf_counter()

    def end(self, repeat: int) -> None:
        self._wall_s += time.perf_counter() - self._began
        self._profile.stop()
        self._blocks += 1
        names = self.bench.command.instruments
        if "dump_pytorch_profiles" in names:
            self._dump(repeat)
        if "profile_cuda_cpu" in names:
            self._add(totals(self._profile, self.bench.iterations))
        if self.bench.config.xla:
            self._seconds.update(outermost_seconds(self._profile.events(), _fallback_ops()))
        if "profile_cuda_cpu_individual_ops" in names:
            self._add(self._ops())

    def finish(self) -> None:
        iterations = self._blocks * self.bench.iterations
        if not iterations:
            return
        self.bench.found.profiled_iteration_s = self._wall_s / iterations
        self.bench.found.fallback_times = {op: seconds / iterations for op, seconds in self._seconds.items()}

    def _dump(self, repeat: int) -> None:
        folder = self.bench.of_repeat(repeat)
        self._profile.export_chrome_trace(str(folder / "trace.json.gz"))
        column = "cuda_time_total" if self.bench.config.accelerator == "cuda" else "cpu_time_total"
        table = self._profile.key_averages().table(sort_by=column, row_limit=_TABLE_ROWS)
        (folder / "pytorch-profile.txt").write_text(table)

    def _ops(self) -> dict[str, Any]:
        """Return the peer's key: fallback ops on XLA (left out where there are none), else all of aten."""
        averages = {event.key: event for event in self._profile.key_averages()}
        if self.bench.config.xla:
            keys = {_PREFIX + _base(op) for op in _fallback_ops()}
            unlowered = {key: numbers(event) for key, event in averages.items() if key in keys}
            return {"xla_unlowered_ops": unlowered} if keys else {}
        return {"inductor_ops": {key: numbers(event) for key, event in averages.items() if key.startswith(_PREFIX)}}

    def _add(self, values: dict[str, Any]) -> None:
        for key, value in values.items():
            self.bench.found.metrics.setdefault(key, []).append(value)


def totals(profile: Any, iterations: int) -> dict[str, float]:
    """Return CPU and CUDA seconds of a block; a kernel counts where the device ran it, not where it was launched.

    CPU seconds leave out what only the profiler does.
    """
    from torch.autograd import DeviceType

    averages = profile.key_averages()
    cpu = sum(event.self_cpu_time_total for event in averages if event.key not in _OF_THE_PROFILER) * _MICROSECOND_S
    # The legacy profiler keeps a kernel's time with the CPU event that launched it. A range on the device, as that of
    # an optimizer's step, spans kernels that count themselves.
    on_device = (
        event
        for event in averages
        if (event.device_type == DeviceType.CUDA and not event.is_user_annotation)
        or (event.is_legacy and event.device_type == DeviceType.CPU)
    )
    cuda = sum(event.self_device_time_total for event in on_device) * _MICROSECOND_S
    return {
        "total_cpu_time_s": cpu,
        "total_cuda_time_s": cuda,
        "per_iter_cpu_time_s": cpu / iterations,
        "per_iter_cuda_time_s": cuda / iterations,
    }


def numbers(event: Any) -> dict[str, float]:
    """Return the peer's five numbers of an op."""
    return {
        "self_cpu_time_s": event.self_cpu_time_total * _MICROSECOND_S,
        "self_cuda_time_s": event.self_device_time_total * _MICROSECOND_S,
        "total_cpu_time_s": event.cpu_time_total * _MICROSECOND_S,
        "total_cuda_time_s": event.device_time_total * _MICROSECOND_S,
        "num_of_calls": event.count,
    }


def outermost_seconds(events: Any, ops: list[str]) -> dict[str, float]:
    """Return seconds by op; an op called inside itself (on the CPU, by its fallback) counts once.

    They contain what the op waits for: a fallback first has its inputs computed.
    """
    keys = {_PREFIX + _base(op): op for op in ops}
    seconds: Counter[str] = Counter()
    for event in events:
        op = keys.get(event.name)
        if op is not None and not _inside(event.cpu_parent, event.name):
            seconds[op] += event.cpu_time_total * _MICROSECOND_S
    return dict(seconds)


def _inside(parent: Any, name: str) -> bool:
    while parent is not None:
        if parent.name == name:
            return True
        parent = parent.cpu_parent
    return False


def _base(op: str) -> str:
    """The profiler leaves the overload out of an op's name."""
    return op.split(".", maxsplit=1)[0]


def _fallback_ops() -> list[str]:
    """Return what PyTorch/XLA has run on the CPU in this process, named without `aten::`."""
    from torch_xla.debug import metrics

    return [name.removeprefix(_PREFIX) for name in metrics.counter_names() if name.startswith(_PREFIX)]


class XlaProfile(Tool):
    """One profile over all instrumented blocks, or over as many as fit into `--profile-xla-duration-ms`."""

    names = ("profile_xla",)

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._until: float | None = None
        self._stopped = False

    def begin(self) -> None:
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


class Session(ExperimentMeasurement):
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
                tool.begin()

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
