"""What dynamo captured: each graph it handed to its backend, summarized as it goes by (microseconds per operation)."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any

from store.record import Graph

if TYPE_CHECKING:
    from collections.abc import Iterable

_DIGEST_BYTES = 16
_NO_WORK = frozenset({"placeholder", "output", "get_attr"})
_captured: list[list[tuple[str, str]]] = []


def watch() -> None:
    """Have dynamo show every graph here before its backend gets it."""
    from torch._dynamo.output_graph import OutputGraph

    if getattr(OutputGraph.call_user_compiler, "__wrapped__", None) is not None:
        return
    original = OutputGraph.call_user_compiler

    def call_user_compiler(self: Any, module: Any, example_inputs: Any) -> Any:
        _captured.append(list(_lines(module.graph.nodes)))
        return original(self, module, example_inputs)

    call_user_compiler.__wrapped__ = original  # type: ignore[attr-defined] # marks the hook
    OutputGraph.call_user_compiler = call_user_compiler


def forget() -> None:
    """Forget the graphs that were seen before."""
    _captured.clear()


def graphs() -> list[Graph]:
    """Return what was captured since `forget`."""
    return [_graph(lines) for lines in _captured]


def _graph(lines: list[tuple[str, str]]) -> Graph:
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
