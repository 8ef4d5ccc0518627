"""One draft and one script per fault in a folder: a fault that has a draft gets it brought up, never a second one."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING

from store.repro.draft import NO_LINKS, draft

if TYPE_CHECKING:
    from pathlib import Path

    from store.repro.fault import Fault, Proof

_MOST_RUNS = 20
_ATTEMPT = ".attempt"
"""Stands in the name of a script that does not show its fault."""


def existing(folder: Path, fault: Fault) -> Path | None:
    """Return the fault's draft, by its id: its words may have changed with the newest text."""
    return next(iter(sorted(folder.glob(f"*-{fault.fault_id}.md"))), None)


def write(folder: Path, fault: Fault, proof: Proof) -> tuple[Path, Path | None]:
    """Write the draft and the script; return their places. What people wrote under Links stays.

    The script is called `….attempt.py` where it does not show the fault.
    """
    folder.mkdir(parents=True, exist_ok=True)
    before = existing(folder, fault)
    place = before or folder / f"{fault.file_stem}.md"
    said = before.read_text(encoding="utf-8") if before else ""
    earlier = [line for line in _section(said, "Runs of the script").splitlines() if line.startswith("- ")]
    text = draft(fault, proof, _section(said, "Links") or NO_LINKS, earlier[: _MOST_RUNS - 1])
    shown, attempt = place.with_suffix(".py"), place.with_suffix(f"{_ATTEMPT}.py")
    script, other = (shown, attempt) if proof.outcome == "shown" else (attempt, shown)
    # One that has stopped to show its fault is none any more.
    with contextlib.suppress(FileNotFoundError):
        other.unlink()
    _replace(place, text)
    if not proof.script:
        return place, None
    _replace(script, proof.script)
    return place, script


def _section(text: str, name: str) -> str:
    """Return the last section of a name, up to the next one of ours."""
    found = re.findall(rf"^## {name}\n(.*?)(?=^## (?:Links|Runs of the script)\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return found[-1].strip() if found else ""


def _replace(place: Path, text: str) -> None:
    """Write a file whole or not at all."""
    whole = place.with_name(f".{place.name}.{os.getpid()}")
    whole.write_text(text, encoding="utf-8")
    whole.replace(place)
