"""What is costly to make and shared by all readers, up to a number of bytes; the least recently used goes first."""

from __future__ import annotations

import gc
import sys
from threading import Condition
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Generic, TypeVar

from cachetools import LRUCache, cached

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

T = TypeVar("T")
_SHARED = (type, ModuleType, FunctionType)
"""Kinds of objects that a value leads to and does not own."""


class ByteLimitedCache(Generic[T]):
    """Values by key; the newest one stays however large it is."""

    def __init__(self, most_bytes: int) -> None:
        entries: LRUCache[Hashable, tuple[T, int]] = LRUCache(most_bytes, lambda entry: min(entry[1], most_bytes))
        self._entry = cached(entries, key=lambda key, _: key, condition=Condition())(_entry)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key; made once, however many ask for it at the same time."""
        return self._entry(key, make)[0]


def _entry(_key: Hashable, make: Callable[[], T]) -> tuple[T, int]:
    value = make()
    return value, size_of(value)


def size_of(value: object) -> int:
    """Return about how many bytes a value and all that it leads to take."""
    total, seen, waiting = 0, set[int](), [value]
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, _SHARED):
            continue
        seen.add(id(each))
        total += sys.getsizeof(each)
        waiting += gc.get_referents(each)
    return total
