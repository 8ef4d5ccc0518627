"""Graph facts of the timed process, taken after its last timed block."""

from __future__ import annotations

import contextlib
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from runner.graphs import hlo, lazy
from store.record import ExperimentConfig, Graph

MOST = 64
"""Graphs kept per experiment: a program that compiles for ever must not fill the record."""


def watch(config: ExperimentConfig) -> None:
    """Look over the shoulder of the compilers; called before the first compilation.

    A process may have measured another experiment before: its graphs are forgotten.
    """
    forget_dynamo()
    lazy.forget()
    # Another version may have no such place to look from: then there are fewer facts, and the same times.
    with contextlib.suppress(ImportError, AttributeError):
        if config.dynamo:
            watch_dynamo()
        if config.dynamo and config.xla:
            lazy.watch_bridge()


def graphs(config: ExperimentConfig, output: Any, module: Any) -> list[Graph]:
    """Return the experiment's graphs; under lazy XLA that pending on `output`, which nobody has synchronised.

    Where an iteration reads from the device on its way, what it recorded before has run by then: this is the last.
    """
    collected: list[Graph] = []
    if config.dynamo:
        collected += captured()
    if config.dynamo == "inductor":
        collected += generated()
    if lazy.bridged():
        collected += [hlo.graph(text, "hlo") for text in lazy.bridge_texts()]
    elif output is not None:
        collected += [hlo.graph(text, "hlo") for text in lazy.text_of(lazy.roots(output, module))]
    return collected[:MOST]


# What dynamo captured, each graph as it is handed to its backend, and what inductor generated from it.


_DIGEST_BYTES = 16
_NO_WORK = frozenset({"placeholder", "output", "get_attr"})
_captured: list[list[tuple[str, str]]] = []


def watch_dynamo() -> None:
    """Have dynamo show every graph here before its backend gets it; this takes microseconds per operation."""
    from torch._dynamo.output_graph import OutputGraph

    if getattr(OutputGraph.call_user_compiler, "__wrapped__", None) is not None:
        return
    original = OutputGraph.call_user_compiler

    def call_user_compiler(self: Any, module: Any, example_inputs: Any) -> Any:
        _captured.append(list(_lines(module.graph.nodes)))
        return original(self, module, example_inputs)

    call_user_compiler.__wrapped__ = original  # type: ignore[attr-defined] # marks the hook
    OutputGraph.call_user_compiler = call_user_compiler


def forget_dynamo() -> None:
    """Forget earlier graphs, so that a program that is compiled again is captured and loaded again."""
    _captured.clear()
    cache = _cache()
    if cache is not None:
        cache.cache_clear()


def captured() -> list[Graph]:
    """Return the graphs that dynamo captured since `forget`."""
    return [_captured_graph(lines) for lines in _captured]


def _captured_graph(lines: list[tuple[str, str]]) -> Graph:
    histogram = Counter(target for target, _ in lines if target)
    text = "\n".join(f"{target} {detail}" for target, detail in lines)
    return Graph(
        kind="fx",
        fingerprint=hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest(),
        ops=sum(histogram.values()),
        op_histogram=dict(sorted(histogram.items())),
    )


def _lines(nodes: Iterable[Any]) -> Iterable[tuple[str, str]]:
    """Yield (operation, detail) per node; names are left out, an argument is the number of the node it comes from."""
    numbers: dict[Any, int] = {}
    for number, node in enumerate(nodes):
        numbers[node] = number
        if node.op in _NO_WORK:
            value = node.meta.get("example_value")
            shape = f"{tuple(getattr(value, 'shape', ()))} {getattr(value, 'dtype', '')}"
            yield "", f"{node.op} {shape} {_plain(node.args, numbers)}"
        else:
            target = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "function")
            yield target, f"{node.op} {_plain(node.args, numbers)} {_plain(node.kwargs, numbers)}"


def _plain(value: Any, numbers: dict[Any, int]) -> str:
    """Write an argument so that equal programs give equal text in every process (no addresses)."""
    if isinstance(value, dict):
        return ",".join(f"{key}={_plain(part, numbers)}" for key, part in value.items())
    if isinstance(value, tuple | list):
        return "(" + ",".join([_plain(part, numbers) for part in value]) + ")"
    if isinstance(value, bool | int | float | str | None):
        return repr(value)
    number = numbers.get(value) if value.__hash__ else None
    return f"%{number}" if number is not None else f"<{type(value).__name__} {getattr(value, '__name__', '')}>"


# Inductor: the modules that it wrote and loaded, by the kernels that they call.

_KERNEL = re.compile(r"^(?P<name>(?:cpp|triton|pallas|mtia)_\w+) = ", re.MULTILINE)
_EXTERN = re.compile(r"^\s+(?:buf\d+ = )?(?:extern_kernels\.(\w+)|torch\.ops\.\w+\.([\w.]+))\(", re.MULTILINE)
_CALL = re.compile(r"^\s+(?:\w+ = )?(?P<name>(?:cpp|triton|pallas|mtia)_\w+?)(?:_(\d+))?(?:\.run)?\(", re.MULTILINE)
_COMMENT = re.compile(r"#.*$", re.MULTILINE)
_WRAPPER = "def call("


def _cache() -> Any:
    """Return inductor's list of generated modules; None where inductor was never used."""
    return getattr(sys.modules.get("torch._inductor.codecache"), "PyCodeCache", None)


def generated() -> list[Graph]:
    """Describe every generated wrapper that this process has loaded since `forget`, in the order of loading."""
    cache = _cache()
    files = [getattr(module, "__file__", None) for module in getattr(cache, "modules", ())]
    return describe([Path(file).read_text() for file in files if file and Path(file).exists()])


def describe(sources: Sequence[str]) -> list[Graph]:
    """Describe generated modules; those that only define a kernel are part of the wrapper that calls it."""
    return [_generated_graph(source) for source in sources if _WRAPPER in source]


def _generated_graph(source: str) -> Graph:
    code = _COMMENT.sub("", source)
    body = code[code.index(_WRAPPER) :]
    histogram = Counter(match["name"] for match in _CALL.finditer(body))
    histogram.update(match[1] or match[2] for match in _EXTERN.finditer(body))
    return Graph(
        kind="inductor",
        fingerprint=hashlib.blake2b(code.encode(), digest_size=_DIGEST_BYTES).hexdigest(),
        ops=sum(histogram.values()),
        op_histogram=dict(sorted(histogram.items())),
        fusions=len(set(_KERNEL.findall(code))),
    )
