"""What lazy tensors and their bridge to dynamo show of graphs, and where the model's own program asks for an op."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

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
        site = of_trace(node.meta.get("stack_trace") or "")
        if site is not None:
            _left_out.setdefault(op_name(node.target), site)


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


# Where the model's own program asks for an op: found in one iteration that is not timed.


_PREFIX = "aten."
_OVERLOAD = ".default"
_MACHINERY = ("torch", "torch_xla", "functorch", "torch_mlir")
_RUNNER = Path(__file__).parents[1]
_SUITES = _RUNNER / "suites"
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_STANDARD_LIBRARY = sysconfig.get_path("stdlib")


def finder(ops: Iterable[str]) -> Any:
    """Return a context manager whose `call_sites` say who calls these ops, which are named without `aten::`."""
    from torch.utils._python_dispatch import TorchDispatchMode

    wanted = frozenset(ops)

    class Finder(TorchDispatchMode):  # type: ignore[misc] # mypy does not follow torch
        """Sees every op below autograd, with the Python stack that led there."""

        def __init__(self) -> None:
            super().__init__()
            self.call_sites: dict[str, str] = {}

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = op_name(func)
            if name in wanted and name not in self.call_sites:
                site = caller(sys._getframe())  # noqa: SLF001 - the stack is what is asked for
                if site is not None:
                    self.call_sites[name] = site
            return func(*args, **(kwargs or {}))

    return Finder()


def op_name(overload: Any) -> str:
    """Return an op as PyTorch/XLA's counters name it, without `aten::`."""
    return str(overload).removeprefix(_PREFIX).removesuffix(_OVERLOAD)


def caller(frame: FrameType | None) -> str | None:
    """Return the innermost place outside torch and this runner, as `file:line in function`."""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if _is_program(path):
            return f"{_short(path)}:{frame.f_lineno} in {frame.f_code.co_name}"
        frame = frame.f_back
    return None


def of_trace(text: str) -> str | None:
    """Return the same of a stack trace as dynamo keeps it with each node, innermost last."""
    for file, line, function in reversed(_FRAME.findall(text)):
        if _is_program(Path(file)):
            return f"{_short(Path(file))}:{line} in {function}"
    return None


def _is_program(path: Path) -> bool:
    if path.is_relative_to(_RUNNER):
        return path.is_relative_to(_SUITES)
    package = _package(path)
    if package is None and path.is_relative_to(_STANDARD_LIBRARY):
        return False
    # Generated code has no file.
    return path.is_absolute() and package not in _MACHINERY


def _package(path: Path) -> str | None:
    """Return the installed package that a file belongs to."""
    parts = path.parts
    return parts[parts.index("site-packages") + 1] if "site-packages" in parts[:-1] else None


def _short(path: Path) -> str:
    """Return the path from its package on: the folder it is installed in says nothing."""
    parts = path.parts
    if "site-packages" in parts[:-1]:
        return str(Path(*parts[parts.index("site-packages") + 1 :]))
    return str(path.relative_to(_RUNNER.parent)) if path.is_relative_to(_RUNNER) else str(path)
