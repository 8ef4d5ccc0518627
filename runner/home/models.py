"""`[models]` of `xlabench.toml`: the only sources that a job may have executed, by names that the server gives them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.home.roles import Person

SUITE = "own/"
"""Begins the name under which a job asks for one."""


class ServerModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model that jobs may name."""

    source: Annotated[str, Meta(min_length=1)]
    """The source as `xlabench run` takes it; a relative path starts at the home."""
    inputs: tuple[str, ...] = ()
    """Inputs as `--input` takes them."""
    launch: tuple[str, ...] = ()
    """Who may: names as the login gives them, patterns included; `*` is everybody who may launch."""


def allowed(person: Person, models: Mapping[str, ServerModel]) -> frozenset[str]:
    """Return the names of the models that somebody's jobs may have; a name counts where a login has checked it."""
    return frozenset(
        name
        for name, model in models.items()
        if "*" in model.launch or (person.verified and any(fnmatchcase(person.name, each) for each in model.launch))
    )
