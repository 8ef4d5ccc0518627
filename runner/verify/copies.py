"""Run one freshly built copy of the model and bring its results to the host."""

from __future__ import annotations

import contextlib
import gc
import time
import traceback
import zlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import torch
from torch.utils import _pytree as pytree

from runner.backends import backend_of, steps
from runner.messages import Load
from runner.suites import get_suite
from runner.suites.base import BuildRequest, local_context
from runner.verify.leaves import INPUT_GRADIENT, gradient_of, identical, leaves, trained, weights_and_buffers
from runner.verify.preparation import (
    disturb,
    joined,
    make_deterministic,
    others,
    perturb,
    random_state,
    same_state,
    split_batch,
    without_dropout,
)
from runner.verify.tables import Criteria
from runner.workload import Runtime, Workload
from store.errors import Signal
from store.record import ExperimentConfig


class NotBuilt(Signal):
    """The suite could not build the model; the cause says why."""


@dataclass(frozen=True, kw_only=True)
class ComparedSize:
    """How much of an experiment is compared."""

    batch_size: int | None
    """Batch size requested from the suite; None: the suite's own."""
    iterations: int
    most: int | None = None
    """Samples at most, whatever the suite's own batch size is."""


@dataclass(kw_only=True)
class Results:
    """What one copy gave; nothing of the copy itself stays."""

    leaves: list[dict[str, Any]]
    """Results of each iteration; a tensor that an iteration returns twice is the same object."""
    batch_size: int | None
    draws: bool
    """It drew random numbers, which other devices and compilers draw from other streams."""
    seconds: list[float]
    """Seconds of each iteration."""
    dropout: bool = False
    """Dropout was taken out of the model."""
    disturbed: str | None = None
    initial: dict[str, Any] = field(default_factory=dict)
    """Weights and buffers before the first iteration, of eager's first run in train."""
    other: dict[str, Any] = field(default_factory=dict)
    """Results of one more iteration, with other inputs; none if it was not asked for or failed."""
    notes: list[str] = field(default_factory=list)
    contents: dict[str, int] | None = None
    """Checksums of weights, buffers and inputs before the first iteration; None if they were not asked for, or one has
    none."""

    @property
    def stateless(self) -> bool:
        """Return whether all iterations gave the same results, so that one iteration of another copy suffices."""
        first = self.leaves[0]
        return all(leaf is first.get(name) for later in self.leaves[1:] for name, leaf in later.items())


