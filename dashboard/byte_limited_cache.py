"""What is costly to make and shared by all readers, up to a number of bytes; the least recently used goes first."""

from __future__ import annotations

import gc
import sys
from collections import OrderedDict
from threading import Lock
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

T = TypeVar("T")
_SHARED = (type, ModuleType, FunctionType)
"""Kinds of objects that a value leads to and does not own."""


class ByteLimitedCache(Generic[T]):
    """Values by key; the newest one stays however large it is."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._held: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._lock = Lock()
        self._making: dict[Hashable, Lock] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key; made once, however many ask for it at the same time."""
        with self._lock:
            making = self._making.setdefault(key, Lock())
        with making:
            found = self._found(key)
            if found is None:
                value = make()
                found = value, size_of(value)
                self._keep(key, found)
        return found[0]

    @property
    def bytes(self) -> int:
        """Return what is kept."""
        with self._lock:
            return self._total()

    def _found(self, key: Hashable) -> tuple[T, int] | None:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def _keep(self, key: Hashable, found: tuple[T, int]) -> None:
        with self._lock:
            self._held[key] = found
            while len(self._held) > 1 and self._total() > self.most_bytes:
                gone, _ = self._held.popitem(last=False)
                self._making.pop(gone, None)

    def _total(self) -> int:
        return sum(size for _, size in self._held.values())


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
