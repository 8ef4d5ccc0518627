"""The step that is timed: a model on its device under a backend, how a block is taken, and what is looked at after."""

from __future__ import annotations

import contextlib
import os
import statistics
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from time import perf_counter  # by name: a model that replaces the clock of `time` leaves this one
from typing import Any

from runner.backends import backend_of, openxla, steps
from runner.backends.host import Backend
from runner.graphs import collect
from runner.messages import Load
from runner.process.cores import give_back_cores
from runner.process.own_process import Waits
from runner.process.samples import IN_STEADY_STATE, Block, Samples, call_difference, difference
from runner.suites import get_suite
from runner.suites.base import BuildRequest, local_context
from runner.workload import OwnStep, Runtime, Workload
from store.record import ExperimentConfig, FallbackClass, FallbackOp, Graph

_SMALLEST_DYNAMIC = 2
"""Dynamo always compiles sizes 0 and 1 as constants."""


class NoBatchDimension(ValueError):
    """`--dynamic-batch-only` finds no dimension to mark."""


class Inputs:
    """Makes new inputs for each iteration: copies, or new values where the experiment asks for them.

    Made while the workload still lies on the host; where an iteration brings its inputs to the device itself, or draws
    new ones, the host's own are kept.
    """

    def __init__(self, workload: Workload, config: ExperimentConfig, seed: int) -> None:
        import torch

        self._workload, self._config = workload, config
        self._on_host = config.include_transfers or config.randomize_input
        self._host = (workload.args, workload.kwargs) if self._on_host else None
        self._random = torch.Generator().manual_seed(seed)
        self._batch_size = workload.batch_size if config.dynamic_batch_only else None
        if config.dynamic_batch_only:
            self._check()

    def fresh(self, count: int, runtime: Runtime) -> list[Any]:
        """Return inputs for `count` iterations, on the device unless the iteration brings them there."""
        if self._host is None and self._workload.shared_inputs:
            made = steps.fresh_inputs(self._workload, 1) * count
        elif self._host is None:
            made = steps.fresh_inputs(self._workload, count)
        else:
            made = [self._made(self._host) for _ in range(count)]
            if not self._config.include_transfers:
                made = [runtime.to_device(inputs) for inputs in made]
        if self._batch_size is not None:
            self._mark(made)
        return made

    def _made(self, inputs: Any) -> Any:
        import torch
        from torch.utils import _pytree as pytree

        return pytree.tree_map_only(torch.Tensor, self._drawn if self._config.randomize_input else steps.copied, inputs)

    def _drawn(self, tensor: Any) -> Any:
        """Draw normal values for a floating tensor, as the peers do; integers are indices and stay."""
        import torch

        if not tensor.is_floating_point():
            return steps.copied(tensor)
        made = torch.randn(tensor.shape, generator=self._random, dtype=torch.float32).to(tensor.dtype)
        return made.requires_grad_(tensor.requires_grad)

    def _check(self) -> None:
        name, size = self._config.model_name, self._batch_size
        if size is None:
            raise NoBatchDimension(f"--dynamic-batch-only: the suite does not know the batch size of {name}")
        if size < _SMALLEST_DYNAMIC:
            raise NoBatchDimension(f"--dynamic-batch-only: a batch of {size} cannot be dynamic; pass --batch-size 2")
        if not self._mark([(self._workload.args, self._workload.kwargs)]):
            raise NoBatchDimension(
                f"--dynamic-batch-only: no input of {name} has {size} samples in its first dimension"
            )

    def _mark(self, inputs: list[Any]) -> int:
        """Mark the first dimension of what holds one entry per sample; return how many tensors do."""
        import torch
        from torch.utils import _pytree as pytree

        tensors = [
            leaf
            for leaf in pytree.tree_leaves(inputs)
            if isinstance(leaf, torch.Tensor) and leaf.dim() and leaf.shape[0] == self._batch_size
        ]
        for tensor in tensors:
            torch._dynamo.maybe_mark_dynamic(tensor, 0)  # noqa: SLF001 - the way that torch documents
        return len(tensors)


FLOOR_BLOCKS = 21
"""Blocks with nothing in them; their median is the floor."""


