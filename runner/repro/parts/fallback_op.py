"""One call of an op on XLA, and the counter that says that it ran on the CPU."""

from __future__ import annotations

from runner.repro.parts.given import OP, call, inputs
from runner.repro.parts.report import not_shown, run, shown


def main() -> int:
    """Call the op and read its counter."""
    import torch_xla
    from torch_xla.debug import metrics

    values = [value.to(torch_xla.device()) for value in inputs()]
    torch_xla.sync(wait=True)
    before = metrics.counter_value(OP) or 0
    call(*values)
    torch_xla.sync(wait=True)
    calls = (metrics.counter_value(OP) or 0) - before
    print(f"counter {OP}: {calls}")
    return shown(f"{OP} is not lowered") if calls else not_shown(f"{OP} was not counted: it is lowered, or not called")


if __name__ == "__main__":
    run(main)
