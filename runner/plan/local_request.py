"""A request with what only a command may add to it, and the plan that is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from runner.flag import Flag, Word
from runner.plan import values
from runner.plan.request import Configuration, Protocol, RunRequest, Selection
from runner.suites.base import SuiteContext, TriedModel
from store.identity import digest
from store.record import Accelerator, PlanEntry, Test

SMOKE = ("timm_models/resnet18", "huggingface/DistilBertForMaskedLM")
"""Models of the smoke plan: well known, with random weights, in eval; they take minutes on two cores."""


class LocalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, and what only a command may add: files, programs and code of this machine. No job holds any of it."""

    request: RunRequest = RunRequest()
    given: frozenset[str] = frozenset()
    """Fields of the request that were typed, also with their default value."""
    models_file: Annotated[
        Path | None, Flag("measure the models listed in FILE, one per line, in this order", metavar="FILE")
    ] = None
    plan: Annotated[Path | None, Flag("repeat a plan that `plan --format yaml` printed", metavar="FILE")] = None
    """File from which the plan of the request was read."""
    env: Annotated[
        tuple[tuple[str, Path | None], ...],
        Flag(
            "measure with this Python interpreter and its packages; repeat to compare environments (default: the "
            "current one). NAME alone refers to xlabench.toml in the home, or is `default`",
            metavar="NAME=PYTHON",
            word=Word(values.environment),
        ),
    ] = ()
    """Name and interpreter of each environment; None if the name is one of `xlabench.toml`."""
    torchbench_dir: Annotated[
        Path | None,
        Flag("checkout of github.com/pytorch/benchmark ($TORCHBENCH_DIR)", metavar="DIR", group="configuration"),
    ] = None
    print_subprocess: Annotated[bool, Flag("print the output of benchmark processes", group="measurement")] = False
    quick: bool = False
    """Whether this is a first look: disturbed turns count, and no timing proof is taken."""
    own: tuple[TriedModel, ...] = ()
    """Models of the user's own."""
    models: tuple[str, ...] = ()
    """Exact `suite/model` names of a file or recording; if there are any, nothing else is planned."""
    tests_of: Mapping[str, tuple[Test, ...]] = {}
    """Suite → its tests, if they differ from those of the selection."""
    environment: str = "default"
    """Name of the environment that is planned."""

    @classmethod
    def of_job(cls, request: RunRequest) -> LocalRequest:
        """Return a job's request: what differs from its default is given, and beside a plan nothing selects."""
        if request.plan is not None:
            request = msgspec.structs.replace(request, selection=Selection(), configuration=Configuration())
        protocol = request.protocol
        usual = {field.name: field.default for field in msgspec.structs.fields(protocol)}
        changed = frozenset(name for name in usual if getattr(protocol, name) != usual[name])
        return cls(request=request, given=changed)

    @property
    def selection(self) -> Selection:
        return self.request.selection

    @property
    def configuration(self) -> Configuration:
        return self.request.configuration

    @property
    def protocol(self) -> Protocol:
        return self.request.protocol

    @property
    def suites(self) -> tuple[str, ...]:
        """Return the suites that are asked for; none: those of exact names, else all."""
        chosen = tuple(dict.fromkeys(self.selection.suite_name)) or ("operators",) * bool(self.selection.config)
        return chosen or tuple(dict.fromkeys(name.partition("/")[0] for name in self.exactly))

    @property
    def exactly(self) -> tuple[str, ...]:
        """Return the `suite/model` names beside which nothing is planned; none: there is no such bound."""
        return self.models or SMOKE * self.selection.smoke

    @property
    def accelerators(self) -> tuple[Accelerator, ...]:
        return tuple(dict.fromkeys(self.selection.accelerator)) or (("cpu",) if self.selection.smoke else ())

    @property
    def tests(self) -> tuple[Test, ...]:
        return tuple(dict.fromkeys(self.selection.test)) or (("eval",) if self.selection.smoke else ())

    @property
    def environments(self) -> tuple[tuple[str, Path | None], ...]:
        """Return name and interpreter of each environment; None if the name is one of `xlabench.toml`."""
        return self.env or tuple((name, None) for name in self.request.environments)

    @property
    def context(self) -> SuiteContext:
        return SuiteContext(
            torchbench_dir=self.torchbench_dir,
            operator_configs=tuple(dict.fromkeys(self.selection.config)),
            discrete=self.configuration.exec_mode == "discrete",
            clear_cache=self.configuration.cuda_l2_cache == "off",
            own=self.own,
        )

    def changed(self, **fields: Any) -> LocalRequest:
        """Return the request with other values of fields, also of its selection, configuration and protocol."""
        groups = {}
        for name in ("selection", "configuration", "protocol"):
            group = getattr(self, name)
            groups[name] = msgspec.structs.replace(
                group, **{key: fields.pop(key) for key in group.__struct_fields__ if key in fields}
            )
        return msgspec.structs.replace(self, request=msgspec.structs.replace(self.request, **groups), **fields)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The experiments in the order they are measured, and the suites that could not be listed, with reasons."""

    entries: tuple[PlanEntry, ...]
    missing_suites: dict[str, str] = field(default_factory=dict)

    @property
    def plan_id(self) -> str:
        """Return the hash of the experiments and their environments; a run resumes only with the same one."""
        return digest([(entry.experiment_id, entry.environment, entry.runnable) for entry in self.entries])

    @property
    def runnable(self) -> tuple[PlanEntry, ...]:
        return tuple(entry for entry in self.entries if entry.runnable)

    @property
    def skipped(self) -> tuple[PlanEntry, ...]:
        return tuple(entry for entry in self.entries if not entry.runnable)