class TimedStep:
    """A model as the backend runs it; everything here but the clock's own seconds is prepared outside the clock."""

    def __init__(self, command: Load) -> None:
        self._load, self._config, self._settings = command, command.config, command.settings
        self.trains = command.config.test == "train"
        self.backend: Backend = backend_of(self._config.xla, self._config.dynamo, self._config.torch_xla2)
        self.runtime: Runtime
        self.workload: Workload
        self.own_step: OwnStep | None = None
        """Where the suite times the parts of an iteration itself."""
        self._inputs: Inputs
        self.step: Callable[..., Any]
        """What a block calls once per iteration; instruments put another one around it."""
        self.cores_of_source: int | None = None
        """The number of cores that the model's code has bound the process to; None: it has left them alone."""
        self.last: Any = None
        """What the last iteration of the last block returned, until the next one begins; kept where it is verified."""
        self._waits = Waits()

    def load(self, seconds: dict[str, float]) -> None:
        """Build the model, start the runtime, move the model there, wrap its step.

        Args:
            seconds: gets what the first two took as soon as it is known, so that a failure after them has it, too.

        Raises:
            RuntimeError: the device has no timing events, and only they shall be read.
        """
        self.seed_host()
        cores = os.sched_getaffinity(0)
        began = perf_counter()
        context = local_context(self._load.torchbench_dir, self._load.own)
        request = BuildRequest.of(
            self._config, batch_size=self._load.batch_size, seed=self._settings.seed, context=context
        )
        self.workload = get_suite(self._config.suite_name).build(request)
        seconds["load_time_s"] = perf_counter() - began
        # Before the runtime starts its threads, which inherit them.
        self.cores_of_source = give_back_cores(cores)
        self.runtime = self.backend.open(self._config, self._settings.device_index)
        seconds["runtime_start_s"] = self.runtime.start_s
        if self._config.pure_wall_time and self.runtime.timer() is None:
            raise RuntimeError("--pure-wall-time: this device has no timing events")
        steps.cast(self.workload, self._config)
        self._inputs = Inputs(self.workload, self._config, self._settings.seed)
        self.runtime.place(self.workload)
        self._resident_step = self.step = self._make_step()
        if self._config.include_transfers:
            self.step = steps.with_transfers(self.step, self.runtime)
        self.runtime.after_iteration()
        self.runtime.after_block()

    def other_batch(self) -> list[str]:
        """Say where the model does not take the batch size that was asked for."""
        asked, has = self._load.batch_size, self.workload.batch_size
        if asked is None or has is None or asked == has:
            return []
        return [f"batch size {asked} was requested, but the model fixes it at {has}"]

    def _make_step(self) -> Callable[..., Any]:
        """Return the step as the backend runs it."""
        workload, config = self.workload, self._config
        if workload.own_step is None:
            return self.backend.compile(steps.make_step(workload, config, self.runtime.device), config)
        timer = self.runtime.timer() if config.pure_wall_time else None
        compiled = lambda call: self.backend.compile(call, config)  # noqa: E731 - one argument of five
        own = workload.own_step(workload, config.test, self.runtime, compiled, timer)
        self.own_step = own
        return own

    def inputs(self, count: int) -> list[Any]:
        """Return inputs of iterations as blocks get them."""
        return self._inputs.fresh(count, self.runtime)

    def block(self, loops: int) -> Block:
        """Take a timed block; its inputs and random streams are prepared before the clock."""
        runtime, self.last = self.runtime, None
        inputs = self._inputs.fresh(self._settings.iterations_per_run * loops, runtime)
        self.seed_host()
        runtime.seed(self._settings.seed)
        before, calls = runtime.counters(), runtime.fallback_calls()
        seconds, transfers = self._xla_seconds(), runtime.transfers()
        outputs: list[Any] = []
        waits = self._waits.read()
        total, trace = self._time(inputs, outputs if self._load.results else None)
        waited = self._waits.between(waits, self._waits.read())
        happened = difference(before, runtime.counters())
        compile_s, execute_s = (new - old for old, new in zip(seconds, self._xla_seconds(), strict=True))
        alone = self.own_step.take_seconds() if self.own_step else {}
        phases = {name: value * self._settings.iterations_per_run for name, value in alone.items()}
        self.last = outputs.pop() if outputs else None
        return Block(
            total_s=sum(phases.values()) if phases else total / loops,
            # A step that cuts itself returns when its graph has been launched, or has run.
            trace_s=trace / loops if runtime.is_xla and self.own_step is None else None,
            compiles=happened.compiles,
            executions=None if happened.executions is None else happened.executions // loops,
            graphs=happened.graphs,
            device_reads=happened.device_reads,
            compile_s=compile_s / loops if runtime.is_xla else None,
            execute_s=execute_s / loops if runtime.is_xla else None,
            fallback_calls=call_difference(calls, runtime.fallback_calls()),
            transfers={name: (value - transfers[name]) / loops for name, value in runtime.transfers().items()},
            phases=phases,
            inner_loops=loops,
            wait_s=waited.largest_s if waited else None,
            wait_all_s=waited.all_s if waited else None,
            dispatched=waited.dispatched if waited else None,
        )

    def take(self, inputs: list[Any]) -> tuple[float, Any]:
        """Time iterations as a block's are; return seconds and the last output, not yet read."""
        self.seed_host()
        self.runtime.seed(self._settings.seed)
        outputs: list[Any] = []
        seconds, _ = self._time(inputs, outputs)
        return seconds, outputs[0]

    def _time(self, inputs: list[Any], outputs: list[Any] | None = None) -> tuple[float, float]:
        """Return seconds of all iterations together, and of their steps until they returned; keep the last output."""
        import torch

        runtime, step = self.runtime, self.step
        timer = runtime.timer() if self._config.pure_wall_time else None
        if timer is not None:
            step = steps.between_events(step, timer)
        trace = 0.0
        output: Any = None
        with torch.set_grad_enabled(self.trains):
            began = perf_counter()
            for args, kwargs in inputs:
                traced = perf_counter()
                # The result stays referenced until it is materialised; dropped earlier, lazy XLA computes nothing.
                output = step(args, kwargs)
                trace += perf_counter() - traced
                if self.own_step is None:
                    runtime.after_iteration()
            runtime.after_block()
            total = perf_counter() - began
        if outputs is not None:
            outputs.append(output)
        del output
        return (total if timer is None else timer.seconds()), trace

    def take_last(self) -> Any:
        """Return what the last iteration of the last block returned, and keep it no longer."""
        last, self.last = self.last, None
        return last

    def once(self) -> Any:
        """Run one iteration without timing it; it is not synchronised."""
        return self._once(steps.fresh_inputs(self.workload, 1)[0])

    def once_with_other_inputs(self) -> Any:
        """Run one iteration with inputs that no other one has had."""
        from runner.verify.preparation import others

        return self._once(others((self.workload.args, self.workload.kwargs), self.workload.batch_size))

    def _once(self, inputs: Any) -> Any:
        import torch

        self.seed_host()
        self.runtime.seed(self._settings.seed)
        once = self._resident_step if self.own_step is None else self.own_step.uncut
        with torch.set_grad_enabled(self.trains):
            return once(*inputs)

    def floor(self, step: OwnStep, loops: int) -> float:
        """Return seconds of an iteration that has nothing to compute: the median of some blocks of the same form."""
        count = self._settings.iterations_per_run * loops
        times = []
        for _ in range(FLOOR_BLOCKS):
            began = perf_counter()
            for _ in range(count):
                step.empty()
            self.runtime.after_block()
            times.append((perf_counter() - began) / count)
        return statistics.median(times)

    def seed_host(self) -> None:
        from runner.suites.building import seed_everything

        seed_everything(self._settings.seed)

    def _xla_seconds(self) -> tuple[float, float]:
        metric = getattr(self.runtime, "metric", None)
        return (metric("CompileTime")[1], metric("ExecuteTime")[1]) if metric else (0.0, 0.0)