@dataclass(kw_only=True)
class Copies:
    """Makes and runs the copies of one experiment, one at a time."""

    load: Load
    criteria: Criteria
    runtime: Runtime
    """The backend's. Opened before anything runs: autograd counts its devices at the first backward pass, and an XLA
    device that appears later can run none."""
    size: ComparedSize
    timed_batch_size: int | None = None
    """What an iteration of the timed process holds, known from the first build on."""
    written: set[str] | None = None
    """What eager writes into besides its results: inputs, buffers, weights; known from its first run on."""
    changed: frozenset[str] = frozenset()
    """What eager's first run has changed when it ends."""

    def eager(
        self,
        *,
        disturbed: bool = False,
        reseeded: bool = False,
        parts_n: int = 1,
        once: bool = False,
        only_other: bool = False,
        identified: bool = False,
    ) -> Results:
        """Run the model eagerly on the accelerator, on the CPU where that has no eager mode.

        Args:
            once: one iteration.
            disturbed: one iteration with other weights and inputs.
            reseeded: with the same weights and inputs, and other random numbers in the iterations.
            parts_n: one iteration, in so many parts of the batch.
            only_other: one iteration, with other inputs.
            identified: the results say of which weights, buffers and inputs they are.
        """
        iterations = 1 if disturbed or once or only_other or parts_n > 1 else None
        how = {"disturbed": disturbed, "shift": int(reseeded), "parts_n": parts_n, "only_other": only_other}
        how["identified"] = identified
        return self._run(self.eager_config(), self._eager_runtime(), iterations=iterations, **how)

    def double(
        self, parts_n: int = 1, *, once: bool = False, perturbation_seed: int | None = None, rounding: float = 0.0
    ) -> Results:
        """Run it eagerly in float64, from the same float32 weights.

        Args:
            parts_n: one iteration, in so many parts of the batch.
            once: one iteration.
            perturbation_seed: the seed by which weights and inputs are changed by rounding; None: they are not.
            rounding: the relative size of these changes; 0: some roundings of float32.
        """
        config = msgspec.structs.replace(self.eager_config(), dtype="float64")
        iterations = 1 if once or parts_n > 1 else None
        how = {"parts_n": parts_n, "perturbation_seed": perturbation_seed, "rounding": rounding}
        return self._run(config, self._eager_runtime(), iterations=iterations, **how)

    def backend(self) -> Results:
        return self._run(self.load.config, self.runtime, other=True)

    def is_eager(self) -> bool:
        """Say whether the backend is eager in the configuration of eager's copies: its copy would be one of them."""
        return self.load.config == self.eager_config()

    def backend_with_predictions(self) -> Results:
        """Run one iteration of training whose step returns what the model predicts, too: no program that is timed."""
        return self._run(_with_predictions(self.load.config), self.runtime, iterations=1)

    def judges_predictions(self) -> bool:
        """Say whether predictions of training are compared, too: in the loss of many samples one of them is lost."""
        config, samples = self.load.config, self.size.batch_size or self.timed_batch_size
        lost = samples is None or samples > self.criteria.most_samples
        return config.test == "train" and not config.collect_full_output and lost

    def _eager_runtime(self) -> Runtime:
        return backend_of(None, None).open(self.eager_config(), self.load.settings.device_index)

    def eager_config(self) -> ExperimentConfig:
        """Return the configuration of eager's copies, which is that of all backends alike."""
        config = self.load.config
        config = _with_predictions(config) if config.test == "train" else config
        accelerator = "cpu" if config.accelerator == "tpu" else config.accelerator
        return msgspec.structs.replace(config, xla=None, dynamo=None, torch_xla2=None, accelerator=accelerator)

    def _run(self, config: ExperimentConfig, runtime: Runtime, **how: Any) -> Results:
        try:
            return self._run_copy(config, runtime, **how)
        except Exception as error:
            # Whoever handles it may run another copy, for which the traceback would leave too little memory.
            traceback.clear_frames(error.__traceback__)
            raise
        finally:  # what it held is given back before the next one is built
            if config.dynamo:
                torch._dynamo.reset()  # noqa: SLF001 - dynamo has no public reset
            gc.collect()
            if config.accelerator in ("cuda", "xpu") and not config.xla:
                getattr(torch, config.accelerator).empty_cache()

    def _run_copy(
        self,
        config: ExperimentConfig,
        runtime: Runtime,
        *,
        iterations: int | None = None,
        disturbed: bool = False,
        shift: int = 0,
        parts_n: int = 1,
        perturbation_seed: int | None = None,
        rounding: float = 0.0,
        other: bool = False,
        only_other: bool = False,
        identified: bool = False,
    ) -> Results:
        backend = backend_of(config.xla, config.dynamo, config.torch_xla2)
        workload = self._build()
        dropout = config.test == "train" and without_dropout(workload.module)
        what = disturb(workload, self.load.settings.seed) if disturbed else None
        steps.cast(workload, config)
        if perturbation_seed is not None:
            perturb(workload, perturbation_seed, rounding)
        runtime.place(workload)
        contents = _contents_of(workload) if identified else None
        step = backend.compile(steps.make_step(workload, config, runtime.device), config)
        count = iterations or self.size.iterations
        predicts = config.collect_full_output and not self.load.config.collect_full_output
        results: list[dict[str, Any]] = []
        draws, seconds = False, []
        # Compiled code can write without a trace in a tensor's version.
        eagers = self.written is None
        watched = eagers or config.xla or config.dynamo or config.torch_xla2
        kept = _contents(_states_of_module(workload, config)) if watched else {}
        begins = eagers and config.test == "train"
        initial = weights_and_buffers(workload.module, stepped=_stepped(workload, config)) if begins else {}
        with torch.set_grad_enabled(config.test == "train"):
            for args, kwargs in [_other_inputs(workload)] if only_other else steps.fresh_inputs(workload, count):
                began = time.perf_counter()
                parts = []
                for part in split_batch((args, kwargs), workload.batch_size, parts_n):
                    before, given = _states(workload, part, config), _contents(_states_of_inputs(part))
                    output, drew = _iterate(step, part, runtime, self.load.settings.seed + shift)
                    collected = _collect(workload, output, config, predicts=predicts)
                    after = _states(workload, part, config)
                    if self.written is None:  # The first run of all is eager's.
                        self.written = {name for name, state in after.items() if before.get(name) != state}
                        self.written |= _differing(kept | given, after)
                    collected |= self._states_after(after, config, {*self.written, *_differing(given, after)})
                    parts.append(collected)
                    draws = draws or drew
                results.append(_shared(joined(parts, workload.batch_size), results))
                seconds.append(time.perf_counter() - began)
        states = _states_of_module(workload, config)
        changed = _differing(kept, states)
        if eagers:
            self.changed = frozenset(changed)
        for name in sorted(changed - self.changed - (self.written or set())):
            results[-1] |= leaves(states[name].tensor, name, double=config.dtype == "float64")
        further: dict[str, Any] = {}
        if eagers or other:
            with torch.set_grad_enabled(config.test == "train"), contextlib.suppress(Exception):
                output, _ = _iterate(step, _other_inputs(workload), runtime, self.load.settings.seed + shift)
                further = _collect(workload, output, config, predicts=predicts)
        return Results(
            leaves=results,
            batch_size=workload.batch_size,
            draws=draws,
            seconds=seconds,
            dropout=dropout,
            disturbed=what,
            initial=initial,
            other=further,
            notes=[note] if (note := backend.invalid()) else [],
            contents=contents,
        )

    def _states_after(self, states: dict[str, _State], config: ExperimentConfig, written: set[str]) -> dict[str, Any]:
        """Return what an iteration leaves besides its results: what is written into, and gradients of inputs."""
        left = {name: state.tensor for name, state in states.items() if name in written}
        if config.test == "train":
            left |= {
                f"{INPUT_GRADIENT}{name.removeprefix(_INPUT)}": gradient_of(state.tensor)
                for name, state in states.items()
                if name.startswith(_INPUT) and state.tensor.requires_grad
            }
        collected: dict[str, Any] = {}
        for name, tensor in left.items():
            collected |= leaves(tensor, name, double=config.dtype == "float64")
        return collected

    def _build(self) -> Workload:
        """Build with the batch size of the timing, with a smaller one where the size says so."""
        workload = self._build_with(self.size.batch_size)
        if self.timed_batch_size is None:
            self.timed_batch_size = self.load.batch_size or workload.batch_size
        most = self.size.most
        if most is not None and workload.batch_size is not None and workload.batch_size > most:
            del workload
            workload = self._build_with(most)
        return workload

    def _build_with(self, batch_size: int | None) -> Workload:
        from runner.suites.building import seed_everything

        config, directory = self.load.config, self.load.torchbench_dir
        seed_everything(self.load.settings.seed)
        context = local_context(directory, self.load.own)
        request = BuildRequest.of(config, batch_size=batch_size, seed=self.load.settings.seed, context=context)
        try:
            workload = get_suite(config.suite_name).build(request)
        except Exception as error:
            raise NotBuilt from error
        # The model's code may have set its own precision, threads and kernels.
        make_deterministic(config, self.load.settings.threads)
        return workload


