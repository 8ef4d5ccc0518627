"""A cache of costly values for all readers, limited in bytes; the least recently used value is dropped first."""

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
"""Types of objects that a value references but does not own."""


class ByteLimitedCache(Generic[T]):
    """Values by key; the newest one stays, however large it is."""

    def __init__(self, most_bytes: int) -> None:
        entries: LRUCache[Hashable, tuple[T, int]] = LRUCache(most_bytes, lambda entry: min(entry[1], most_bytes))
        self._entry = cached(entries, key=lambda key, _: key, condition=Condition())(_entry)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key; it is computed once, also for simultaneous calls."""
        return self._entry(key, make)[0]


def _entry(_key: Hashable, make: Callable[[], T]) -> tuple[T, int]:
    value = make()
    return value, size_of(value)


def size_of(value: object) -> int:
    """Return the approximate size of a value and all objects that it references."""
    total, ids, waiting = 0, set[int](), [value]
    while waiting:
        item = waiting.pop()
        if id(item) in ids or isinstance(item, _SHARED):
            continue
        ids.add(id(item))
        total += sys.getsizeof(item)
        waiting += gc.get_referents(item)
    return total
