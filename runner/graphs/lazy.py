"""The graph of one lazy XLA iteration, and those that dynamo's bridge compiled: lowered to text, never run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runner.process import sites

_compiled: list[Any] = []
_left_out: dict[str, str] = {}
"""Ops that the bridge did not compile, by the place of the program that asked for them."""


def watch_bridge() -> None:
    """Remember each graph that dynamo's bridge compiles; it keeps them alive itself, so this costs nothing."""
    from torch_xla._dynamo import dynamo_bridge as bridge

    if getattr(bridge.extract_internal, "__wrapped__", None) is not None:
        return
    extract, partition = bridge.extract_internal, bridge.partition_fx_graph_for_cpu_fallback

    def extract_internal(xla_model: Any) -> Any:
        _compiled.append(xla_model)
        return extract(xla_model)

    def partition_fx_graph_for_cpu_fallback(*arguments: Any) -> Any:
        partitioned = partition(*arguments)
        _note_left_out(partitioned)
        return partitioned

    extract_internal.__wrapped__ = extract  # type: ignore[attr-defined] # marks the hook
    bridge.extract_internal = extract_internal
    bridge.partition_fx_graph_for_cpu_fallback = partition_fx_graph_for_cpu_fallback


def forget() -> None:
    """Forget the graphs that the bridge compiled before."""
    _compiled.clear()
    _left_out.clear()


def _note_left_out(partitioned: Any) -> None:
    """What is still a single op after partitioning runs outside XLA."""
    for node in partitioned.graph.nodes:
        if node.op != "call_function" or not hasattr(node.target, "overloadpacket"):
            continue
        site = sites.of_trace(node.meta.get("stack_trace") or "")
        if site is not None:
            _left_out.setdefault(sites.op_name(node.target), site)


def bridge_call_sites() -> dict[str, str]:
    """Return where the program asked for ops that the bridge left out, by op."""
    return dict(_left_out)


def bridged() -> bool:
    """Say whether the bridge compiled anything; lazy tensors trace each iteration otherwise."""
    return bool(_compiled)


def bridge_texts() -> list[str]:
    """Trace the bridge's graphs once more and return their HLO; nothing is executed."""
    import torch
    import torch_xla
    from torch.utils import _pytree as pytree

    texts = []
    for model in _compiled:
        torch_xla.sync()
        inputs = [value for value in model.xla_args if isinstance(value, torch.Tensor)]
        with torch.no_grad():
            outputs = [value for value in pytree.tree_leaves(model(*model.xla_args)) if isinstance(value, torch.Tensor)]
        texts += text_of([*outputs, *inputs])
        # What was traced must not be executed by the next sync, nor change the inputs.
        torch_xla._XLAC._clear_pending_irs(str(torch_xla.device()))  # noqa: SLF001 - no public way
    return texts


def roots(output: Any, module: Any) -> list[Any]:
    """Return the tensors that an iteration leaves behind: its result, gradients, changed parameters and buffers."""
    import torch
    from torch.utils import _pytree as pytree

    results = [value for value in pytree.tree_leaves(output) if isinstance(value, torch.Tensor)]
    parameters = list(module.parameters())
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    return [*results, *gradients, *parameters, *module.buffers()]


def text_of(tensors: Sequence[Any]) -> list[str]:
    """Return the HLO of what is pending on these tensors, as one program; nothing where nothing is."""
    import torch_xla

    on_device = [tensor for tensor in tensors if tensor.device.type == "xla"]
    flags = torch_xla._XLAC._check_tensor_need_materialization(on_device)  # noqa: SLF001 - no public way
    pending = [tensor for tensor, wanted in zip(on_device, flags, strict=True) if wanted]
    return [torch_xla._XLAC._get_xla_tensors_hlo(pending)] if pending else []  # noqa: SLF001 - no public way
