"""Expand a request into the plan: every experiment, runnable or skipped with its reason. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import msgspec

from runner.backends import BACKENDS, triple_of, xla_of
from runner.environments.machine import Machine
from runner.plan import local_request, plan_file, protocol
from runner.plan.local_request import LocalRequest, Plan, cannot_run, make_entry
from runner.plan.request import Selection
from runner.plan.selection import ModelChoice, select
from runner.suites import get_suite, suite_names
from runner.suites.base import ModelInfo
from store.identity import backend_name
from store.operators import operator_dtype
from store.record import Accelerator, CacheState, ExperimentConfig, PlanEntry, Test

_OF_INDUCTOR = frozenset({"compile_mode", "cudagraphs", "freezing"})
_OF_DYNAMO = frozenset({"fullgraph", "dynamic_shapes", "dynamic_batch_only"})
_NOT_DYNAMO = (None, "torchscript")
"""Values of `dynamo` under which dynamo captures nothing."""
_OF_TRAIN = frozenset({"loss", "optimizer", "collect_full_output"})


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way to compile and run a step, without the settings of `torch.compile`."""

    xla: str | None
    dynamo: str | None
    torch_xla2: str | None = None
    xla_flags: tuple[str, ...] = ()
    cache: CacheState = "cold"
    without_fallback: tuple[str, ...] = ()

    @property
    def backend(self) -> str:
        return backend_name(self.xla, self.dynamo, self.torch_xla2)

    def knows(self, setting: str, test: Test) -> bool:
        """Say whether a field of `ExperimentConfig` affects this way; otherwise it is planned without the field."""
        if setting in _OF_INDUCTOR:
            return self.dynamo == "inductor"
        if setting in _OF_DYNAMO:
            return self.dynamo not in _NOT_DYNAMO
        if setting == "keep_model_data_on_cuda":
            return self.xla is not None and self.dynamo is not None
        return test == "train" or setting not in _OF_TRAIN

    def settings(self, wanted: Mapping[str, Any], test: Test) -> dict[str, Any]:
        """Return the requested settings that affect this way, so that all settings share one baseline."""
        known = {name: value for name, value in wanted.items() if self.knows(name, test)}
        overrides = {key: value for key, value in wanted.get("overrides", {}).items() if self._knows_override(key)}
        known.pop("overrides", None)
        return known | ({"overrides": overrides} if overrides else {})

    def _knows_override(self, key: str) -> bool:
        return self.dynamo == "inductor" if key.startswith("inductor.") else self.dynamo not in _NOT_DYNAMO


def ways(request: LocalRequest, accelerator: Accelerator) -> Iterator[Way]:
    """Yield the requested ways on an accelerator; invalid combinations are left out."""
    chosen = request.configuration
    requested_caches: tuple[CacheState, ...] = ("cold", "warm") if chosen.cache == "both" else (chosen.cache,)
    requested_flags, requested_ops = dict.fromkeys(chosen.xla_flags), dict.fromkeys(chosen.without_fallback)
    for xla, dynamo, torch_xla2 in _backends(request):
        # PyTorch/XLA dropped CUDA, and a TPU has no eager device: such pairs are invalid, so they are not planned.
        if (accelerator == "cuda" and xla) or (accelerator == "tpu" and not xla):
            continue
        # Only PyTorch/XLA has fallback ops; an experiment without one is compared with the same experiment with it.
        if requested_ops and (xla is None or torch_xla2):
            continue
        uncached = xla is None and dynamo in _NOT_DYNAMO
        all_flags = tuple(requested_flags) if xla and requested_flags else ((),)
        caches: tuple[CacheState, ...] = ("cold",) if uncached else requested_caches
        replaced = ((), *requested_ops)
        for xla_flags, state, ops in product(all_flags, caches, replaced):
            yield Way(
                xla=xla,
                dynamo=dynamo,
                torch_xla2=torch_xla2,
                xla_flags=xla_flags,
                cache=state,
                without_fallback=ops,
            )


def _backends(request: LocalRequest) -> list[tuple[str | None, str | None, str | None]]:
    """Return (xla, dynamo, torch_xla2) of the requested backends; each given axis narrows the plan."""
    triples = list(dict.fromkeys(map(triple_of, request.selection.backend))) or _narrowed(request.selection)
    baseline = ("PJRT", None, None)
    if request.configuration.use_xla_baseline and baseline not in triples:
        triples.append(baseline)
    return triples


def _narrowed(chosen: Selection) -> list[tuple[str | None, str | None, str | None]]:
    pairs = list(BACKENDS)
    planned_dynamo = {dynamo for _, dynamo in pairs}
    pairs += [(xla_of(name), name) for name in dict.fromkeys(chosen.dynamo) if name not in planned_dynamo]
    kinds = tuple(dict.fromkeys(chosen.torch_xla2)) or (None,)
    return [
        (xla, dynamo, kind)
        for kind, (xla, dynamo) in product(kinds, pairs)
        if (kind is None or (xla is not None and dynamo is None))
        and (not chosen.xla or xla in chosen.xla)
        and (not chosen.dynamo or dynamo in chosen.dynamo)
    ]


TESTS: tuple[Test, ...] = ("eval", "train")
_PROJECTS = {
    "PIL": "pillow",
    "cv2": "opencv-python",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "yaml": "pyyaml",
    "pytorch_lightning": "pytorch-lightning",
    "detectron2": "git+https://github.com/facebookresearch/detectron2",
    "attr": "attrs",
    "google": "protobuf",
}
"""Names for pip of packages that are imported under another name."""
_OF_MODELS = frozenset({"dtype", "amp_dtype", "optimizer", "loss"})
"""Settings that a single operator does not have."""


