"""Find an iterator or a data generator by its name: ours, and those that a user registers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.suites.operators import (
    embedding_bags,  # noqa: F401 - registers ours
    generate,  # noqa: F401 - registers ours
    ranges,  # noqa: F401 - registers ours
    registry,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def find_iterator(name: str) -> Callable[..., Any] | None:
    """Return the iterator of a name."""
    registry.load_users()
    return registry.REGISTERED.iterators.get(name)


def find_generator(name: str) -> Callable[..., Any] | None:
    """Return the data generator of a name."""
    registry.load_users()
    return registry.REGISTERED.generators.get(name)