def _other_inputs(workload: Workload) -> Any:
    return others((workload.args, workload.kwargs), workload.batch_size)


_INPUT = "input"


class _State(NamedTuple):
    """A tensor that an iteration may write into; two states of it are equal where nothing was written between them."""

    address: int
    version: int
    tensor: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _State) and self[:2] == other[:2]

    def __hash__(self) -> int:
        return hash(self[:2])


def _states(workload: Workload, inputs: Any, config: ExperimentConfig) -> dict[str, _State]:
    return _states_of_inputs(inputs) | _states_of_module(workload, config)


def _states_of_inputs(inputs: Any) -> dict[str, _State]:
    tensors = [leaf for leaf in pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
    return {f"{_INPUT}[{index}]": _state(tensor) for index, tensor in enumerate(tensors)}


def _states_of_module(workload: Workload, config: ExperimentConfig) -> dict[str, _State]:
    """Return the states of weights and buffers, without those that are compared in any case."""
    module, states = workload.module, {}
    if config.test == "eval":
        states = {f"buffer.{name}": _state(buffer) for name, buffer in module.named_buffers()}
    if config.test == "eval" or not _stepped(workload, config):
        states |= {f"param.{name}": _state(parameter) for name, parameter in module.named_parameters()}
    return states


def _state(tensor: Any) -> _State:
    return _State(id(tensor), 0 if tensor.is_inference() else tensor._version, tensor)  # noqa: SLF001 - no other way


def _contents(states: dict[str, _State]) -> dict[str, int]:
    """Return a checksum of the bytes of each tensor; a tensor that is more than its bytes has none."""
    sums = {}
    for name, state in states.items():
        tensor = state.tensor
        plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout is torch.strided
        if plain and not (tensor.is_nested or tensor.is_quantized or tensor.is_meta):
            flat = tensor.detach().cpu().resolve_conj().resolve_neg().reshape(-1)
            sums[name] = zlib.crc32(flat.contiguous().view(torch.uint8).numpy())
    return sums


def _contents_of(workload: Workload) -> dict[str, int] | None:
    """Return a checksum of each weight, buffer and input; None where there is something that has none."""
    inputs = pytree.tree_leaves((workload.args, workload.kwargs))
    others_ = [leaf for leaf in inputs if not isinstance(leaf, torch.Tensor)]
    states = _states_of_inputs((workload.args, workload.kwargs))
    states |= {f"buffer.{name}": _state(buffer) for name, buffer in workload.module.named_buffers()}
    states |= {f"param.{name}": _state(parameter) for name, parameter in workload.module.named_parameters()}
    sums = _contents(states)
    plain = all(isinstance(leaf, bool | int | float | str | None) for leaf in others_)
    return {**sums, "others": zlib.crc32(repr(others_).encode())} if plain and len(sums) == len(states) else None


def _differing(sums: dict[str, int], states: dict[str, _State]) -> set[str]:
    """Return the names of the tensors whose bytes are no longer those of which the checksums were made."""
    now = _contents({name: states[name] for name in sums if name in states})
    return {name for name, value in now.items() if value != sums[name]}


def _iterate(step: Any, part: Any, runtime: Runtime, seed: int) -> tuple[Any, bool]:
    """Run one iteration; return its result on the host, and whether it drew random numbers."""
    from runner.suites.building import seed_everything

    seed_everything(seed)
    runtime.seed(seed)
    before = random_state(runtime.device)
    output = step(*part)
    runtime.after_iteration()
    runtime.after_block()
    after = random_state(runtime.device)
    return runtime.to_host(output), not same_state(before, after)


def _shared(leaves_: dict[str, Any], before: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the leaves, those of the iteration before where they are the same: memory is kept once."""
    if not before:
        return leaves_
    last = before[-1]
    same = {name for name, leaf in leaves_.items() if name in last and identical(last[name], leaf)}
    return {name: last[name] if name in same else leaf for name, leaf in leaves_.items()}


def _with_predictions(config: ExperimentConfig) -> ExperimentConfig:
    return msgspec.structs.replace(config, collect_full_output=True)


def _collect(workload: Workload, output: Any, config: ExperimentConfig, *, predicts: bool) -> dict[str, Any]:
    """Return outputs in eval; in train the loss, gradients, buffers and, after an optimizer's step, parameters.

    `predicts`: the step returns what the model predicts, too.
    """
    double = config.dtype == "float64"
    if config.test == "eval":
        return leaves(output, "output", double=double)
    if predicts:
        collected = leaves(output[0], "prediction", double=double) | leaves(output[1], "loss", double=double)
    else:
        collected = leaves(output, "result" if config.collect_full_output else "loss", double=double)
    return collected | trained(workload.module, stepped=_stepped(workload, config), double=double)


def _stepped(workload: Workload, config: ExperimentConfig) -> bool:
    return bool(config.optimizer or workload.train_step)
