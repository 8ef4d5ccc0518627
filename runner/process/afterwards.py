"""After the last timed block: the compiled graphs, who asks for fallback ops, and what these are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.backends import openxla
from runner.graphs import collect
from runner.process.samples import IN_STEADY_STATE, Block, Samples
from store.record import ExperimentConfig, FallbackClass, FallbackOp, Graph


@dataclass
class Findings:
    """Empty where nothing was looked at."""

    graphs: list[Graph] = field(default_factory=list)
    call_sites: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


RESULTS_LIMIT_BYTES = 1 << 30
"""Results of an iteration that hold more are not kept."""
GRADIENTS_LIMIT_BYTES = 1 << 28
"""Gradients of a model that hold more are not kept: their copies would need memory after the measurement."""


def results_of(output: Any, config: ExperimentConfig, module: Any = None) -> dict[str, Any]:
    """Return the tensors of what a step returned, on the host already, and in train the gradients of its module."""
    import torch

    from runner.verify.leaves import gradients, leaves

    kind = "output" if config.test == "eval" else "result" if config.collect_full_output else "loss"
    results = {name: leaf for name, leaf in leaves(output, kind).items() if isinstance(leaf, torch.Tensor)}
    if config.test == "eval" or module is None:
        return results
    held = sum(weight.nbytes for weight in module.parameters() if weight.requires_grad)
    return results | (gradients(module) if held <= GRADIENTS_LIMIT_BYTES else {})


def keep_results(path: str, usual: dict[str, Any], other: dict[str, Any]) -> None:
    """Write the results of an iteration, and of one with other inputs, for `runner.verify.timed`."""
    import torch

    bytes_usual, bytes_other = (sum(leaf.nbytes for leaf in leaves.values()) for leaves in (usual, other))
    if bytes_usual <= RESULTS_LIMIT_BYTES:
        both = bytes_usual + bytes_other <= RESULTS_LIMIT_BYTES
        torch.save({"usual": usual, "other": other if both else {}}, path)


def find(config: ExperimentConfig, module: Any, iterate: Callable[[], Any], fallbacks: Collection[str]) -> Findings:
    """Look at the graphs and, where ops fell back, for their callers.

    Args:
        config: of the experiment.
        module: its model, after the last timed block.
        iterate: runs one iteration and returns its result, not synchronised.
        fallbacks: ops that ran outside the compiler.
    """
    findings = Findings()
    compiled = bool(config.dynamo)
    try:
        lazy = bool(config.xla) and not config.torch_xla2 and not collect.bridged()
        # Compiled code must not run under the finder: it would be compiled again.
        output = _under_finder(iterate, () if compiled else fallbacks, findings) if lazy else None
        findings.graphs = collect.graphs(config, output, module)
        unknown = set(fallbacks) - findings.call_sites.keys()
        if unknown and compiled:
            findings.call_sites = collect.bridge_call_sites()
            if unknown := unknown - findings.call_sites.keys():
                import torch

                # The step as it is written: compiled code has no places in the program. Last: what it leaves pending
                # must not be executed.
                with torch.compiler.set_stance("force_eager"):
                    _under_finder(iterate, unknown, findings)
    except Exception as error:  # noqa: BLE001 - the measurement stands without it
        findings.warnings.append(f"graphs and call sites are not complete: {type(error).__name__}: {error}"[:300])
    return findings


def _under_finder(iterate: Callable[[], Any], fallbacks: Collection[str], findings: Findings) -> Any:
    finder = collect.finder(fallbacks) if fallbacks else None
    with finder or contextlib.nullcontext():
        output = iterate()
    findings.call_sites |= finder.call_sites if finder else {}
    return output


# Ops that XLA did not lower: how often per iteration, and of which class.


def classify(op: str) -> FallbackClass:
    """Return the class of an op, named without `aten::`."""
    if openxla.is_host_read(op):
        return "host_read"
    return "opt_in_lowering" if openxla.is_opt_in(op) else "no_lowering"


def summarize_fallbacks(samples: Samples) -> list[FallbackOp]:
    """Return one entry per op: calls per steady iteration, and calls while compiling and warming up apart."""
    steady = samples.of_kind(*IN_STEADY_STATE)
    before = samples.of_kind("first", "warmup")
    iterations = sum(block.inner_loops for block in steady) * samples.iterations_per_run
    ops = {op for block in samples.blocks for op in block.fallback_calls}
    return [
        FallbackOp(
            op=op,
            klass=classify(op),
            calls_per_iteration=_calls(steady, op) / iterations if iterations else None,
            calls_compile=_calls(before, op),
        )
        for op in sorted(ops)
    ]


def _calls(blocks: Sequence[Block], op: str) -> int:
    return sum(block.fallback_calls.get(op, 0) for block in blocks)
