"""Some iterations of a model on XLA, and the counter that says that one of its ops ran on the CPU."""

from __future__ import annotations

from runner.repro.parts.given import OP, build
from runner.repro.parts.report import not_shown, run, shown
from runner.repro.parts.step import run_model


def main() -> int:
    """Run the model and read the op's counter."""
    from torch_xla.debug import metrics

    run_model(build())
    calls = metrics.counter_value(OP) or 0
    print(f"counter {OP}: {calls}")
    return shown(f"{OP} is not lowered") if calls else not_shown(f"{OP} was not counted: it is lowered, or not called")


if __name__ == "__main__":
    run(main)
