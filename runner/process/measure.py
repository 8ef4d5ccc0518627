"""Measure one experiment inside its process: load, warm up, take turns, report."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Collection
from typing import Any

import msgspec

from runner.accelerators import ACCELERATORS
from runner.backends import dynamo, steps
from runner.failure import storable
from runner.graphs import collect
from runner.messages import Load, Loaded, Probed, ProcessReport, Turn, TurnDone, TurnFacts, WarmedUp
from runner.process import own_process, timed_results, timed_step
from runner.process.cores import LEAST_BUSY_S, CoreBinding
from runner.process.own_process import LIBRARIES, raise_priority, with_variables
from runner.process.probes import Probe, ThreadsProbe
from runner.process.samples import IN_STEADY_STATE, Samples, TurnBudget, is_steady, steady_start
from runner.process.timed_step import TimedStep
from store import advice
from store.errors import counted
from store.operators import FLOOR, INPUT_BYTES
from store.record import Finding, Phase

EFFECTIVE_PREFIXES = (
    *("OMP_", "GOMP_", "KMP_", "MKL_", "XLA_", "PJRT_", "TORCHINDUCTOR_", "TRITON_", "TORCHDYNAMO_"),
    *("TORCH_COMPILE", "CUDA_VIS", "JAX_", "ATEN_", "ONEDNN_", "DNNL_", "NPROC", "OPENBLAS_"),
    *("CUDA_LAUNCH_", "NVIDIA_TF32_", "PYTORCH_ALLOC_", "PYTORCH_CUDA_", "PYTORCH_NO_"),
    *("GLIBC_TUNABLES", "LD_PRELOAD", "MALLOC_"),
)
"""Beginnings of the names of variables that change times; a record holds them, and its policy those that are not
`NEUTRAL`."""


MAX_REWARM_BLOCKS = 100
"""Where blocks are so short that their time hardly adds up, they are done soon in number."""
MAX_INNER_LOOPS = 100_000
"""Limit for iterations that do nothing: their time is that of the loop."""
MAX_SPOILT_TURNS = 3
"""A program that compiled within this many turns has no steady state."""


class ExperimentMeasurement:
    """The measurement of one experiment in its process; its methods answer the scheduler's messages in their order."""

    def __init__(self, command: Load) -> None:
        self._config = command.config
        self._settings = command.settings
        self._requested_at = command.requested_at
        self._samples = Samples(command.settings.iterations_per_run)
        self._single: dict[str, float] = {}
        self._warnings: list[str] = []
        self.timed = TimedStep(command)
        """The model under its backend, and the clock."""
        self._results_file = command.results
        self._base_bytes = 0
        self._in_effect = 0, ""
        """The number of threads and the precision of float32 products once the model is loaded."""
        self._values_set: list[set[Any]] = [set(), set()]
        """Values that an iteration has set either of them to since then, also if it restored what it found."""
        self._spoilt_turns = 0
        self._turns = TurnBudget(command.settings)
        self._peak_is_steady = False
        self._rewarm_times: list[float] = []
        self._inner_loops = 1
        self._probe, self._threads_probe = Probe(), ThreadsProbe()
        self._binding = CoreBinding(self._probe.cores)
        self._turn_blocks: list[range] = []
        """Indices of the blocks of each turn since the warm-up."""
        # Before the first thread is made, as each inherits it.
        self._priority = raise_priority() if command.settings.raise_priority else LIBRARIES
        # Before the model's code, which can set variables that have no effect any more.
        self._policy = with_variables(self._priority, effective_variables())

    def load(self) -> Loaded:
        """Build the model, start the runtime, move the model there, wrap its step."""
        import torch

        if self._settings.threads:
            torch.set_num_threads(self._settings.threads)
        steps.set_precision(self._config)
        threads = torch.get_num_threads()
        dynamo.forget()
        own_process.reset_peak()
        self._base_bytes = own_process.resident_bytes()
        # Before the model's code, which may import the functions by name.
        self._values_set = [
            own_process.values_set(name) for name in ("set_num_threads", "set_float32_matmul_precision")
        ]
        self.timed.load(self._single)
        precision, changed = self._restore_settings(threads)
        self._in_effect = torch.get_num_threads(), torch.get_float32_matmul_precision()
        for values in self._values_set:
            values.clear()
        workload = self.timed.workload
        return Loaded(
            batch_size=workload.batch_size,
            loss=workload.loss_name if self._config.test == "train" else None,
            threads=torch.get_num_threads(),
            variables=effective_variables() | precision,
            warnings=[*workload.notes, *self.timed.other_batch(), *changed, *self._threads_of_xla()],
            weights=workload.weights,
            policy=self._policy,
        )

    def _threads_of_xla(self) -> list[str]:
        """Say where the user's `NPROC`, which torch ignores, gives XLA's CPU client another number of threads."""
        number, threads = os.environ.get("NPROC"), self._in_effect[0]
        of_xla = self._config.accelerator == "cpu" and (self._config.xla or self._config.torch_xla2)
        if not of_xla or number in (None, "", str(threads)):
            return []
        return [f"NPROC gives XLA {number} threads, but torch has {threads}; --threads gives both the same number"]

    def _restore_settings(self, threads: int) -> tuple[dict[str, str], list[str]]:
        """Undo what the model's code has set for the whole process; return the precision in effect, and what it was.

        The code runs under each backend, but not each backend obeys it: with one thread, XLA would keep its own number.
        """
        import torch

        changed = []
        if (cores := self.timed.cores_of_source) is not None:
            bound = f"the model's code bound the process to {counted(cores, 'core')}"
            changed.append(f"{bound}, but was measured with {len(self._probe.cores)}")
        if (theirs := torch.get_num_threads()) != threads:
            torch.set_num_threads(threads)
            changed.append(f"the model's code set {theirs} threads, but was measured with {threads}; --threads decides")
        had = torch.get_float32_matmul_precision()
        precision = steps.set_precision(self._config)
        if had != (ours := torch.get_float32_matmul_precision()):
            changed.append(
                f"the model's code set the precision of float32 products to {had}, but was measured with {ours}; "
                "--matmul-precision decides"
            )
        return precision, changed

    def _changed_by_steps(self) -> list[Finding]:
        """Find the settings that an iteration of the model has changed: the record holds those that it began with."""
        import torch

        threads, precision = self._in_effect
        now = torch.get_num_threads(), torch.get_float32_matmul_precision()
        other_threads, other_precisions = (
            sorted({*values, value} - {before}, key=str)
            for values, value, before in zip(self._values_set, now, self._in_effect, strict=True)
        )
        changed: list[tuple[str, int | str, str]] = []
        if (cores := os.sched_getaffinity(0)) != self._binding.of_this_thread():
            bound = f"bound the process to {counted(len(cores), 'core')}"
            changed.append((bound, len(self._probe.cores), "all backends use the same"))
        if other_threads:
            changed.append((f"set {other_threads[0]} threads", threads, "--threads decides"))
        if other_precisions:
            products = f"set the precision of float32 products to {other_precisions[0]}"
            changed.append((products, precision, "--matmul-precision decides"))
        return [advice.finding("changed_settings", what=a, wanted=b, aim=c) for a, b, c in changed]

    @property
    def first_phase(self) -> Phase:
        """Return the phase of the first block: compilation, or under eager the begin of the warm-up."""
        return "compile" if self._config.xla or self._config.dynamo else "warmup"

    def first(self) -> None:
        """Take the first block; it contains the compilation."""
        collect.watch(self._config)
        self._single["start_time_s"] = time.monotonic() - self._requested_at
        self._samples.add(self.timed.block(self._inner_loops), "first", 0)

    @property
    def has_begun(self) -> bool:
        return bool(self._samples.blocks)

    def exactly(self, blocks: int) -> WarmedUp:
        """Take `blocks` blocks in all and label the steady ones afterwards."""
        while len(self._samples.blocks) < blocks:
            self._loop_longer()
            self._samples.add(self.timed.block(self._inner_loops), "warmup", 0)
        start = steady_start(self._samples.times, self._samples.changes, self._settings.steady_blocks)
        facts = None
        if start is not None:
            self._samples.kinds[start:] = ["steady"] * (len(self._samples.kinds) - start)
            self._turn_blocks = [range(start, len(self._samples.blocks))]
            facts = self._facts([])
        return WarmedUp(steady=start is not None, blocks=len(self._samples.blocks), facts=facts)

    def warm_up(self) -> WarmedUp:
        """Take blocks until they are steady, or as many as the bound allows since the last spoilt turn."""
        settings = self._settings
        bound = max(len(self._samples.blocks), 1) + settings.warmup_max - 1
        window = settings.warmup_min, settings.steady_blocks
        while self._loop_longer() or not is_steady(self._samples.times, self._samples.changes, *window):
            if len(self._samples.blocks) >= bound or self._spoilt_turns >= MAX_SPOILT_TURNS:
                return WarmedUp(steady=False, blocks=len(self._samples.blocks))
            self._samples.add(self.timed.block(self._inner_loops), "warmup", 0)
        self._note_setup_peak()
        own_process.reset_peak()
        self.timed.runtime.memory_reset()
        self._peak_is_steady = True
        return WarmedUp(steady=True, blocks=len(self._samples.blocks))

    def _loop_longer(self) -> bool:
        """Repeat the iterations more often where a block of now was too short for the clock; say whether one was."""
        least = self.timed.workload.least_block_s
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
        threads_probe_s = self._threads_probe_s(command) if self._settings.quiet else None
        began, taken = time.perf_counter(), 0
        changed = self._rewarm(command.rewarm, stopped=command.stopped) if command.rewarm else 0
        first = len(self._samples.blocks)
        while taken < command.blocks and not changed:
            block = self.timed.block(self._inner_loops)
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
        return TurnDone(
            steady=not changed, enough=enough, facts=None if changed else self._facts(probes, threads_probe_s)
        )

    def _threads_probe_s(self, command: Turn) -> float | None:
        """Return seconds of the work on all threads; None where the iterations need one thread only, as on a GPU."""
        if self._config.accelerator != "cpu":
            return None
        return self._threads_probe.take(rest=not (command.stopped and command.rewarm))

    def label(self, disturbed: Collection[int]) -> None:
        """Label the blocks of the turns that the scheduler has found to be disturbed."""
        if self._turn_blocks and self._settings.quiet:
            self._turns.blocks = self._samples.label(self._turn_blocks, disturbed)

    def _facts(self, probes: list[Probed], threads_probe_s: float | None = None) -> TurnFacts:
        """Return the facts by which the last turn is judged."""
        blocks = [self._samples.blocks[index] for index in self._turn_blocks[-1]]
        known = [block for block in blocks if block.wait_s is not None]
        complete = len(known) == len(blocks)
        return TurnFacts(
            blocks=len(blocks),
            seconds=sum(block.spent_s for block in blocks),
            wait_s=sum(block.wait_s or 0.0 for block in known) if complete else None,
            probes=probes,
            threads_probe_s=threads_probe_s,
            dispatched=sum(block.dispatched or 0 for block in known) if complete else None,
            bound=self._binding.holds(),
        )

    def _steady_times(self) -> list[float]:
        return [block.total_s for block in self._samples.of_kind("steady")]

    def _rewarm(self, least: int, *, stopped: bool) -> int:
        """Take blocks that are timed apart, until caches and clocks are back; return compilations among them."""
        import torch

        seconds = ACCELERATORS[self._config.accelerator].rewarm_s
        if not stopped and self._samples.blocks[-1].spent_s >= seconds:
            return 0
        times: list[float] = []
        changes = 0
        spent = 0.0
        to_bind = self._config.accelerator == "cpu" and self._priority != LIBRARIES
        self._binding.begin()
        while len(times) < least or (spent < seconds and len(times) < MAX_REWARM_BLOCKS):
            block = self.timed.block(self._inner_loops)
            times.append(block.total_s)
            spent += block.spent_s
            changes += block.changes
            if to_bind and spent >= LEAST_BUSY_S:
                self._binding.bind(torch.get_num_threads())
                to_bind = False
        self._rewarm_times += times
        return changes

    def pause(self) -> None:
        """Prepare to be stopped for any time; warn about file locks that would keep other processes waiting."""
        self.timed.runtime.after_block()
        held = own_process.settle()
        if held:
            self._warnings.append(
                f"the process was stopped while it held {held} file locks; other processes may have waited for them"
            )

    def report(self, *, finished: bool = False) -> ProcessReport:
        """Return everything measured so far; usable after a failure too.

        `finished` says that nothing is measured any more. No iteration runs here: a hanging one would cost the times.
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
        changed = self._changed_by_steps()  # before anything else runs in this process
        limits = dynamo.limits_reached() if self._config.dynamo else []
        breaks = dynamo.graph_breaks() if self._config.dynamo else []
        if finished and self.timed.own_step is not None:
            metrics[FLOOR] = [self.timed.floor(self.timed.own_step, self._inner_loops)]
            metrics[INPUT_BYTES] = [float(self.timed.own_step.input_bytes)]
        return ProcessReport(
            metrics=metrics,
            blocks=samples.of_record(self._rewarm_times),
            fallback_ops=timed_step.summarize_fallbacks(samples),
            graph_breaks=breaks,
            warnings=[*self._warnings, *limits, *steps.warnings(self._config)],
            findings=changed,
            invalid=self._invalid(),
            until=self._turns.reached(self._steady_times()),
            replacements=self.timed.runtime.replacements(),
        )

    def examine(self, report: ProcessReport) -> ProcessReport:
        """Return the report with what further iterations show; they leave their results for the verification."""
        path = self._results_file
        warnings = timed_results.keep(path, self.timed, self._config) if path is not None else []
        ops = [op.op for op in report.fallback_ops]
        findings = timed_step.find(self._config, self.timed.workload.module, self.timed.once, ops)
        return msgspec.structs.replace(
            report,
            fallback_ops=[
                msgspec.structs.replace(op, call_site=findings.call_sites.get(op.op)) for op in report.fallback_ops
            ],
            graphs=findings.graphs,
            warnings=[*report.warnings, *warnings, *findings.warnings],
        )

    def _note_setup_peak(self) -> None:
        """Keep the peak so far; a second warm-up after a spoilt turn cannot lower it."""
        key = "setup_peak_memory_bytes"
        self._single[key] = max(self._single.get(key, 0.0), self._peak_bytes())

    def _peak_bytes(self) -> float:
        device = self.timed.runtime.memory_peak_bytes()
        return float(device if device is not None else max(0, own_process.peak_bytes() - self._base_bytes))

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
        judged = [block for block in steady if not (self.timed.own_step and block.fallback_calls)]
        if any(block.executions is not None and block.executions < wanted for block in judged):
            least = min(block.executions or 0 for block in judged)
            return f"a steady block of {wanted} iterations executed {least} programs: nothing was computed"
        return self.timed.backend.invalid()


def effective_variables() -> dict[str, str]:
    """Return the environment variables that change timing, as this process sees them."""
    values = {storable(key): storable(value) for key, value in os.environ.items() if key.startswith(EFFECTIVE_PREFIXES)}
    return dict(sorted(values.items())) | {"platform": platform.platform()}
