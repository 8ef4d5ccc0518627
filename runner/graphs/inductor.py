"""What inductor generated: the modules it wrote and loaded, by the kernels they call."""

from __future__ import annotations

import hashlib
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from store.record import Graph

if TYPE_CHECKING:
    from collections.abc import Sequence

_DIGEST_BYTES = 16
_KERNEL = re.compile(r"^(?P<name>(?:cpp|triton|pallas|mtia)_\w+) = ", re.MULTILINE)
_EXTERN = re.compile(r"^\s+(?:buf\d+ = )?(?:extern_kernels\.(\w+)|torch\.ops\.\w+\.([\w.]+))\(", re.MULTILINE)
_CALL = re.compile(r"^\s+(?:\w+ = )?(?P<name>(?:cpp|triton|pallas|mtia)_\w+?)(?:_(\d+))?(?:\.run)?\(", re.MULTILINE)
_COMMENT = re.compile(r"#.*$", re.MULTILINE)
_WRAPPER = "def call("


def forget() -> None:
    """Forget what was loaded before, so that a program that is compiled again is loaded again."""
    cache = _cache()
    if cache is not None:
        cache.cache_clear()


def _cache() -> Any:
    """Return inductor's list of generated modules; None where inductor was never used."""
    return getattr(sys.modules.get("torch._inductor.codecache"), "PyCodeCache", None)


def graphs() -> list[Graph]:
    """Describe every generated wrapper that this process has loaded since `forget`, in the order of loading."""
    cache = _cache()
    files = [getattr(module, "__file__", None) for module in getattr(cache, "modules", ())]
    return describe([Path(file).read_text() for file in files if file and Path(file).exists()])


def describe(sources: Sequence[str]) -> list[Graph]:
    """Describe generated modules; those that only define a kernel are part of the wrapper that calls it."""
    return [_graph(source) for source in sources if _WRAPPER in source]


def _graph(source: str) -> Graph:
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
