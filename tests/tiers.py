"""What `make test` measures once, `make test-all` measures as often and as widely as is worth it."""

from collections.abc import Iterable

import pytest


def first_of(values: Iterable[object], n: int = 1) -> list[object]:
    """Return parameters of which only the first n are measured by `make test`."""
    return [
        value if place < n else pytest.param(*_each(value), marks=pytest.mark.thorough)
        for place, value in enumerate(values)
    ]


def _each(value: object) -> tuple[object, ...]:
    """Return the values of a test that takes several, in a tuple as `pytest.mark.parametrize` takes them."""
    return value if isinstance(value, tuple) else (value,)
