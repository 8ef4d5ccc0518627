"""The smallest graph that dynamo's minifier found to raise where its backend compiles it."""

from __future__ import annotations

import torch
from torch._dynamo.debug_utils import InputReader

from runner.repro.parts.given import DYNAMO, load_args, mod
from runner.repro.parts.report import judge_message, not_shown, run
from runner.repro.parts.step import set_switches


def main() -> int:
    """Compile the graph; what that raises is the fault."""
    set_switches()
    reader = InputReader()
    load_args(reader)
    try:
        with torch.no_grad():
            torch.compile(mod, backend=DYNAMO)(*reader.args)
    except Exception as error:  # noqa: BLE001 - whatever it raises is compared
        return judge_message(f"{type(error).__name__}: {error}")
    return not_shown("it ran to its end")


if __name__ == "__main__":
    run(main)
