"""Run one freshly built copy of the model and bring its results to the host."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from runner.backends import backend_of
from runner.process import steps
from runner.suites import get_suite
from runner.suites.base import BuildRequest, SuiteContext
from runner.verify import control, determinism
from runner.verify.leaves import leaves

if TYPE_CHECKING:
    from runner.backends.base import Runtime
    from runner.messages import Load
    from runner.suites.base import Workload
    from runner.verify.tables import Criteria
    from store.record import ExperimentConfig


class NotBuilt(Exception):
    """The suite could not build the model; the cause says why."""


@dataclass(kw_only=True)
class Results:
    """What one copy gave; nothing of the copy itself stays."""

    leaves: dict[str, Any]
    batch_size: int | None
    draws: bool
    """It drew random numbers, which other devices and compilers draw from other streams."""
    disturbed: str | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Makes and runs the copies of one experiment, one at a time."""

    load: Load
    criteria: Criteria
    runtime: Runtime
    """The backend's. Opened before anything runs: autograd counts its devices at the first backward pass, and an XLA
    device that appears later can run none."""

    def eager(self, *, disturbed: bool = False) -> Results:
        """Run the model eagerly on the accelerator, on the CPU where that has no eager mode."""
        return self._run(self._eager_config(), self._eager_runtime(), disturbed=disturbed)

    def double(self) -> Results:
        """Run it eagerly in float64, from the same float32 weights."""
        return self._run(msgspec.structs.replace(self._eager_config(), dtype="float64"), self._eager_runtime())

    def backend(self) -> Results:
        """Run it as the experiment's backend does."""
        return self._run(self.load.config, self.runtime)

    def _eager_runtime(self) -> Runtime:
        return backend_of(None, None).open(self._eager_config(), self.load.settings.device_index)

    def _eager_config(self) -> ExperimentConfig:
        config = self.load.config
        accelerator = "cpu" if config.accelerator == "tpu" else config.accelerator
        return msgspec.structs.replace(config, xla=None, dynamo=None, torch_xla2=None, accelerator=accelerator)

    def _run(self, config: ExperimentConfig, runtime: Runtime, *, disturbed: bool = False) -> Results:
        try:
            return self._run_copy(config, runtime, disturbed=disturbed)
        finally:
            _free(config)

    def _run_copy(self, config: ExperimentConfig, runtime: Runtime, *, disturbed: bool) -> Results:
        import torch

        seed, iterations = self.load.settings.seed, self.load.settings.verify_iterations
        backend = backend_of(config.xla, config.dynamo, config.torch_xla2)
        workload = self._build()
        if config.test == "train":
            determinism.without_dropout(workload.module)
        what = control.disturb(workload, seed) if disturbed else None
        steps.cast(workload, config)
        runtime.place(workload)
        step = backend.compile(steps.make_step(workload, config, runtime.device), config)
        output, draws = None, False
        with torch.set_grad_enabled(config.test == "train"):
            for args, kwargs in steps.fresh_inputs(workload, iterations):
                determinism.seed_host(seed)
                runtime.seed(seed)
                before = determinism.random_state(runtime.device)
                output = step(args, kwargs)
                runtime.after_iteration()
                runtime.after_block()
                after = determinism.random_state(runtime.device)
                draws = any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))
        return Results(
            leaves=_collect(workload, runtime.to_host(output), config),
            batch_size=workload.batch_size,
            draws=draws,
            disturbed=what,
            notes=[note] if (note := backend.invalid()) else [],
        )

    def _build(self) -> Workload:
        """Build with the batch size of the timing, made smaller where the tables say so."""
        asked = self.load.batch_size
        workload = self._build_with(self.criteria.samples(asked))
        wanted = self.criteria.samples(workload.batch_size)
        # A suite may keep its own size whatever is asked for; asked once more it would say the same.
        if asked is None and wanted != workload.batch_size:
            del workload
            workload = self._build_with(wanted)
        return workload

    def _build_with(self, batch_size: int | None) -> Workload:
        config, directory = self.load.config, self.load.torchbench_dir
        determinism.seed_host(self.load.settings.seed)
        request = BuildRequest(
            model_name=config.model_name,
            test=config.test,
            accelerator=config.accelerator,
            batch_size=batch_size,
            seed=self.load.settings.seed,
            loss=config.loss,
            weights=config.weights,
            operator=config.operator,
            context=SuiteContext(torchbench_dir=Path(directory) if directory else None),
        )
        try:
            return get_suite(config.suite_name).build(request)
        except Exception as error:
            raise NotBuilt from error


def _collect(workload: Workload, output: Any, config: ExperimentConfig) -> dict[str, Any]:
    """Return outputs in eval; in train the loss, gradients, buffers and, after an optimizer's step, parameters."""
    double = config.dtype == "float64"
    if config.test == "eval":
        return leaves(output, "output", double=double)
    module = workload.module
    found = leaves(output, "result" if config.collect_full_output else "loss", double=double)
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            # A backend may leave out a gradient that is zero.
            gradient = parameter.new_zeros(parameter.shape) if parameter.grad is None else parameter.grad
            found |= leaves(gradient, f"grad.{name}", double=double)
        if config.optimizer:
            found |= leaves(parameter, f"param.{name}", double=double)
    for name, buffer in module.named_buffers():
        found |= leaves(buffer, f"buffer.{name}", double=double)
    return found


def _free(config: ExperimentConfig) -> None:
    """Give back what a copy held before the next one is built."""
    import torch

    if config.dynamo:
        torch._dynamo.reset()  # noqa: SLF001 - dynamo has no public reset
    gc.collect()
    if config.accelerator in ("cuda", "xpu") and not config.xla:
        getattr(torch, config.accelerator).empty_cache()
