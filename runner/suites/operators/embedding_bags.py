"""FBGEMM's table-batched embedding bags, as PARAM benchmarks them; the package is imported when one is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.suites.operators.generate import Draw, materialize
from runner.suites.operators.registry import generator

if TYPE_CHECKING:
    from runner.suites.operators.arguments import Arguments


@generator("SplitTableBatchedEmbeddingBagsCodegenInputDataGenerator")
def requests(arguments: Arguments, draw: Draw) -> tuple[list[Any], dict[str, Any]]:
    """Return indices, offsets and weights per sample: uniform indices, the same pooling factor in every bag."""
    import torch

    tables, rows, _, batch_size, factor, weighted, _ = (materialize(each, draw) for each in arguments.args)
    count = tables * batch_size * factor
    indices = torch.randint(rows, (count,), generator=draw.torch)
    offsets = torch.arange(0, count + 1, factor)
    weights = torch.rand(count, generator=draw.torch) if weighted else None
    return [indices, offsets, weights], {}


def build(
    tables: int,
    rows: int,
    dimension: int,
    pooling: int,
    weighted: bool,  # noqa: FBT001 - the order of PARAM's files
    precision: str,
    optimizer: str,
    lr: float = 0.01,
    eps: float = 1.0e-8,
    weight_decay: float = 0.0,
) -> Any:
    """Return the operator on the host, with PARAM's options."""
    from fbgemm_gpu import split_table_batched_embeddings_ops as ops

    del weighted
    where = (ops.EmbeddingLocation.HOST, ops.ComputeDevice.CPU)
    return ops.SplitTableBatchedEmbeddingBagsCodegen(
        [(rows, dimension, *where) for _ in range(tables)],
        optimizer=ops.OptimType(optimizer),
        pooling_mode=ops.PoolingMode(pooling),
        weights_precision=ops.SparseType(precision),
        stochastic_rounding=True,
        learning_rate=lr,
        eps=eps,
        weight_decay=weight_decay,
    )
