"""A model that raises where its backend compiles or runs it."""

from __future__ import annotations

from runner.repro.parts.given import build
from runner.repro.parts.report import judge_message, not_shown, run
from runner.repro.parts.step import run_model


def main() -> int:
    """Run the model; what it raises is the fault."""
    built = build()
    try:
        run_model(built)
    except Exception as error:  # noqa: BLE001 - whatever it raises is compared
        return judge_message(f"{type(error).__name__}: {error}")
    return not_shown("it ran to its end")


if __name__ == "__main__":
    run(main)
