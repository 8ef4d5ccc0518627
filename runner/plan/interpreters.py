"""The interpreters that a run measures in: what each offers, and the plan over all of them."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from runner import plan
from runner.environments import machine, probe
from runner.environments.machine import Machine
from runner.plan import LocalRequest, Plan, torch_names
from runner.suites import get_suite
from store.errors import UsageError
from store.record import Environment, PlanEntry

DEFAULT = "default"
"""The name of the interpreter that xlabench itself runs in."""
_PROBE_TIMEOUT_S = 120
_PACKAGES = ("runner", "store")


@dataclass(frozen=True, kw_only=True)
class Interpreter:
    """A named interpreter with its packages, on this machine."""

    name: str
    machine: Machine
    description: Environment


def requested(request: LocalRequest, named: Mapping[str, Path]) -> tuple[Interpreter, ...]:
    """Return the requested interpreters, each by its path or a name of `xlabench.toml`; by default the current one.

    Raises:
        UsageError: a name that is not known, a backend or setting that none of them has, or an interpreter that cannot
            measure.
    """
    interpreters = []
    for name, python in request.environments or ((DEFAULT, None),):
        chosen = python or named.get(name)
        if chosen is None and name != DEFAULT:
            environment_names = ", ".join(sorted({*named, DEFAULT}))
            raise UsageError(
                f"--env {name}: there is no environment of this name; pass --env "
                f"{name}=PYTHON, or choose one of {environment_names} "
                "(section [environments] of xlabench.toml in the home)."
            )
        if chosen:
            here, description = ask(name, chosen)
        else:
            here = machine.detect()
            description = machine.describe(DEFAULT, here, {}, None)
        description = msgspec.structs.replace(description, name=name, threads=request.protocol.threads)
        interpreters.append(Interpreter(name=name, machine=here, description=description))
    torch_names.check(request, [interpreter.machine for interpreter in interpreters])
    return tuple(interpreters)


def with_sources(interpreters: Sequence[Interpreter], request: LocalRequest) -> tuple[Interpreter, ...]:
    """Return the interpreters with the versions of the requested suites' sources, which records name."""
    commit = plan.source_versions(request).get("torchbench_commit")
    return tuple(
        replace(interpreter, description=msgspec.structs.replace(interpreter.description, torchbench_commit=commit))
        for interpreter in interpreters
    )


def make_plan(request: LocalRequest, interpreters: Sequence[Interpreter]) -> Plan:
    """Plan each environment by what it offers; equal variants of a model follow each other."""
    plans = [_plan_in(interpreter, request) for interpreter in interpreters]
    if len(plans) == 1:
        return plans[0]
    groups: dict[str, dict[str, list[PlanEntry]]] = {}
    for part in plans:
        for entry in part.entries:
            groups.setdefault(entry.group, {}).setdefault(entry.variant, []).append(entry)
    entries = [entry for variants in groups.values() for equal in variants.values() for entry in equal]
    missing = {suite: reason for part in plans for suite, reason in part.missing_suites.items()}
    return replace(plans[0], entries=tuple(entries), missing_suites=missing)


def _plan_in(interpreter: Interpreter, request: LocalRequest) -> Plan:
    """Plan one environment; packages of suites are checked in it, because the suites were listed in xlabench's own."""
    environment_plan = plan.make_plan(
        msgspec.structs.replace(request, environment=interpreter.name), interpreter.machine
    )
    if interpreter.machine.python == sys.executable:
        return environment_plan
    return replace(
        environment_plan, entries=tuple(_with_lacking(entry, interpreter) for entry in environment_plan.entries)
    )


def _with_lacking(entry: PlanEntry, interpreter: Interpreter) -> PlanEntry:
    """Skip an experiment whose suite imports a package that the environment lacks."""
    wanted = [module for module in get_suite(entry.config.suite_name).preload if module in machine.PACKAGES]
    lacking = [module for module in wanted if module not in interpreter.machine.packages]
    if not entry.runnable or not lacking:
        return entry
    reason = f"suite {entry.config.suite_name} needs {', '.join(lacking)} in environment {interpreter.name}"
    return msgspec.structs.replace(entry, skip_reason=reason)


def ask(name: str, python: Path) -> tuple[Machine, Environment]:
    """Run another interpreter once and return what it offers.

    Raises:
        UsageError: there is no such interpreter, or it lacks what a benchmark process needs.
    """
    command = [str(_executable(name, python)), "-m", "runner.environments.probe"]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **variables(command[0])},
            capture_output=True,
            text=True,
            timeout=_PROBE_TIMEOUT_S,
            check=True,
        )
        report = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        raise UsageError(
            f"Environment {name}: {command[0]} is not a usable Python: it did not report its packages."
        ) from None
    except (OSError, subprocess.SubprocessError) as error:
        words = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        raise UsageError(f"Environment {name}: {command[0]} could not report its packages: {words[-1]}") from None
    _refuse_unfit(name, command[0], report)
    return _machine(report["machine"]), msgspec.convert(report["environment"], Environment)


def interpreter_of(name: str, python: Path | None) -> str:
    """Return the interpreter of an environment; None: the current one.

    Raises:
        UsageError: there is none.
    """
    return sys.executable if python is None else str(_executable(name, python))


def variables(python: str) -> dict[str, str]:
    """Return the variables by which another interpreter finds our own packages, and only those."""
    if python == sys.executable:
        return {}
    before = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([str(_sources()), *([before] if before else [])])}


@functools.cache
def _sources() -> Path:
    """Return a folder of our packages; for an installed xlabench, of links, because site-packages also holds torch."""
    root = Path(__file__).resolve().parents[2]
    if not any(root.glob("*.dist-info")):
        return root
    folder = Path(tempfile.mkdtemp(prefix="xlabench-sources-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for package in _PACKAGES:
        (folder / package).symlink_to(root / package)
    return folder


def _executable(name: str, python: Path) -> Path:
    """Return the interpreter's absolute path without resolving links, because the link's folder is the environment."""
    place = python.expanduser()
    if place.is_dir():
        place /= "bin/python"
    executable = shutil.which(place)
    if executable is None:
        raise UsageError(
            f"Environment {name}: {python} is not an interpreter. Pass its path, for example VENV/bin/python."
        )
    return Path(executable).absolute()


def _refuse_unfit(name: str, python: str, report: Mapping[str, Any]) -> None:
    if not report["recent"]:
        least = ".".join(map(str, probe.OLDEST))
        raise UsageError(f"Environment {name}: {python} is Python {report['python']}; xlabench needs {least} or newer.")
    if report["lacking"]:
        raise UsageError(
            f"Environment {name}: benchmark processes need {', '.join(report['lacking'])} there: "
            f"{python} -m pip install {' '.join(report['lacking'])}"
        )


def _machine(fields: Mapping[str, Any]) -> Machine:
    """Return the machine that another interpreter described as JSON."""
    types = typing.get_type_hints(Machine)
    return Machine(**{field: msgspec.convert(value, types[field]) for field, value in fields.items()})
