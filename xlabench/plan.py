"""`xlabench plan`: print the matrix."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from xlabench.command import home_of, verb
from xlabench.own import add_own_flags, read
from xlabench.requested import planned

if TYPE_CHECKING:
    import argparse

    from xlabench.command import Verbs


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    from runner import flags

    parser = verb(
        verbs,
        "plan",
        _plan,
        "Print which experiments would run and which are skipped, with the reasons.",
        "Without filters, everything is planned. Planning does not import torch.",
    )
    add_own_flags(parser)
    flags.add_plan_flags(parser)
    parser.add_argument(
        "--format", choices=["text", "json", "yaml"], default="text", help="output format (default: text)"
    )
    parser.show_first(
        (*flags.USUAL_OF_PLAN, "--format", "--home"),
        (
            "plan --smoke",
            "plan --suite-name timm_models --filter resnet --backend eager --backend inductor",
            "plan --suite-name huggingface --format yaml > plan.yaml",
        ),
    )


def _plan(parsed: argparse.Namespace) -> int:
    from runner.plan import plan_view

    request, typed = read(parsed)
    found = planned(request, home_of(parsed), typed)
    made = found.plan
    if parsed.format == "json":
        sys.stdout.write(plan_view.as_json(made).decode() + "\n")
    elif parsed.format == "yaml":
        sys.stdout.write(
            plan_view.as_yaml(made, found.request, {each.name: each.machine for each in found.interpreters})
        )
    else:
        plan_view.print_matrix(made, sys.stdout)
    return found.code
