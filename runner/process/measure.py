"""Measure one experiment inside its process: load, warm up, take turns, report."""

from __future__ import annotations

import math
import os
import platform
import random
import statistics
import time
from typing import TYPE_CHECKING, Any

from runner.accelerators import ACCELERATORS
from runner.backends import backend_of, compiler_caches, dynamo, steps
from runner.graphs import collect
from runner.messages import Load, Loaded, Report, TurnDone, TurnFacts, WarmedUp
from runner.process import afterwards, fallbacks, memory, pausing
from runner.process.inputs import Inputs
from runner.process.priority import LIBRARIES, raise_priority
from runner.process.probe import Probe
from runner.process.samples import IN_STEADY_STATE, Block, Samples, call_difference, difference
from runner.process.spread import spread
from runner.process.steady import is_steady, steady_start
from runner.process.until import Turns
from runner.process.waits import Waits
from runner.suites import get_suite
from runner.suites.base import BuildRequest, local_context
from store.floor import FLOOR
from store.operators import INPUT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from runner.backends.base import Backend
    from runner.messages import Probed, Turn
    from runner.workload import OwnStep, Runtime, Workload
    from store.record import Phase

EFFECTIVE_PREFIXES = (
    "OMP_",
    "GOMP_",
    "KMP_",
    "MKL_",
    "XLA_",
    "PJRT_",
    "TORCHINDUCTOR_",
    "TRITON_",
    "TORCH_COMPILE",
    "CUDA_VIS",
    "JAX_",
    "ATEN_",
    "ONEDNN_",
    "DNNL_",
)


MAX_REWARM_BLOCKS = 100
"""Where blocks are so short that their time hardly adds up, they are done soon in number."""
MAX_INNER_LOOPS = 100_000
"""Limit for iterations that do nothing: their time is that of the loop."""
FLOOR_BLOCKS = 21
"""Blocks with nothing in them; their median is the floor."""
MAX_SPOILT_TURNS = 3
"""A program that compiled within this many turns has no steady state."""


