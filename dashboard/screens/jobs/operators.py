"""The operators of a chosen model, measured beside it: they are recorded when the job runs, so no plan has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import streamlit as st

from dashboard.screens.jobs import offered
from dashboard.words import escape
from runner.errors import UsageError
from runner.jobs.operators import SUITE

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from runner.jobs.preview import Preview
    from runner.jobs.request import Selection

KEY = "new_ops"


def ask(models: Sequence[str]) -> str | None:
    """Where one model is chosen, draw the switch; return that model if its operators are wanted."""
    if len(models) != 1 or models[0].startswith(f"{SUITE}/"):
        return None
    wanted = st.toggle(
        "Its operators, too",
        key=KEY,
        help="The operators that the model calls are recorded when the job runs; each is measured alone, and the "
        "model beside them.",
        **offered.KEPT,
    )
    return models[0] if wanted else None


def selection(of_model: str, which: Selection) -> Selection:
    """Return the selection of a model's operators in place of the model's own.

    Raises:
        UsageError: they are to be recorded in more than one test.
    """
    if len(which.test) > 1:
        raise UsageError("The operators of a model are recorded in one test: choose eval or train.")
    # Without a choice they are recorded in eval; the model beside them is planned for that, too.
    return msgspec.structs.replace(which, suite_name=(), only=(), ops_of=of_model, test=which.test or ("eval",))


def say(found: Preview, backends: Collection[str]) -> None:
    """Say what the plan cannot show: the operators, and backends that nobody chose."""
    beyond = dict.fromkeys(entry.backend for entry in (*found.runnable, *found.skipped))
    more = [escape(name) for name in beyond if name not in backends]
    also = (
        f" They are measured under {', '.join(more)} as well: this form chooses XLA and dynamo separately."
        if more
        else ""
    )
    st.caption(f"The operators that it calls are added when the job runs; only then is their number known.{also}")
