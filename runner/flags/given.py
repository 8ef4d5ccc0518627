"""Which protocol settings a command line gives; the others may come from a plan file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from runner.flags.artifacts import INSTRUMENTS
from runner.messages import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

_FLAGS_OF = {
    "time_budget_s": ("time_budget",),
    "timeout_s": ("subprocess_timeout",),
    "memory_limit_bytes": ("memory_limit",),
    "artifact_limit_bytes": ("artifact_limit",),
    "verify": ("verify", "verify_only"),
    "instruments": (*INSTRUMENTS, "save_ir_format"),
}
"""Settings whose flags have other names."""


def given_settings(parser: argparse.ArgumentParser, words: Sequence[str]) -> set[str]:
    """Return the names of the settings that the words fix: argparse leaves alone what the namespace already has."""
    unset = object()
    flags = {name: _FLAGS_OF.get(name, (name,)) for name in Settings.__struct_fields__}
    blank = argparse.Namespace(**{flag: unset for names in flags.values() for flag in names})
    parsed = parser.parse_args(list(words), blank)
    return {name for name, names in flags.items() if any(getattr(parsed, each) is not unset for each in names)}
