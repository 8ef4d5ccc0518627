"""`xlabench.toml`: environments, limits, roles, notices, models, dashboard. Flags and variables override it."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

import msgspec

from runner.errors import UsageError
from runner.home.limits import JobLimits
from runner.home.models import ServerModel
from runner.home.notices import Notices
from runner.home.roles import Roles
from runner.plan import values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.plan import LocalRequest

NAME = "xlabench.toml"
_PREFIX = "XLABENCH_"


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of every run of the home, as their flags take them."""

    subprocess_timeout: int | str | None = None
    memory_limit: int | str | None = None
    artifact_limit: int | str | None = None


class Dashboard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the pages begin with."""

    label: str | None = None
    """Label of the runs that are offered first; a browser may pin another one."""


class SettingsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The sections of `xlabench.toml`; all may be missing."""

    environments: dict[str, str] = {}
    """Interpreters by name; a relative path starts at the home."""
    limits: Limits = Limits()
    jobs: JobLimits = JobLimits()
    roles: Roles = Roles()
    notices: Notices = Notices()
    dashboard: Dashboard = Dashboard()
    models: dict[str, ServerModel] = {}
    """Sources that jobs may name; what is not listed here no job can have executed."""


_TYPES: Mapping[str, Callable[[str], int]] = {
    "subprocess_timeout": values.positive,
    "memory_limit": values.size,
    "artifact_limit": values.size,
}


def read(home: Path) -> SettingsFile:
    """Read the home's file; without one nothing is set.

    Raises:
        UsageError: the file is broken, or holds what is not known.
    """
    path = home / NAME
    if not path.exists():
        return SettingsFile()
    try:
        return msgspec.toml.decode(path.read_bytes(), type=SettingsFile)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}. Correct or remove it.") from None


def interpreters(home: Path, file: SettingsFile) -> dict[str, Path]:
    """Return the named environments' interpreters."""
    for name in file.environments:
        try:
            values.environment(name)
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"{home / NAME}, [environments]: {error}") from None
    return {name: home / os.path.expanduser(python) for name, python in file.environments.items()}  # noqa: PTH111 - `/` keeps an absolute path


def with_limits(asked: LocalRequest, home: Path, file: SettingsFile) -> LocalRequest:
    """Return the request with the limits that no flag set: from `XLABENCH_<LIMIT>`, else from the file.

    Raises:
        UsageError: a value that the flag would refuse, too.
    """
    limits = {}
    for name, read_value in _TYPES.items():
        if getattr(asked.protocol, name) is not None:
            continue
        variable = _PREFIX + name.upper()
        in_file = getattr(file.limits, name)
        origin, value = (variable, os.environ[variable]) if os.environ.get(variable) else (f"{home / NAME}", in_file)
        if value is None:
            continue
        try:
            limits[name] = read_value(str(value))
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"{origin}: {name}: {error}") from None
    return asked.changed(**limits)
