"""The iterators of configurations: from a list of the file to (id, arguments) of each case. Imports no torch."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from runner.suites.operators.errors import FieldError
from runner.suites.operators.ranges import expanded, require, variants
from runner.suites.operators.registry import iterator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEFAULT = "DefaultConfigIterator"


@iterator(DEFAULT)
def default(configs: Sequence[Any], build: dict[str, Any] | None) -> Iterator[tuple[str, Any]]:  # noqa: ARG001 - the form of all
    """Yield each as it stands."""
    for number, config in enumerate(configs):
        yield str(number), config


@iterator("RangeConfigIterator")
def ranges(configs: Sequence[Any], build: dict[str, Any] | None) -> Iterator[tuple[str, Any]]:  # noqa: ARG001 - the form of all
    """Yield every combination that the macros of each stand for."""
    for number, config in enumerate(configs):
        for count, found in enumerate(expanded(config, f"[{number}]")):
            yield f"{number}_{count}", found


@iterator("SplitTableBatchedEmbeddingBagsCodegenInputIterator")
def embedding_bags(configs: Sequence[Any], build: dict[str, Any] | None) -> Iterator[tuple[str, Any]]:
    """Yield, for each batch size and pooling factor, what FBGEMM's embedding bags need of their build beside them."""
    built = (build or {}).get("args") or []
    if len(built) < 6:  # noqa: PLR2004 - tables, rows, dimension, pooling, weighted, precision
        raise FieldError("", "the build has six arguments: tables, rows, dimension, pooling, weighted, precision")
    tables, rows, dimension, _, weighted, precision = built[:6]
    for number, config in enumerate(configs):
        given = config.get("args") if isinstance(config, dict) else None
        if not isinstance(given, list) or len(given) < 2:  # noqa: PLR2004 - as the sentence says
            raise FieldError(f"[{number}].args", "needs a batch size and a pooling factor")
        sizes = variants(given[0], f"[{number}].args[0]")
        factors = variants(given[1], f"[{number}].args[1]")
        require(len(sizes) * len(factors), f"[{number}].args")
        for count, (size, factor) in enumerate(product(sizes, factors)):
            yield f"{number}_{count}", {"args": [tables, rows, dimension, size, factor, weighted, precision]}
