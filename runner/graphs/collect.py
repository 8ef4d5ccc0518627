"""Graph facts of the timed process, taken after its last timed block."""

from __future__ import annotations

import contextlib
import hashlib
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from runner.graphs import hlo
from store.record import ExperimentConfig, Graph

MOST = 64
"""Graphs kept per experiment: a program that compiles for ever must not fill the record."""


def watch(config: ExperimentConfig) -> None:
    """Look over the shoulder of the compilers; called before the first compilation.

    A process may have measured another experiment before: its graphs are forgotten.
    """
    forget_dynamo()
    forget_bridge()
    # Another version may have no such place to look from: then there are fewer facts, and the same times.
    with contextlib.suppress(ImportError, AttributeError):
        if config.dynamo:
            watch_dynamo()
        if config.dynamo and config.xla:
            watch_bridge()


def graphs(config: ExperimentConfig, output: Any, module: Any) -> list[Graph]:
    """Return the experiment's graphs; under lazy XLA that pending on `output`, which nobody has synchronised.

    Where an iteration reads from the device on its way, what it recorded before has run by then: this is the last.
    """
    collected: list[Graph] = []
    if config.dynamo:
        collected += captured()
    if config.dynamo == "inductor":
        collected += generated()
    if bridged():
        collected += [hlo.graph(text, "hlo") for text in bridge_texts()]
    elif output is not None:
        collected += [hlo.graph(text, "hlo") for text in text_of(roots(output, module))]
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
    """Return the graphs that dynamo captured since `forget_dynamo`."""
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
    """Describe every generated wrapper that this process has loaded since `forget_dynamo`, in the order of loading."""
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


# What lazy tensors and their bridge to dynamo show of graphs, and where the model's own program asks for an op.


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


def forget_bridge() -> None:
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
