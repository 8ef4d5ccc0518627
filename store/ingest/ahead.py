"""Make the next results of a chain of work while the last one is used."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

T = TypeVar("T")
R = TypeVar("R")
W = TypeVar("W")


def ahead(items: Iterator[T], workers: Sequence[W], work: Callable[[W, T], R]) -> Generator[R]:
    """Yield what `work` makes of each item, in their order.

    As many threads as there are workers ask for an item one after the other, and work on theirs side by side.
    """
    idle: SimpleQueue[W] = SimpleQueue()
    for worker in workers:
        idle.put(worker)
    asking, numbers = Lock(), count()

    def make() -> tuple[int, R] | None:
        worker = idle.get()
        try:
            with asking:
                number, item = next(numbers), next(items, None)
            return None if item is None else (number, work(worker, item))
        finally:
            idle.put(worker)

    made: dict[int, R] = {}
    with ThreadPoolExecutor(max_workers=len(workers), thread_name_prefix="ahead") as pool:
        coming = deque(pool.submit(make) for _ in workers)
        for wanted in count():
            while wanted not in made:
                if not coming:
                    return
                if (found := coming.popleft().result()) is not None:
                    made[found[0]] = found[1]
            coming.append(pool.submit(make))
            yield made.pop(wanted)