class Measurement:
    """State of one measuring process; its methods answer the scheduler's messages in their order."""

    def __init__(self, command: Load) -> None:
        self._config = command.config
        self._settings = command.settings
        self._requested_at = command.requested_at
        self._samples = Samples(command.settings.iterations_per_run)
        self._single: dict[str, float] = {}
        self._warnings: list[str] = []
        config = command.config
        self._backend: Backend = backend_of(config.xla, config.dynamo, config.torch_xla2)
        self._torchbench_dir, self._own = command.torchbench_dir, command.own
        self._batch_size = command.batch_size
        self._results_file = command.results
        self._runtime: Runtime
        self._workload: Workload
        self._inputs: Inputs
        self._step: Callable[..., Any]
        self._base_bytes = 0
        self._spoilt_turns = 0
        self._turns = Turns(command.settings)
        self._peak_is_steady = False
        self._rewarm_times: list[float] = []
        self._own_step: OwnStep | None = None
        self._inner_loops = 1
        self._waits = Waits()
        self._probe = Probe()
        self._turn_blocks: list[range] = []
        """Indices of the blocks of each turn since the warm-up."""
        # Before the first thread is made, as each inherits it.
        self._policy = raise_priority() if command.settings.raise_priority else LIBRARIES

    def load(self) -> Loaded:
        """Build the model, start the runtime, move the model there, wrap its step."""
        import torch

        if self._settings.threads:
            torch.set_num_threads(self._settings.threads)
        precision = steps.set_precision(self._config)
        dynamo.forget()
        memory.reset_peak()
        self._base_bytes = memory.resident_bytes()
        self._seed_host()
        began = time.perf_counter()
        self._workload = get_suite(self._config.suite_name).build(self._request())
        self._single["load_time_s"] = time.perf_counter() - began
        self._runtime = self._backend.open(self._config, self._settings.device_index)
        self._single["runtime_start_s"] = self._runtime.start_s
        if self._config.pure_wall_time and self._runtime.timer() is None:
            raise RuntimeError("--pure-wall-time: this device has no timing events")
        steps.cast(self._workload, self._config)
        self._inputs = Inputs(self._workload, self._config, self._settings.seed)
        self._runtime.place(self._workload)
        self._resident_step = self._step = self._make_step()
        if self._config.include_transfers:
            self._step = steps.with_transfers(self._step, self._runtime)
        self._runtime.after_iteration()
        self._runtime.after_block()
        return Loaded(
            batch_size=self._workload.batch_size,
            loss=self._workload.loss_name if self._config.test == "train" else None,
            threads=torch.get_num_threads(),
            variables=effective_variables() | precision,
            warnings=[*self._workload.notes, *self._other_batch()],
            weights=self._workload.weights,
            policy=self._policy,
        )

    def _other_batch(self) -> list[str]:
        """Say where the model does not take the batch size that was asked for."""
        asked, has = self._batch_size, self._workload.batch_size
        if asked is None or has is None or asked == has:
            return []
        return [f"a batch of {asked} was asked for; this model keeps its own of {has}"]

    def _make_step(self) -> Callable[..., Any]:
        """Return the step as the backend runs it."""
        workload, config = self._workload, self._config
        if workload.own_step is None:
            return self._backend.compile(steps.make_step(workload, config, self._runtime.device), config)
        own = workload.own_step(workload, config.test, self._runtime, lambda call: self._backend.compile(call, config))
        self._own_step = own
        return own

    @property
    def first_phase(self) -> Phase:
        """Say what the first block is: compilation, or under eager the begin of the warm-up."""
        return "compile" if self._config.xla or self._config.dynamo else "warmup"

    def first(self) -> None:
        """Take the first block; it contains the compilation."""
        collect.watch(self._config)
        self._single["start_time_s"] = time.monotonic() - self._requested_at
        self._samples.add(self._block(), "first", 0)

    @property
    def begun(self) -> bool:
        return bool(self._samples.blocks)

    def exactly(self, blocks: int) -> WarmedUp:
        """Take `blocks` blocks in all and label the steady ones afterwards."""
        while len(self._samples.blocks) < blocks:
            self._loop_longer()
            self._samples.add(self._block(), "warmup", 0)
        start = steady_start(self._samples.times, self._samples.changes, self._settings.steady_blocks)
        if start is not None:
            self._samples.kinds[start:] = ["steady"] * (len(self._samples.kinds) - start)
        facts = None
        if start is not None:
            self._turn_blocks = [range(start, len(self._samples.blocks))]
            facts = self._facts([])
        return WarmedUp(steady=start is not None, blocks=len(self._samples.blocks), facts=facts)

    def warm_up(self) -> WarmedUp:
        """Take blocks until they are steady, or as many as the bound allows since the last spoilt turn."""
        settings = self._settings
        bound = max(len(self._samples.blocks), 1) + settings.warmup_max - 1
        while self._loop_longer() or not self._is_steady():
            if len(self._samples.blocks) >= bound or self._spoilt_turns >= MAX_SPOILT_TURNS:
                return WarmedUp(steady=False, blocks=len(self._samples.blocks))
            self._samples.add(self._block(), "warmup", 0)
        self._note_setup_peak()
        memory.reset_peak()
        self._runtime.memory_reset()
        self._peak_is_steady = True
        return WarmedUp(steady=True, blocks=len(self._samples.blocks))

    def _loop_longer(self) -> bool:
        """Repeat the iterations more often where a block of now was too short for the clock; say whether one was."""
        least = self._workload.least_block_s
        now = [block.total_s for block in self._samples.blocks if block.inner_loops == self._inner_loops]
        short = bool(now) and min(now) * self._inner_loops < least and self._inner_loops < MAX_INNER_LOOPS
        if short:
            # Half again as long, so that a block that is faster than most is long enough, too.
            wanted = math.ceil(1.5 * least / max(min(now), least / MAX_INNER_LOOPS))
            self._inner_loops = min(max(wanted, self._inner_loops + 1), MAX_INNER_LOOPS)
        return short

    def turn(self, command: Turn) -> TurnDone:
        """Take timed blocks; where a compilation falls among them, they were no steady state."""
        self.label(command.disturbed)
        self._loop_longer()
        probes = [self._probe.take()] if self._settings.quiet else []
        began, taken = time.perf_counter(), 0
        changed = self._rewarm(command.rewarm) if command.rewarm else 0
        first = len(self._samples.blocks)
        while taken < command.blocks and not changed:
            block = self._block()
            self._samples.add(block, "steady", command.round)
            taken, changed = taken + 1, block.changes
        self._turns.took(taken, time.perf_counter() - began)
        probes += [self._probe.take()] if self._settings.quiet else []
        self._turn_blocks.append(range(first, len(self._samples.blocks)))
        if changed:
            self._turn_blocks = []
            self._samples.spoil_steady()
            self._spoilt_turns += 1
            self._turns.spoilt()
        enough = self._turns.enough(self._steady_times)
        return TurnDone(steady=not changed, enough=enough, facts=None if changed else self._facts(probes))

    def label(self, disturbed: Collection[int]) -> None:
        """Label the blocks of the turns that the scheduler has found to be disturbed."""
        if self._turn_blocks and self._settings.quiet:
            self._turns.blocks = self._samples.label(self._turn_blocks, disturbed)

    def _facts(self, probes: list[Probed]) -> TurnFacts:
        """Tell what the last turn met."""
        blocks = [self._samples.blocks[index] for index in self._turn_blocks[-1]]
        known = [block.wait_s for block in blocks if block.wait_s is not None]
        return TurnFacts(
            blocks=len(blocks),
            seconds=sum(block.spent_s for block in blocks),
            wait_s=sum(known) if len(known) == len(blocks) else None,
            probes=probes,
        )

    def _steady_times(self) -> list[float]:
        return [block.total_s for block in self._samples.of_kind("steady")]

    def _rewarm(self, least: int) -> int:
        """Take blocks that are timed apart, until caches and clocks are back; return compilations among them."""
        import torch

        seconds = ACCELERATORS[self._config.accelerator].rewarm_s
        times: list[float] = []
        changes = 0
        spent = 0.0
        while len(times) < least or (spent < seconds and len(times) < MAX_REWARM_BLOCKS):
            block = self._block()
            if not times and self._spins and self._policy != LIBRARIES:
                spread(torch.get_num_threads(), self._probe.cores)
            times.append(block.total_s)
            spent += block.spent_s
            changes += block.changes
        self._rewarm_times += times
        return changes

    @property
    def _spins(self) -> bool:
        """Say whether the threads that compute spin while they wait for each other; those of XLA's pool sleep."""
        return self._config.accelerator == "cpu" and not self._runtime.is_xla

    def pause(self) -> None:
        """Get ready to be stopped for as long as it may take; say what might keep others waiting meanwhile."""
        self._runtime.after_block()
        held = pausing.settle()
        if held:
            self._warnings.append(f"stopped while it held {held} file locks: others may have waited for them")

    def report(self, *, finished: bool = False) -> Report:
        """Return everything measured so far; usable after a failure too.

        `finished` says that nothing is measured any more, so that one more iteration may look at the graphs.
        """
        samples = self._samples
        if not self._peak_is_steady:
            # Nobody has reset the high-water mark: it is that of set-up and compilation, whatever came after.
            self._note_setup_peak()
        elif samples.of_kind(*IN_STEADY_STATE):
            self._single["peak_memory_bytes"] = self._peak_bytes()
        self._add_compile_times()
        metrics: dict[str, Any] = dict(samples.metrics())
        if self._settings.collect_dynamo_counters:
            metrics["dynamo_counters"] = [dynamo.counters()]
        metrics |= {key: [float(value)] for key, value in self._single.items()}
        fallback_ops = fallbacks.summarize(samples)
        if finished and self._own_step is not None:
            metrics[FLOOR] = [self._floor(self._own_step)]
            metrics[INPUT_BYTES] = [float(self._own_step.input_bytes)]
        if finished and self._results_file is not None:
            self._keep_results(self._results_file)
        found = self._look([each.op for each in fallback_ops]) if finished else afterwards.Findings()
        return Report(
            metrics=metrics,
            kinds=samples.kinds,
            compiles=samples.compiles,
            executions=[block.executions for block in samples.blocks],
            rounds=samples.rounds,
            fallback_ops=fallbacks.with_call_sites(fallback_ops, found.call_sites),
            graph_breaks=dynamo.graph_breaks() if self._config.dynamo else [],
            warnings=[*self._warnings, *found.warnings, *compiler_caches.warnings(self._config)],
            invalid=self._invalid(),
            graphs=found.graphs,
            rewarm_times=self._rewarm_times,
            until=self._turns.reached(self._steady_times()),
            waits=[block.wait_s for block in samples.blocks],
            waits_all=[block.wait_all_s for block in samples.blocks],
            inner_loops=samples.inner_loops,
            replacements=self._runtime.replacements(),
        )

    def _floor(self, step: OwnStep) -> float:
        """Return seconds of an iteration that has nothing to compute: the median of some blocks of the same form."""
        count = self._settings.iterations_per_run * self._inner_loops
        times = []
        for _ in range(FLOOR_BLOCKS):
            began = time.perf_counter()
            for _ in range(count):
                step.empty()
            self._runtime.after_block()
            times.append((time.perf_counter() - began) / count)
        return statistics.median(times)

    def _look(self, ops: list[str]) -> afterwards.Findings:
        return afterwards.look(self._config, self._workload.module, self._once, ops)

    def _keep_results(self, path: str) -> None:
        """Leave the results of one more iteration to the verification."""
        try:
            output = self._once()
            self._runtime.after_iteration()
            self._runtime.after_block()
            afterwards.keep_results(path, self._runtime.to_host(output), self._config)
        except Exception as error:  # noqa: BLE001 - the measurement stands without it
            self._warnings.append(f"the results of this process are not kept: {type(error).__name__}: {error}"[:300])

    def _once(self) -> Any:
        """Run one iteration that nobody times; it is not synchronised."""
        import torch

        inputs = steps.fresh_inputs(self._workload, 1)
        self._seed_host()
        self._runtime.seed(self._settings.seed)
        once = self._resident_step if self._own_step is None else self._own_step.uncut
        with torch.set_grad_enabled(self._config.test == "train"):
            return once(*inputs[0])

    def _request(self) -> BuildRequest:
        return BuildRequest(
            model_name=self._config.model_name,
            test=self._config.test,
            accelerator=self._config.accelerator,
            batch_size=self._batch_size,
            seed=self._settings.seed,
            loss=self._config.loss,
            weights=self._config.weights,
            operator=self._config.operator,
            context=local_context(self._torchbench_dir, self._own),
        )

    def _seed_host(self) -> None:
        import numpy as np
        import torch

        random.seed(self._settings.seed)
        np.random.seed(self._settings.seed)  # noqa: NPY002 - models draw from the global stream
        torch.manual_seed(self._settings.seed)

    def _block(self) -> Block:
        """Take a timed block; its inputs and random streams are prepared before the clock."""
        runtime, loops = self._runtime, self._inner_loops
        inputs = self._inputs.fresh(self._settings.iterations_per_run * loops, runtime)
        self._seed_host()
        runtime.seed(self._settings.seed)
        before, calls = runtime.counters(), runtime.fallback_calls()
        seconds, transfers = self._xla_seconds(), runtime.transfers()
        waits = self._waits.read()
        total, trace = self._timed(inputs)
        waited = self._waits.between(waits, self._waits.read())
        happened = difference(before, runtime.counters())
        compile_s, execute_s = (new - old for old, new in zip(seconds, self._xla_seconds(), strict=True))
        alone = self._own_step.take_seconds() if self._own_step else {}
        phases = {name: value * self._settings.iterations_per_run for name, value in alone.items()}
        return Block(
            total_s=sum(phases.values()) if phases else total / loops,
            # A step that cuts itself returns when its graph has been launched, or has run.
            trace_s=trace / loops if runtime.is_xla and self._own_step is None else None,
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
        )

    @property
    def runtime(self) -> Runtime:
        """Return the device side, once the model is loaded."""
        return self._runtime

    @property
    def module(self) -> Any:
        """Return the model, once it is loaded."""
        return self._workload.module

    @property
    def test(self) -> str:
        """Return what is measured: `eval` or `train`."""
        return self._config.test

    def inputs(self, count: int) -> list[Any]:
        """Return inputs of iterations as blocks get them."""
        return self._inputs.fresh(count, self._runtime)

    def take(self, inputs: list[Any]) -> tuple[float, Any]:
        """Time iterations as a block's are; return seconds and the last output, which nobody has touched since."""
        self._seed_host()
        self._runtime.seed(self._settings.seed)
        kept: list[Any] = []
        seconds, _ = self._timed(inputs, kept)
        return seconds, kept[0]

    def _timed(self, inputs: list[Any], kept: list[Any] | None = None) -> tuple[float, float]:
        """Return seconds of all iterations together, and of their steps until they returned; keep the last output."""
        import torch

        runtime, step = self._runtime, self._step
        timer = runtime.timer() if self._config.pure_wall_time else None
        if timer is not None:
            step = steps.between_events(step, timer)
        trace = 0.0
        output: Any = None
        with torch.set_grad_enabled(self._config.test == "train"):
            began = time.perf_counter()
            for args, kwargs in inputs:
                traced = time.perf_counter()
                # The result stays referenced until it is materialised; dropped earlier, lazy XLA computes nothing.
                output = step(args, kwargs)
                trace += time.perf_counter() - traced
                if self._own_step is None:
                    runtime.after_iteration()
            runtime.after_block()
            total = time.perf_counter() - began
        if kept is not None:
            kept.append(output)
        del output
        return (total if timer is None else timer.seconds()), trace

    def _xla_seconds(self) -> tuple[float, float]:
        metric = getattr(self._runtime, "metric", None)
        return (metric("CompileTime")[1], metric("ExecuteTime")[1]) if metric else (0.0, 0.0)

    def _is_steady(self) -> bool:
        settings = self._settings
        return is_steady(self._samples.times, self._samples.changes, settings.warmup_min, settings.steady_blocks)

    def _note_setup_peak(self) -> None:
        """Keep the peak so far; a second warm-up after a spoilt turn cannot lower it."""
        key = "setup_peak_memory_bytes"
        self._single[key] = max(self._single.get(key, 0.0), self._peak_bytes())

    def _peak_bytes(self) -> float:
        device = self._runtime.memory_peak_bytes()
        return float(device if device is not None else max(0, memory.peak_bytes() - self._base_bytes))

    def _add_compile_times(self) -> None:
        if not self._config.dynamo:
            return
        seconds, graphs = dynamo.compile_time_s(), dynamo.graphs()
        if seconds is not None:
            self._single["dynamo_compile_time_s"] = seconds
        if graphs is not None:
            self._single["graphs_number"] = graphs

    def _invalid(self) -> str | None:
        steady = self._samples.of_kind(*IN_STEADY_STATE)
        if not steady:
            return None
        wanted = self._settings.iterations_per_run
        # A single operator that falls back is computed by the host: no program, and yet its time.
        judged = [block for block in steady if not (self._own_step and block.fallback_calls)]
        if any(block.executions is not None and block.executions < wanted for block in judged):
            least = min(block.executions or 0 for block in judged)
            return f"a steady block of {wanted} iterations executed {least} programs: nothing was computed"
        return self._backend.invalid()


def effective_variables() -> dict[str, str]:
    """Return the environment variables that change timing, as this process sees them."""
    values = {key: value for key, value in os.environ.items() if key.startswith(EFFECTIVE_PREFIXES)}
    return dict(sorted(values.items())) | {"platform": platform.platform()}
