"""The text of a script: its heading, what it is given, and the part that shows the fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.repro.bundle import bundle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from store.repro.fault import Fault

_HEADING = '''"""{headline}

{what}, of {model} ({test}, {backend}), made by xlabench from record {record}.
Needs {packages}; measured with {versions}.
Run it as `python FILE`. Exit codes: 0 the fault is shown, 1 it is not, 2 a package is missing.{beside}
"""

from __future__ import annotations

import importlib.util
import sys

if missing := [name for name in {needed!r} if importlib.util.find_spec(name) is None]:
    print(f"COULD NOT RUN: {{missing[0]}} is not installed")
    sys.exit(2)

'''
_BESIDE = """
It builds the model through xlabench's suite {suite}, so both have to be there (XLABENCH_SUITES, PYTHONPATH)."""
_VERSIONS = ("python", "torch", "torch_xla", "timm", "transformers")


def script(
    fault: Fault,
    part: str,
    what: str,
    *,
    values: Mapping[str, Any],
    packages: Sequence[str],
    text: str = "",
    raw: str = "",
) -> str:
    """Return a whole script.

    Args:
        fault: what it shows.
        part: module of `runner.repro.parts` that shows it.
        what: what that does, for the heading.
        values: constants of `parts.given`.
        packages: names that pip knows, whose versions are printed.
        text: functions of `parts.given`, as a module's text.
        raw: text that stands as it is at the top.
    """
    given = "\n".join(f"{name} = {value!r}" for name, value in {**values, "PACKAGES": tuple(packages)}.items())
    environment = fault.record.get("environment") or {}
    heading = _HEADING.format(
        headline=_plain(fault.headline),
        what=what[:1].upper() + what[1:],
        model=_plain(fault.model),
        test=_plain(fault.record["experiment"]["test"]),
        backend=_plain(fault.record.get("variant") or ", ".join(fault.backends)),
        record=_plain(fault.record_id),
        packages=", ".join(packages),
        needed=tuple(packages),
        beside=_BESIDE.format(suite=_plain(fault.record["model"]["suite_name"])) if "xlabench" in packages else "",
        versions=_plain(", ".join(f"{name} {environment[name]}" for name in _VERSIONS if environment.get(name))),
    )
    return heading + bundle(part, f"{text}\n\n{given}\n", raw)


def _plain(text: str) -> str:
    """Return text that can stand in a docstring: it may come from anybody's file."""
    return " ".join(text.replace("\\", "/").replace('"', "'").split())
