"""What a request and the home ask for, what the environments offer, and the plan of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xlabench import own
from xlabench.command import EXIT_DONE, EXIT_PARTIAL, EXIT_USAGE, say

if TYPE_CHECKING:
    from pathlib import Path

    from runner.plan import LocalRequest, Plan
    from runner.plan.interpreters import Interpreter
    from runner.plan.operators_of import Extracted


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A request with all that was looked up for it, and its plan."""

    request: LocalRequest
    interpreters: tuple[Interpreter, ...]
    plan: Plan
    code: int
    """Exit code that the suites which are missing lead to."""
    operators: Extracted | None = None
    """Those of `--ops-of`, recorded."""


def planned(request: LocalRequest, home: Path, typed: own.Typed) -> Planned:
    """Plan what a request and the home's `xlabench.toml` ask for; say which suites are missing."""
    from runner.home import settings_file
    from runner.plan import interpreters, operators_of

    file = settings_file.read(home)
    request = settings_file.with_limits(request, home, file)
    found = operators_of.extract(request) if request.selection.ops_of else None
    named_suites = ("operators",) if found else request.selection.suite_name
    request = found.narrow(request) if found else request
    named = settings_file.interpreters(home, file)
    request, listed = own.with_listed(request, home, file)
    request = own.with_own(request, listed or typed, named)
    there = interpreters.look(request, named)
    made = interpreters.make_plan(request, there)
    code = _report_missing(named_suites, made)
    return Planned(request=request, interpreters=there, plan=made, code=code, operators=found)


def _report_missing(named: tuple[str, ...], made: Plan) -> int:
    """Say which suites are not there; nothing left to do is a usage error, one asked for by name makes it partial."""
    missing, empty = made.missing_suites, not made.entries
    for suite, reason in missing.items():
        say(reason if suite in named else f"skipped: {reason}", EXIT_PARTIAL)
    if empty and set(missing) & set(named):
        return EXIT_USAGE
    if empty:
        return say("No experiment matches. Relax --suite-name, --filter or --exclude.", EXIT_USAGE)
    return EXIT_PARTIAL if set(missing) & set(named) else EXIT_DONE