def make_plan(request: LocalRequest, machine: Machine) -> Plan:
    """Expand the request on this machine, for the environment that it names.

    Raises:
        UsageError: a model asked for by name does not exist, or the plan file cannot be used.
    """
    if request.request.plan is not None:
        return Plan(entries=tuple(plan_file.repeat(request.request.plan, request, machine)))
    selection = select(request)
    # Models are split after filtering: sizes of parts differ by at most one, and no group is split.
    part = selection.choices[request.selection.partition_id :: request.selection.total_partitions]
    entries = [entry for choice in part for entry in _of_model(choice, request, machine)]
    return Plan(entries=tuple(entries), missing_suites=selection.missing_suites)


def source_versions(request: LocalRequest) -> dict[str, str]:
    """Return what identifies the sources of the requested suites, apart from package versions."""
    versions: dict[str, str] = {}
    for name in request.suites or suite_names():
        versions |= get_suite(name).versions(request.context)
    return versions


def missing_packages(plan: Plan, request: LocalRequest) -> list[str]:
    """Say per suite which packages its runnable models import and this interpreter lacks; nothing is imported."""
    models: dict[str, dict[str, None]] = {}
    for entry in plan.runnable:
        models.setdefault(entry.config.suite_name, {})[entry.config.model_name] = None
    sentences = []
    for suite_name, names in models.items():
        find = getattr(get_suite(suite_name), "missing_packages", None)
        lacking = find(request.context, tuple(names)) if find else {}
        if lacking:
            listed = "; ".join(f"{model}: {', '.join(packages)}" for model, packages in lacking.items())
            wanted = dict.fromkeys(_PROJECTS.get(name, name) for packages in lacking.values() for name in packages)
            line = f"pip install {' '.join(wanted)}"
            sentences.append(f"{suite_name} needs packages that are not installed: {listed}. Install them: {line}")
    return sentences


def label(plan: Plan) -> str:
    """Name a plan by its suites."""
    return "+".join(dict.fromkeys(entry.config.suite_name for entry in plan.entries))


def _of_model(choice: ModelChoice, request: LocalRequest, machine: Machine) -> Iterator[PlanEntry]:
    accelerators = request.accelerators or tuple(machine.accelerators)
    tests = request.tests_of.get(choice.suite.name) or request.tests or choice.model.tests or TESTS
    for accelerator, test in product(accelerators, tests):
        for way in ways(request, accelerator):
            config, notes = _configuration(choice, request, accelerator, test, way)
            against = (  # the suite's tables skip it; `--no-skip` measures it anyway
                choice.model.skips.get(config.test)
                or choice.model.accelerator_skips.get(config.accelerator)
                or choice.model.backend_skips.get(way.backend)
                or (choice.model.freezing_skips.get(config.accelerator) if config.freezing else None)
            )
            reason = (
                choice.model.missing or (None if request.selection.no_skip else against) or cannot_run(config, machine)
            )
            entry = make_entry(config, request.environment, reason, notes, None if reason else against)
            yield msgspec.structs.replace(entry, used_by=choice.model.used_by) if choice.model.used_by else entry


def _configuration(
    choice: ModelChoice, request: LocalRequest, accelerator: Accelerator, test: Test, way: Way
) -> tuple[ExperimentConfig, tuple[str, ...]]:
    """Return the requested configuration, and what the suite's tables changed in it."""
    suite, model = choice.suite.name, choice.model
    chosen = request.configuration
    wanted = protocol.requested(chosen.preset, suite, model.name, test, accelerator) | protocol.fixed(chosen)
    batch_size = chosen.batch_size if chosen.batch_size is not None else choice.batch_size
    if model.operator is not None:
        # The call defines its sizes and data types.
        wanted, batch_size = {name: value for name, value in wanted.items() if name not in _OF_MODELS}, None
        dtype = operator_dtype(msgspec.to_builtins(model.operator))
        wanted |= {"dtype": dtype} if dtype else {}
    fields, notes = _forced(model, way.settings(wanted, test))
    if accelerator == "cpu" and fields.get("compile_mode") == "reduce-overhead":
        notes += ("compile mode reduce-overhead is the default mode on the CPU: CUDA graphs need a GPU",)
    config = ExperimentConfig(
        suite_name=suite,
        model_name=model.name,
        test=test,
        accelerator=accelerator,
        xla=way.xla,
        dynamo=way.dynamo,
        torch_xla2=way.torch_xla2,
        xla_flags=way.xla_flags,
        cache=way.cache,
        batch_size=batch_size,
        operator=model.operator,
        source=model.source,
        without_fallback=way.without_fallback,
        **fields,
    )
    return config, notes


def _forced(model: ModelInfo, fields: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Replace a dtype in which the model cannot run, so that all its variants stay comparable, and note it."""
    notes = []
    dtype = fields.get("dtype", "float32")
    for rule in model.dtypes:
        if dtype in rule.instead_of:
            notes.append(f"{rule.use} in place of {dtype}: {model.name}: {rule.reason}")
            dtype = fields["dtype"] = rule.use
    if dtype != "amp":
        fields.pop("amp_dtype", None)
    if fields.get("cudagraphs") and model.no_cudagraphs:
        notes.append(f"without CUDA graphs: {model.name}: {model.no_cudagraphs}")
        fields["cudagraphs"] = False
        if (mode := fields.get("compile_mode")) in local_request.WITHOUT_CUDAGRAPHS:
            fields["compile_mode"] = local_request.WITHOUT_CUDAGRAPHS[mode]
    return fields, tuple(notes)
