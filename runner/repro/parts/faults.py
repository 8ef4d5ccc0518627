"""What each kind of script does: it runs something small or the whole model, and says whether the fault is there.

`wrong_answer` alone has a module of its own.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from runner.repro.parts.given import (
    DTYPE,
    DYNAMO,
    EXIT_CODE,
    LIMIT_S,
    OP,
    SIGNAL,
    TEST,
    build,
    call,
    inputs,
    load_args,
    mod,
)
from runner.repro.parts.step import (
    cast,
    is_expected,
    judge_message,
    make_step,
    not_shown,
    open_device,
    place,
    run_model,
    set_switches,
    shown,
)

_CHILD = "--in-child"


def fallback_op() -> int:
    """Call an op on XLA and read the counter that says whether it ran on the CPU."""
    import torch_xla
    from torch_xla.debug import metrics

    values = [value.to(torch_xla.device()) for value in inputs()]
    torch_xla.sync(wait=True)
    before = metrics.counter_value(OP) or 0
    call(*values)
    torch_xla.sync(wait=True)
    return judge_calls((metrics.counter_value(OP) or 0) - before)


def fallback_model() -> int:
    """Run some iterations of a model on XLA and read the counter that says whether one of its ops ran on the CPU."""
    from torch_xla.debug import metrics

    run_model(build())
    return judge_calls(metrics.counter_value(OP) or 0)


def judge_calls(calls: int) -> int:
    """Say whether the op was called and is not lowered."""
    print(f"counter {OP}: {calls}")
    return shown(f"{OP} is not lowered") if calls else not_shown(f"{OP} was not counted: it is lowered, or not called")


def graph_break() -> int:
    """Ask dynamo to explain a small function."""
    set_switches()
    device = open_device()
    return explain(call, *[value.to(device) for value in inputs()])


def graph_break_model() -> int:
    """Ask dynamo to explain one iteration of a model."""
    module, args, kwargs, loss = build()
    set_switches()
    device = open_device()
    module = place(module, DTYPE, device, loss)
    args, kwargs = pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.to(device), cast((args, kwargs), DTYPE))
    with torch.set_grad_enabled(TEST == "train"):
        return explain(make_step(module, loss, device), args, kwargs)


def explain(function: Callable[..., Any], *arguments: Any) -> int:
    """Ask dynamo to explain a call; say whether the expected reason is among its own."""
    explanation = torch._dynamo.explain(function)(*arguments)  # noqa: SLF001 - documented so
    print(f"torch._dynamo.explain: {explanation.graph_count} graphs")
    # It counts breaks between graphs only; dynamo's counter has also those before the first.
    counted = torch._dynamo.utils.counters["graph_break"]  # noqa: SLF001 - there is no public counter
    expected = next((reason for reason in counted if is_expected(str(reason))), None)
    if expected is None:
        print("".join(f"another reason: {reason}\n" for reason in counted), end="")
        return not_shown("dynamo gives no such reason")
    print(f"{counted[expected]} times: {expected}")
    for split in explanation.break_reasons:
        if split.reason == expected:
            frames = split.user_stack
            print("".join(f"  {frame.filename}:{frame.lineno} in {frame.name}\n" for frame in frames), end="")
    return shown("dynamo splits the graph for the expected reason")


def raises() -> int:
    """Run the model; what it raises where its backend compiles or runs it is the fault."""
    built = build()
    return judge_raised(lambda: run_model(built))


def judge_raised(work: Callable[[], Any]) -> int:
    """Do something and say whether it raises what is expected."""
    try:
        work()
    except Exception as error:  # noqa: BLE001 - whatever it raises is compared
        return judge_message(f"{type(error).__name__}: {error}")
    return not_shown("it ran to its end")


def minified() -> int:
    """Compile the smallest graph that dynamo's minifier found to raise; what that raises is the fault."""
    from torch._dynamo.debug_utils import InputReader

    set_switches()
    reader = InputReader()
    load_args(reader)
    with torch.no_grad():
        return judge_raised(lambda: torch.compile(mod, backend=DYNAMO)(*reader.args))


def dies() -> int:
    """Run a model that ends its process, or hangs, in another process and see how that ends."""
    if _CHILD in sys.argv:
        run_model(build())
        return 0
    child = subprocess.Popen([sys.executable, __file__, _CHILD])
    try:
        code = child.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        if SIGNAL is None and EXIT_CODE is None:
            return shown(f"still running after {LIMIT_S:g} s")
        return not_shown(f"it hangs: still running after {LIMIT_S:g} s")
    print(f"the process ended with {code}" + (" (a signal)" if code < 0 else ""))
    expected = -SIGNAL if SIGNAL is not None else EXIT_CODE
    return shown("it ends as expected") if code == expected else not_shown("it ends in another way")
