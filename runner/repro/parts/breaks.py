"""Why dynamo splits a function's graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from runner.repro.parts.report import is_expected, not_shown, shown

if TYPE_CHECKING:
    from collections.abc import Callable


def explain(function: Callable[..., Any], *arguments: Any) -> int:
    """Ask dynamo to explain a call; say whether the expected reason is among its own."""
    found = torch._dynamo.explain(function)(*arguments)  # noqa: SLF001 - documented so
    print(f"torch._dynamo.explain: {found.graph_count} graphs")
    # It counts breaks between graphs only; dynamo's counter has also those before the first.
    counted = torch._dynamo.utils.counters["graph_break"]  # noqa: SLF001 - there is no public counter
    expected = next((reason for reason in counted if is_expected(str(reason))), None)
    if expected is None:
        print("".join(f"another reason: {reason}\n" for reason in counted), end="")
        return not_shown("dynamo gives no such reason")
    print(f"{counted[expected]} times: {expected}")
    for each in found.break_reasons:
        if each.reason == expected:
            print("".join(f"  {frame.filename}:{frame.lineno} in {frame.name}\n" for frame in each.user_stack), end="")
    return shown("dynamo splits the graph for the expected reason")
