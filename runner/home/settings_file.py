"""`xlabench.toml`: environments, limits, roles, notices, models, dashboard. Flags and variables override it."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from runner import flag
from runner.plan import LocalRequest, values
from store.errors import UsageError, did_you_mean

_Count = Annotated[int, Meta(ge=1)]
_Seconds = Annotated[float, Meta(gt=0)]


class JobLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of every job of the home."""

    request_bytes: _Count = 1 << 20
    queue: _Count = 200
    """Maximum number of unfinished jobs of all users."""
    queue_per_person: _Count = 50
    hours_per_person: _Seconds = 48.0
    """Maximum running hours of the jobs that one person submitted in the last 24 hours."""
    timeout_s: _Seconds = 6 * 3600.0
    """Time limit of one attempt if the job sets none."""
    longest_timeout_s: _Seconds = 48 * 3600.0
    attempts: _Count = 3
    """Maximum number of attempts of a job whose host or process died."""
    grace_s: _Seconds = 20.0
    """Seconds from SIGTERM to SIGKILL."""


OWN_PREFIX = "own/"
"""Prefix of the name by which a job asks for a model of `[models]`."""


class ServerModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model that jobs may name."""

    source: Annotated[str, Meta(min_length=1)]
    """The source as `xlabench run` takes it; a relative path starts at the home."""
    inputs: tuple[str, ...] = ()
    """Inputs as `--input` takes them."""
    launch: tuple[str, ...] = ()
    """Names or patterns of the users, as the login gives them, who may launch it; `*` is everybody who may launch."""


def allowed_models(person: Person, models: Mapping[str, ServerModel]) -> frozenset[str]:
    """Return the names of the models that somebody's jobs may have; a name counts where a login has checked it."""
    return frozenset(
        name
        for name, model in models.items()
        if "*" in model.launch
        or (person.verified and any(fnmatchcase(person.name, pattern) for pattern in model.launch))
    )


WEBHOOK_VARIABLE = "XLABENCH_WEBHOOK_URL"
PASSWORD_VARIABLE = "XLABENCH_SMTP_PASSWORD"  # noqa: S105 - the name of a variable
SECRETS = frozenset({WEBHOOK_VARIABLE, PASSWORD_VARIABLE})
"""Variables that no job inherits, because its models may be code of others."""
_Port = Annotated[int, Meta(ge=1, le=65535)]
_Text = Annotated[str, Meta(min_length=1)]


