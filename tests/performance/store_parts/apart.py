"""Measure a function in a process of its own: seconds, and the most memory it held."""

import multiprocessing
import resource
import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Cost(NamedTuple):
    """What a call cost; `rss_bytes` is that of its process, Python and its packages included."""

    seconds: float
    cpu_s: float
    rss_bytes: int


def cost(function: Callable[..., Any], *arguments: Any) -> Cost:
    """Call a function in a new interpreter and return what it cost, without the interpreter's start.

    Raises:
        RuntimeError: it failed.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_measured, args=(there, function, arguments))
    child.start()
    there.close()
    try:
        found = here.recv()
    except EOFError:
        raise RuntimeError(f"{function.__name__} failed") from None
    finally:
        child.join()
    return Cost(*found)


def _measured(connection: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    began, cpu = time.perf_counter(), time.process_time()
    function(*arguments)
    spent = time.perf_counter() - began, time.process_time() - cpu
    connection.send((*spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))
