"""The flags of planning and measuring, spelled as the peers spell them; one module per group of flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.flags.agreement import agreeing
from runner.flags.artifacts import add_artifact_flags
from runner.flags.configuration import add_configuration_flags
from runner.flags.given import given_settings
from runner.flags.protocol import add_protocol_flags
from runner.flags.request import command_line, plan_request, settings
from runner.flags.selection import SMOKE, add_selection_flags
from runner.flags.verification import add_verification_flags

if TYPE_CHECKING:
    import argparse

__all__ = [
    "SMOKE",
    "USUAL_OF_PLAN",
    "add_measure_flags",
    "add_plan_flags",
    "agreeing",
    "command_line",
    "given_settings",
    "plan_request",
    "settings",
]


USUAL_OF_PLAN = ("--suite-name", "--only", "--filter", "--backend", "--test", "--accelerator", "--smoke", "--env")
"""Flags of planning that `--help` shows; `--help-all` shows all."""


def add_plan_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say which experiments there are."""
    add_selection_flags(parser)
    add_configuration_flags(parser)


def add_measure_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say how a run measures, verifies, and what it leaves behind."""
    add_protocol_flags(parser)
    add_verification_flags(parser)
    add_artifact_flags(parser)
