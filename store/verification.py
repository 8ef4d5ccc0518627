"""Meanings of verification codes: the HUD's statuses, and which PASS proves nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from store.record import Verification

UNVERIFIED: frozenset[str] = frozenset({"VERIFIER_SKIPPED", "VERIFIER_DIDNT_RUN"})
"""Codes without a statement about the answer."""

VERDICTS: frozenset[str] = frozenset({"PASS", "FAIL", "VERIFIER_SKIPPED"})
"""Codes that a run with verification may end with; every other code means that the answer is not known to be right."""

VACUOUS = "vacuous"
"""Value of `Verification.control` if the check did not notice disturbed weights."""


class HudStatus(NamedTuple):
    """A code's status in the TorchDynamo harness's accuracy files; None: the harness would write no row."""

    usual: str | None
    out_of_memory: str | None


HUD_STATUSES: Mapping[str, HudStatus] = {
    "PASS": HudStatus("pass", None),
    "FAIL": HudStatus("fail_accuracy", None),
    "NONDETERMINISTIC_EAGER_RUN": HudStatus("eager_two_runs_differ", None),
    "EAGER_FAILED": HudStatus("eager_1st_run_fail", "eager_1st_run_OOM"),
    "EXCEPTION_RAISED": HudStatus("fail_to_run", "OOM"),
    "VERIFIER_SKIPPED": HudStatus(None, None),
    "VERIFIER_DIDNT_RUN": HudStatus("fail_to_run", "OOM"),
}
"""Code → its statuses. A skipped check is never a pass; one that the tables skip is `SKIPPED_BY_TABLE`."""

SKIPPED_BY_TABLE = "pass_due_to_skip"
NOT_LOADED = "model_fail_to_load"
TIMED_OUT = "timeout"

HUD_PASSES: frozenset[str] = frozenset({"pass", SKIPPED_BY_TABLE, "eager_variation"})
"""Statuses that count as passed under the HUD rule, and only there."""


def at_batch(checked: int | None, timed: int | None) -> str:
    """Return the code of a right answer: PASS at the timed batch; `PASS (batch N)` at a smaller one is no PASS."""
    return "PASS" if checked is None or timed is None or checked >= timed else f"PASS (batch {checked})"


def is_smaller_batch(code: str) -> bool:
    """Tell whether a code is `PASS (batch N)`."""
    return code.startswith("PASS (batch ")


def hud_status(verification: Verification) -> str | None:
    """Return the harness's accuracy status; None where it would write no row."""
    if is_smaller_batch(verification.code):
        return None
    error, names = verification.error, HUD_STATUSES[verification.code]
    if verification.code == "VERIFIER_SKIPPED" and verification.decided_by == "table":
        return SKIPPED_BY_TABLE
    if error is not None and error.phase == "load":
        return NOT_LOADED
    if error is not None and error.type == "Timeout":
        return TIMED_OUT
    return (names.out_of_memory if verification.decided_by == "oom" else None) or names.usual


def is_vacuous(verification: Verification | None) -> bool:
    """Tell whether the PASS of a record proves nothing."""
    return verification is not None and verification.code == "PASS" and verification.control == VACUOUS
