"""Expand a request into the plan: every experiment, runnable or skipped with its reason. Imports no torch."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import msgspec

from runner.plan import plan_file, presets
from runner.plan.axes import ways
from runner.plan.entries import cannot_run, make_entry
from runner.plan.local_request import Plan
from runner.plan.selection import select
from runner.suites import get_suite, suite_names
from store.operators import operator_dtype
from store.record import ExperimentConfig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.environments.machine import Machine
    from runner.plan.axes import Way
    from runner.plan.local_request import LocalRequest
    from runner.plan.selection import Choice
    from runner.suites.base import ModelInfo
    from store.record import Accelerator, PlanEntry, Test

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
"""What pip calls packages that are imported under another name."""
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
    # Cut after filtering: sizes differ by at most one, and a group is never torn.
    part = selection.choices[request.selection.partition_id :: request.selection.total_partitions]
    entries = [entry for choice in part for entry in _of_model(choice, request, machine)]
    return Plan(entries=tuple(entries), missing_suites=selection.missing_suites)


def source_versions(request: LocalRequest) -> dict[str, str]:
    """Return what identifies the sources of the requested suites beside package versions."""
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
        found = find(request.context, tuple(names)) if find else {}
        if found:
            listed = "; ".join(f"{model}: {', '.join(packages)}" for model, packages in found.items())
            wanted = dict.fromkeys(_PROJECTS.get(each, each) for packages in found.values() for each in packages)
            line = f"pip install {' '.join(wanted)}"
            sentences.append(f"{suite_name} needs packages that are not installed: {listed}. Install them: {line}")
    return sentences


def label(plan: Plan) -> str:
    """Name a plan by its suites."""
    return "+".join(dict.fromkeys(entry.config.suite_name for entry in plan.entries))


def _of_model(choice: Choice, request: LocalRequest, machine: Machine) -> Iterator[PlanEntry]:
    accelerators = request.accelerators or tuple(machine.accelerators)
    tests = request.tests_of.get(choice.suite.name) or request.tests or choice.model.tests or TESTS
    for accelerator, test in product(accelerators, tests):
        for way in ways(request, accelerator):
            config, notes = _configuration(choice, request, accelerator, test, way)
            against = _table_skip(choice.model, config, way)
            reason = (
                choice.model.missing or (None if request.selection.no_skip else against) or cannot_run(config, machine)
            )
            entry = make_entry(config, request.environment, reason, notes, None if reason else against)
            yield msgspec.structs.replace(entry, used_by=choice.model.used_by) if choice.model.used_by else entry


def _configuration(
    choice: Choice, request: LocalRequest, accelerator: Accelerator, test: Test, way: Way
) -> tuple[ExperimentConfig, tuple[str, ...]]:
    """Return the requested configuration, and what the suite's tables changed in it."""
    suite, model = choice.suite.name, choice.model
    chosen = request.configuration
    asked = presets.requested(chosen.preset, suite, model.name, test, accelerator) | presets.fixed(chosen)
    batch_size = chosen.batch_size if chosen.batch_size is not None else choice.batch_size
    if model.operator is not None:
        # Sizes and data types are those of the call.
        asked, batch_size = {name: value for name, value in asked.items() if name not in _OF_MODELS}, None
        dtype = operator_dtype(msgspec.to_builtins(model.operator))
        asked |= {"dtype": dtype} if dtype else {}
    fields, notes = _forced(model, way.settings(asked, test))
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
    """Put the dtype that the model can run in, so that all its variants stay comparable, and say so."""
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
        if (mode := fields.get("compile_mode")) in presets.WITHOUT_CUDAGRAPHS:
            fields["compile_mode"] = presets.WITHOUT_CUDAGRAPHS[mode]
    return fields, tuple(notes)


def _table_skip(model: ModelInfo, config: ExperimentConfig, way: Way) -> str | None:
    """Return what the suite's tables say against it; `--no-skip` measures it all the same."""
    return (
        model.skips.get(config.test)
        or model.accelerator_skips.get(config.accelerator)
        or model.backend_skips.get(way.backend)
        or (model.freezing_skips.get(config.accelerator) if config.freezing else None)
    )
