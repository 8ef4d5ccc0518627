"""Who may view, note and launch: the one place that decides."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal

import msgspec

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
    """How somebody reaches us."""

    loopback: bool
    """The server is bound to an address that only this machine reaches; so is the command line."""
    login: bool
    """A login is configured."""


LOCAL = Access(loopback=True, login=False)
"""The command line: whoever can type there can measure without asking us."""


class Decision(msgspec.Struct, frozen=True):
    """Whether somebody may, and if not, why: one sentence."""

    allowed: bool
    reason: str = ""


def may(right: Right, who: Person, access: Access, roles: Roles) -> Decision:
    """Decide whether somebody may view, note or launch.

    With a login the role list decides, for whom the login knows. Without one everybody views and notes, as before, and
    launching takes a server that only this machine reaches.
    """
    if access.login:
        return _by_role(right, who, getattr(roles, right))
    if right == "launch" and not access.loopback:
        return Decision(
            False,
            "Launching is disabled: the dashboard is reachable from other machines and has no login. "
            "Configure one (docs/jobs.md), or use `xlabench jobs submit` on the machine.",
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
