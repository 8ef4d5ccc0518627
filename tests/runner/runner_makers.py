"""Machines, plan entries, reports and records for the runner's tests; nothing here imports torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from runner.environments.machine import Machine
from runner.messages import Loaded, ProcessReport
from runner.plan import LocalRequest, Plan, make_entry, plan_file
from runner.plan.interpreters import Interpreter
from runner.plan.request import RunRequest
from runner.process.samples import Block
from runner.schedule.outcome import Outcome, RunFacts
from runner.schedule.records import make_record, skipped
from runner.settings import Settings
from store.record import Blocks, Environment, Error, ExperimentConfig, PlanEntry, Record, Run

PAIRS: dict[str, tuple[str | None, str | None]] = {
    "eager": (None, None),
    "inductor": (None, "inductor"),
    "openxla+lazytensor": ("PJRT", None),
    "openxla+dynamo": ("PJRT", "openxla"),
}
RUN = Run(run_id="run-1", label="a label", command="xlabench run")
ENVIRONMENT = Environment(name="default", python="3.11.2", torch="2.9.1", torch_xla="2.9.0", machine_id="m1", threads=2)


def machine(
    *,
    without: Sequence[str] = (),
    accelerators: Mapping[str, str] | None = None,
    compiler: str | None = "/usr/bin/g++",
    python_header: bool = True,
    setuptools: bool = True,
) -> Machine:
    """Return a machine with torch and torch_xla, `without` some packages."""
    packages = {"torch": "2.9.1", "torch_xla": "2.9.0"}
    return Machine(
        packages={name: version for name, version in packages.items() if name not in without},
        accelerators=accelerators or {"cpu": "Example CPU"},
        compiler=compiler,
        python_header=python_header,
        setuptools=setuptools,
    )


def interpreters(*environments: Environment) -> list[Interpreter]:
    """Return an interpreter of a machine for each environment; none named: the default one."""
    described = environments or (ENVIRONMENT,)
    return [Interpreter(name=each.name, machine=machine(), description=each) for each in described]


def request(*, requested: Mapping[str, Any] | None = None, plan: Path | None = None, **changes: Any) -> LocalRequest:
    """Return a request for the suite `dummy`, with fields of its parts; `requested` is of the configuration."""
    fields = dict(requested or {})
    overrides = [(*key.partition("."), value) for key, value in fields.pop("overrides", {}).items()]
    for library in ("dynamo", "inductor"):
        fields[f"{library}_config"] = tuple((name, value) for of, _, name, value in overrides if of == library)
    asked = LocalRequest()
    if plan is not None:
        asked = msgspec.structs.replace(asked, plan=plan, request=RunRequest(plan=plan_file.read(plan)))
        changes = {"suite_name": ()} | changes
    fields |= {"with_optimizer": fields.pop("optimizer")} if "optimizer" in fields else {}
    return asked.changed(**{"suite_name": ("dummy",), **fields, **changes})


def config(backend: str = "eager", model: str = "dummy", **changes: Any) -> ExperimentConfig:
    xla, dynamo = PAIRS[backend]
    fields = {"suite_name": "dummy", "model_name": model, "test": "eval", "accelerator": "cpu"}
    return ExperimentConfig(**{**fields, "xla": xla, "dynamo": dynamo, **changes})


def entry(backend: str = "eager", model: str = "dummy", skip: str | None = None, **changes: Any) -> PlanEntry:
    return make_entry(config(backend, model, **changes), "default", skip)


def plan(*entries: PlanEntry) -> Plan:
    return Plan(entries=entries)


def settings(**changes: Any) -> Settings:
    # What runs beside the tests is no matter of theirs: see test_quiet.py.
    return Settings(**{"processes": 1, "quiet": False, "raise_priority": False, **changes})


def facts(**changes: Any) -> RunFacts:
    fields = {"run": RUN, "timestamp": 1e9, "environment": ENVIRONMENT, "settings": settings()}
    return RunFacts(**{**fields, "accelerators": {"cpu": "Example CPU"}, **changes})


def block(total_s: float = 1.0, **changes: Any) -> Block:
    """Return a block as an eager backend takes it."""
    fields = {"trace_s": None, "compiles": 0, "executions": None, "compile_s": None, "execute_s": None}
    return Block(**{"total_s": total_s, **fields, "fallback_calls": {}, **changes})


def xla_block(total_s: float = 1.0, **changes: Any) -> Block:
    """Return a block as an XLA backend takes it."""
    fields = {"trace_s": total_s / 4, "executions": 1, "compile_s": 0.0, "execute_s": total_s / 2}
    return block(total_s, **{**fields, **changes})


def report(times: Sequence[float] = (1.0, 0.5, *(0.1,) * 6), warm: int = 1, **changes: Any) -> ProcessReport:
    """Return a report: the first block, `warm` blocks of warm-up, steady ones."""
    count = len(times)
    fields = {
        "metrics": {"total_time": list(times), "per_iter_time": list(times)},
        "blocks": Blocks(
            kind=(["first"] + ["warmup"] * warm + ["steady"] * count)[:count],
            compiles=[1, *[0] * (count - 1)],
            executions=[None] * count,
            round=[0] * count,
            inner_loops=changes.pop("inner_loops", []),
        ),
        "fallback_ops": [],
        "graph_breaks": [],
        "warnings": [],
        "invalid": None,
    }
    return ProcessReport(**{**fields, **changes})


def loaded(**changes: Any) -> Loaded:
    return Loaded(**{"batch_size": 16, "loss": None, "threads": 3, "variables": {}, "warnings": [], **changes})


def ended(status: str = "ok", *, phase: str = "measure", **changes: Any) -> Outcome:
    """Return how a benchmark process ended: with a report, or with an error."""
    if status in ("ok", "never_steady"):
        return Outcome(**{"status": status, "loaded": loaded(), "report": report(), **changes})
    error = Error(phase=phase, type="ValueError", message="it broke")
    return Outcome(**{"status": status, "error": error, **changes})


def record(of: PlanEntry, status: str = "ok", attempt: int = 1, replica: int = 0) -> Record:
    """Return the record of an entry."""
    if status == "skipped":
        return skipped(of, facts())
    return make_record(of, facts(), ended(status), attempt=attempt, replica=replica)
