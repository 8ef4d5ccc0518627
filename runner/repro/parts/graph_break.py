"""A small function, and why dynamo splits its graph."""

from __future__ import annotations

from runner.repro.parts.breaks import explain
from runner.repro.parts.given import call, inputs
from runner.repro.parts.report import run
from runner.repro.parts.step import open_device, set_switches


def main() -> int:
    """Ask dynamo to explain the function."""
    set_switches()
    device = open_device()
    return explain(call, *[value.to(device) for value in inputs()])


if __name__ == "__main__":
    run(main)