class Secret(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings that are never printed."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"


class Webhook(Secret, frozen=True, forbid_unknown_fields=True):
    """An address that accepts notices as JSON; it is secret, because it suffices to post there."""

    url: str = ""


class Mail(Secret, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A server that takes mail."""

    host: _Text
    port: _Port = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: str = ""
    password: str = ""
    sender: _Text
    to: Annotated[tuple[_Text, ...], Meta(min_length=1)]


class Notices(Secret, frozen=True, forbid_unknown_fields=True):
    """Section `[notices]`; without channels, notices appear only in the feed."""

    dashboard: str = ""
    """Address of the dashboard, for links in notices."""
    webhook: Webhook | None = None
    mail: Mail | None = None


def with_secrets(notices: Notices) -> Notices:
    """Return the settings with the secrets of the environment, which override those of the file."""
    url, password = os.environ.get(WEBHOOK_VARIABLE), os.environ.get(PASSWORD_VARIABLE)
    replace = msgspec.structs.replace
    webhook = Webhook(url=url) if url else notices.webhook
    mail = replace(notices.mail, password=password) if notices.mail and password else notices.mail
    return replace(notices, webhook=webhook, mail=mail)


Right = Literal["view", "note", "launch"]


class Roles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[roles]` of `xlabench.toml`: names as the login gives them; `*` stands for any part of one."""

    view: tuple[str, ...] = ("*",)
    note: tuple[str, ...] = ()
    launch: tuple[str, ...] = ()


class Person(msgspec.Struct, frozen=True):
    """Who acts: a name, and whether a login gave it."""

    name: str
    verified: bool = False


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """How a user reaches the queue."""

    loopback: bool
    """The server is bound to an address that only this machine reaches; so is the command line."""
    login: bool
    """A login is configured."""


LOCAL = Access(loopback=True, login=False)
"""Access of the command line: whoever can type there can also measure without xlabench."""


class Decision(msgspec.Struct, frozen=True):
    """Whether an action is allowed, and if not, why, in one sentence."""

    allowed: bool
    reason: str = ""


def may(right: Right, who: Person, access: Access, roles: Roles) -> Decision:
    """Decide whether a person may view, note or launch.

    With a login the role list decides, for whom the login knows. Without one everybody views and notes, as before, and
    launching takes a server that only this machine reaches.
    """
    if access.login:
        return _by_role(right, who, getattr(roles, right))
    if right == "launch" and not access.loopback:
        return Decision(
            False,
            "Launching is disabled: the dashboard is reachable from other machines and has no login. "
            "Configure one (docs/access.md), or use `xlabench jobs submit` on the machine.",
        )
    return Decision(True)


def _by_role(right: Right, who: Person, names: tuple[str, ...]) -> Decision:
    if not who.verified:
        return Decision(False, f"Sign in first: to {right} requires a verified name.")
    # A pattern is matched as it stands, case included: names that differ in case may be different people.
    if any(fnmatchcase(who.name, pattern) for pattern in names):
        return Decision(True)
    return Decision(
        False, f"{who.name} may not {right}: [roles] of xlabench.toml does not list the name under {right}."
    )


NAME = "xlabench.toml"
_PREFIX = "XLABENCH_"


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of every run of the home, as their flags take them."""

    subprocess_timeout: int | str | None = None
    memory_limit: int | str | None = None
    artifact_limit: int | str | None = None


class Dashboard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the dashboard."""

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
    """Sources that jobs may name; a job cannot execute any other source."""


_TYPES: Mapping[str, Callable[[str], int]] = {
    "subprocess_timeout": flag.positive,
    "memory_limit": flag.size,
    "artifact_limit": flag.size,
}


def read(home: Path) -> SettingsFile:
    """Read the home's file; without one nothing is set.

    Raises:
        UsageError: the file is broken, or holds what is not known.
    """
    path = home / NAME
    if not path.exists():
        return SettingsFile()
    data = path.read_bytes()
    try:
        return msgspec.toml.decode(data, type=SettingsFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {_problem(data, error)} Correct or remove it.") from None


_SYNTAX = re.compile(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `([^`]*)`")
_PLACE = re.compile(r" - at `(?:key in )?\$\.?([^`]*)`")
_HEADER = re.compile(r"\s*\[+([^\[\]]+)\]+\s*(?:#.*)?")
_SETTING = re.compile(r"\s*([^=#\[\]]+?)\s*=")
_ANY = "*"
"""Stands for a name of the user's, which the decoder does not tell."""
_KNOWN = frozenset(
    name
    for section in (SettingsFile, Limits, JobLimits, Roles, Notices, Webhook, Mail, Dashboard, ServerModel)
    for name in section.__struct_fields__
)
"""Names of all settings and sections."""


def _problem(data: bytes, error: Exception) -> str:
    """Return one sentence about what is wrong in the file, with its line if that is known."""
    message = str(error)
    if isinstance(error, UnicodeDecodeError):
        return _at(data.count(b"\n", 0, error.start) + 1, "it is not UTF-8")
    if isinstance(error, RecursionError):
        return "It is nested too deeply."
    if syntax := _SYNTAX.fullmatch(message):
        return _at(int(syntax[2] or data.rstrip().count(b"\n") + 1), syntax[1])
    place = _PLACE.search(message)
    dotted = re.sub(r"\[\d+\]", "", place[1]).replace("[...]", f".{_ANY}") if place else ""
    keys = dotted.split(".") if dotted else []
    text = data.decode("utf-8", "replace")
    if unknown := _UNKNOWN.match(message):
        line = _line_of(text, [*keys, unknown[1]])
        where = f" in [{dotted}]" if dotted else ""
        return _at(line, f"there is no setting {unknown[1]}{where}") + did_you_mean(unknown[1], _KNOWN)
    return _at(_line_of(text, keys), f"{f'{dotted}: ' if dotted else ''}{_PLACE.sub('', message)}")


def _at(line: int | None, text: str) -> str:
    return f"{'' if line is None else f'line {line}: '}{text}."


def _line_of(text: str, keys: Sequence[str]) -> int | None:
    """Return the line that sets the value of these keys, else that of the table around it; None if neither is found."""
    table: list[str] = []
    lines: dict[int, list[int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        header, setting = _HEADER.fullmatch(line), _SETTING.match(line)
        if header:
            path = table = _split(header[1])
        elif setting:
            path = [*table, *_split(setting[1])]
        else:
            continue
        if all(key in (_ANY, name) for key, name in zip_longest(keys[: len(path)], path)):
            lines.setdefault(len(path), []).append(number)
    return next((found[0] for _, found in sorted(lines.items(), reverse=True) if len(found) == 1), None)


def _split(dotted: str) -> list[str]:
    return [name.strip().strip("\"'") for name in dotted.split(".")]


def interpreters(home: Path, file: SettingsFile) -> dict[str, Path]:
    """Return the named environments' interpreters."""
    for name in file.environments:
        try:
            values.environment(name)
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"{home / NAME}, [environments]: {error}") from None
    return {name: home / os.path.expanduser(python) for name, python in file.environments.items()}  # noqa: PTH111 - `/` keeps an absolute path


def with_limits(request: LocalRequest, home: Path, file: SettingsFile) -> LocalRequest:
    """Return the request with the limits that no flag set: from `XLABENCH_<LIMIT>`, else from the file.

    Raises:
        UsageError: a value that the flag would refuse, too.
    """
    limits = {}
    for name, read_value in _TYPES.items():
        if getattr(request.protocol, name) is not None:
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
    return request.changed(**limits)
