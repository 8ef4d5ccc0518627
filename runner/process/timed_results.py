"""Results that the timed process keeps in a file for its verification, which `runner.verify.timed` judges."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from runner.messages import UNFINISHED
from runner.process.timed_step import TimedStep
from runner.workload import Workload
from store.record import ExperimentConfig

RESULTS_LIMIT_BYTES = 1 << 30
"""Results of an iteration that hold more are not kept."""
GRADIENTS_LIMIT_BYTES = 1 << 28
"""Gradients of a model that hold more are not kept: their copies would need memory after the measurement."""


def keep(path: str, timed: TimedStep, config: ExperimentConfig) -> list[str]:
    """Save the results of the last timed iteration, and of one with other inputs; return warnings."""
    usual, other, raised = dict[str, Any](), dict[str, Any](), None
    try:
        # Where each iteration has inputs of its own, those of one with the usual inputs are compared.
        has_last = timed.last is not None and not config.randomize_input
        usual = _results(timed, config, timed.take_last if has_last else timed.once)
        other = _results(timed, config, timed.once_with_other_inputs)
    except Exception as error:  # noqa: BLE001 - a model may refuse other inputs, which verification finds out
        raised = f"{type(error).__name__}: {error}"[:300]
    try:
        save(path, usual, other, raised)
    except Exception as error:  # noqa: BLE001 - the measurement stands without it
        return [f"the results of this process are not kept: {type(error).__name__}: {error}"[:300]]
    return []


def _results(timed: TimedStep, config: ExperimentConfig, iterate: Callable[[], Any]) -> dict[str, Any]:
    output = iterate()
    timed.runtime.after_iteration()
    timed.runtime.after_block()
    on_host, workload = timed.runtime.to_host(output), timed.workload
    if timed.own_step is not None and timed.trains:
        return results_of_call(on_host, workload)
    return results_of(on_host, config, workload.module)


def results_of(output: Any, config: ExperimentConfig, module: Any) -> dict[str, Any]:
    """Return the tensors of what a step returned, on the host already, and in train the gradients of its module."""
    from runner.verify.leaves import gradients

    kind = "output" if config.test == "eval" else "result" if config.collect_full_output else "loss"
    results = _tensors(output, kind)
    if config.test == "eval":
        return results
    held = sum(weight.nbytes for weight in module.parameters() if weight.requires_grad)
    return results | (gradients(module) if held <= GRADIENTS_LIMIT_BYTES else {})


def results_of_call(returned: Any, workload: Workload) -> dict[str, Any]:
    """Return what a call with its backward returned, on the host already, by the names that verification gives it.

    An input that has no part in the output has no gradient, which verification takes for zeros.
    """
    import torch

    from runner.verify.leaves import with_gradients

    output, gradients = returned
    results = _tensors(output, "prediction")
    of = with_gradients((workload.args, workload.kwargs), workload.module)
    for (name, tensor), gradient in zip(of.items(), gradients, strict=True):
        results |= _tensors(torch.zeros(tensor.shape, dtype=tensor.dtype) if gradient is None else gradient, name)
    return results


def _tensors(value: Any, name: str) -> dict[str, Any]:
    import torch

    from runner.verify.leaves import leaves

    return {path: leaf for path, leaf in leaves(value, name).items() if isinstance(leaf, torch.Tensor)}


def save(path: str, usual: dict[str, Any], other: dict[str, Any], raised: str | None = None) -> None:
    """Write the results of an iteration, and of one with other inputs.

    Args:
        path: of the file.
        usual: results of the usual inputs.
        other: results of the other ones.
        raised: the exception that one of the two iterations has raised.
    """
    import torch

    bytes_usual, bytes_other = (sum(leaf.nbytes for leaf in leaves.values()) for leaves in (usual, other))
    if bytes_usual <= RESULTS_LIMIT_BYTES:
        both = bytes_usual + bytes_other <= RESULTS_LIMIT_BYTES
        part = path + UNFINISHED
        torch.save({"usual": usual, "other": other if both else {}, "raised": raised}, part)
        os.replace(part, path)  # noqa: PTH105 - a process that is killed meanwhile leaves no part of a file there