# After the last timed block: the compiled graphs, who asks for fallback ops, and what these are.


@dataclass
class Findings:
    """Empty where nothing was looked at."""

    graphs: list[Graph] = field(default_factory=list)
    call_sites: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def find(config: ExperimentConfig, module: Any, iterate: Callable[[], Any], fallbacks: Collection[str]) -> Findings:
    """Look at the graphs and, where ops fell back, for their callers.

    Args:
        config: of the experiment.
        module: its model, after the last timed block.
        iterate: runs one iteration and returns its result, not synchronised.
        fallbacks: ops that ran outside the compiler.
    """
    findings = Findings()
    compiled = bool(config.dynamo)
    try:
        lazy = bool(config.xla) and not config.torch_xla2 and not collect.bridged()
        # Compiled code must not run under the finder: it would be compiled again.
        output = _under_finder(iterate, () if compiled else fallbacks, findings) if lazy else None
        findings.graphs = collect.graphs(config, output, module)
        unknown = set(fallbacks) - findings.call_sites.keys()
        if unknown and compiled:
            findings.call_sites = collect.bridge_call_sites()
            if unknown := unknown - findings.call_sites.keys():
                import torch

                # The step as it is written: compiled code has no places in the program. Last: what it leaves pending
                # must not be executed.
                with torch.compiler.set_stance("force_eager"):
                    _under_finder(iterate, unknown, findings)
    except Exception as error:  # noqa: BLE001 - the measurement stands without it
        findings.warnings.append(f"graphs and call sites are incomplete: {type(error).__name__}: {error}"[:300])
    return findings


def _under_finder(iterate: Callable[[], Any], fallbacks: Collection[str], findings: Findings) -> Any:
    finder = collect.finder(fallbacks) if fallbacks else None
    with finder or contextlib.nullcontext():
        output = iterate()
    findings.call_sites |= finder.call_sites if finder else {}
    return output


# Ops that XLA did not lower: how often per iteration, and of which class.


def classify(op: str) -> FallbackClass:
    """Return the class of an op, named without `aten::`."""
    if openxla.is_host_read(op):
        return "host_read"
    return "opt_in_lowering" if openxla.is_opt_in(op) else "no_lowering"


def summarize_fallbacks(samples: Samples) -> list[FallbackOp]:
    """Return one entry per op: calls per steady iteration, and calls while compiling and warming up apart."""
    steady = samples.of_kind(*IN_STEADY_STATE)
    before = samples.of_kind("first", "warmup")
    iterations = sum(block.inner_loops for block in steady) * samples.iterations_per_run
    ops = {op for block in samples.blocks for op in block.fallback_calls}
    return [
        FallbackOp(
            op=op,
            klass=classify(op),
            calls_per_iteration=_calls(steady, op) / iterations if iterations else None,
            calls_compile=_calls(before, op),
        )
        for op in sorted(ops)
    ]


def _calls(blocks: Sequence[Block], op: str) -> int:
    return sum(block.fallback_calls.get(op, 0) for block in blocks)
