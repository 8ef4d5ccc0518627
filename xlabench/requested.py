"""What the flags and the home ask for, and what the environments offer."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from xlabench import own
from xlabench.command import EXIT_DONE, EXIT_PARTIAL, EXIT_USAGE, home_of, say

if TYPE_CHECKING:
    import argparse

    from runner.plan import PlanRequest
    from runner.plan.interpreters import Interpreter
    from runner.plan.operators_of import Extracted


def requested_plan(parsed: argparse.Namespace) -> tuple[PlanRequest, tuple[Interpreter, ...]]:
    """Return what the flags and the home's `xlabench.toml` ask for, and what the environments offer."""
    from runner import flags
    from runner.home import settings_file
    from runner.plan import interpreters

    home = home_of(parsed)
    own.settle(parsed)
    file = settings_file.read(home)
    settings_file.apply(parsed, home, file)
    found = operators_of(parsed)
    request = flags.plan_request(parsed)
    request = found.narrow(request) if found else request
    named = settings_file.interpreters(home, file)
    request = own.with_own(parsed, own.with_listed(parsed, request, home, file), named)
    return request, interpreters.look(request, named, getattr(parsed, "threads", None))


def operators_of(parsed: argparse.Namespace) -> Extracted | None:
    """Return the operators of `--ops-of`, recorded once; None without the flag."""
    if getattr(parsed, "ops_of", None) is None:
        return None
    from runner.plan.operators_of import extract

    found: Extracted = getattr(parsed, "extracted", None) or extract(parsed)
    parsed.extracted = found
    return found


def report_missing(parsed: argparse.Namespace, missing: dict[str, str], *, empty: bool) -> int:
    """Say which suites are not there; nothing left to do is a usage error, one asked for by name makes it partial."""
    for suite, reason in missing.items():
        say(reason if suite in parsed.suite_name else f"skipped: {reason}", EXIT_PARTIAL)
    if empty and set(missing) & set(parsed.suite_name):
        return EXIT_USAGE
    if empty:
        return say("No experiment matches. Relax --suite-name, --filter or --exclude.", EXIT_USAGE)
    return EXIT_PARTIAL if set(missing) & set(parsed.suite_name) else EXIT_DONE
