"""The process that runs one iteration of a model and writes down how it calls an op; only it imports torch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from runner.backends import backend_of, steps
from runner.process import sites
from runner.repro.calls import Call, CaptureRequest, call_text
from runner.suites import get_suite
from runner.suites.base import BuildRequest, local_context


def main() -> None:
    """Read what is asked for, run, write the call to the file of the command line."""
    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=CaptureRequest)
    call = _dispatched(asked) or (_in_graphs(asked) if asked.config.dynamo else None)
    if call is None:
        sys.exit(f"the model does not call {asked.op} in one iteration")
    Path(sys.argv[1]).write_bytes(msgspec.json.encode(call))


def _is(func: Any, op: str) -> bool:
    return sites.op_name(func).split(".", maxsplit=1)[0] == op


def _dispatched(asked: CaptureRequest) -> Call | None:
    """Run one iteration without dynamo under a mode that sees every op; return the first call of the one."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    calls: list[Call] = []

    class Mode(TorchDispatchMode):  # type: ignore[misc] # mypy does not follow torch
        """Sees every op below autograd."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if not calls and _is(func, asked.op):
                calls.append(call_text(func, args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    step, inputs, runtime = _prepared(asked)
    # The backward pass runs in threads of its own otherwise, which the mode does not reach.
    try:
        with _gradients(asked), torch.autograd.set_multithreading_enabled(False), Mode():
            output = step(*inputs)
            runtime.after_iteration()
            runtime.after_block()
            del output
    except Exception:
        # What it raises behind the call does not matter, and a program for dynamo may need it.
        if not calls and not asked.config.dynamo:
            raise
    return calls[0] if calls else None


def _in_graphs(asked: CaptureRequest) -> Call | None:
    """Compile one iteration through AOTAutograd; return the op as the graphs of forward and backward have it."""
    import torch
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    calls: list[Call] = []

    def look(module: Any, inputs: Any) -> Any:
        del inputs
        ops = [node for node in module.graph.nodes if hasattr(node.target, "overloadpacket")]
        calls.extend(call_text(node.target, node.args, node.kwargs) for node in ops if _is(node.target, asked.op))
        return make_boxed_func(module.forward)

    step, inputs, runtime = _prepared(asked)
    with _gradients(asked):
        torch.compile(step, backend=aot_autograd(fw_compiler=look, bw_compiler=look))(*inputs)
        runtime.after_iteration()
        runtime.after_block()
    return calls[0] if calls else None


def _gradients(asked: CaptureRequest) -> Any:
    import torch

    return torch.set_grad_enabled(asked.config.test == "train")


def _prepared(asked: CaptureRequest) -> tuple[Any, Any, Any]:
    """Build the model as its suite does and bring it to its device; return step, inputs and runtime."""
    config = asked.config
    request = BuildRequest(
        model_name=config.model_name,
        test=config.test,
        accelerator=config.accelerator,
        batch_size=asked.batch_size,
        seed=asked.seed,
        loss=config.loss,
        operator=config.operator,
        context=local_context(None, asked.own),
    )
    workload = get_suite(config.suite_name).build(request)
    runtime = backend_of(config.xla, None).open(config)
    steps.cast(workload, config)
    runtime.place(workload)
    step = steps.make_step(workload, config, runtime.device)
    runtime.after_block()
    return step, steps.fresh_inputs(workload, 1)[0], runtime


if __name__ == "__main__":
    main()
