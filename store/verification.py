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


class Meaning(NamedTuple):
    """The meaning of a verification code."""

    short: str
    """The meaning in a few words, for cells of tables."""
    says: str
    to_do: str


MEANINGS: Mapping[str, Meaning] = {
    "PASS": Meaning(
        "agrees with eager",
        "The results agree with eager's within the tolerance.",
        "There is nothing to do, unless the control below is vacuous: then the check would not have noticed other "
        "weights.",
    ),
    "PASS (batch N)": Meaning(
        "agrees at a smaller batch",
        "The results agree at a batch of N; the larger timed batch was not compared, so this is not a PASS.",
        "Read the note that says why: memory or time for the reference, or preset peer's own cap. A machine with more "
        "memory, a longer `--subprocess-timeout` or a smaller `--batch-size` gives a verdict.",
    ),
    "FAIL": Meaning(
        "differs from eager",
        "The results differ from eager's by more than the tolerance.",
        "Do not use this speedup. Look at the first tensor that failed and at the errors below: an error far "
        "above eager's own means a wrong program, one near it a tolerance that is too strict.",
    ),
    "NONDETERMINISTIC_EAGER_RUN": Meaning(
        "eager differs from itself",
        "Eager differs from itself when it is run twice, so nothing can be compared with it.",
        "Look for random numbers that the seed does not reach, or for kernels without a fixed order of additions.",
    ),
    "EAGER_FAILED": Meaning(
        "eager failed",
        "Eager itself raised an exception: the model or its inputs do not work here, whatever compiles it.",
        "Read the error and the log; a smaller batch size helps where memory ran out.",
    ),
    "EXCEPTION_RAISED": Meaning(
        "the backend raised an exception",
        "The backend raised an exception while it computed the answer; eager did not.",
        "Read the error and the log; `--minify` makes a small program that still fails.",
    ),
    "VERIFIER_SKIPPED": Meaning(
        "not compared",
        "The answer was not compared: it was not requested, a table excludes this model with a reason, nothing in "
        "it could be judged (constants, random numbers, noise), or the backend raised an exception for other inputs.",
        "Run with `--verify`. If a check is listed below, its notes say why. The speed is known, but the result is "
        "not verified.",
    ),
    "VERIFIER_DIDNT_RUN": Meaning(
        "ended before it was compared",
        "The process ended before it could compare.",
        "Read why the experiment failed, and the log of its verify process.",
    ),
}
"""Code → meaning, in the order of docs/verify.md."""
UNKNOWN = Meaning("another tool's code", "A code of a later version, or of another tool.", "Read the record.")


def meaning(code: str) -> Meaning:
    """Return the meaning of a code; all codes of a smaller batch have the same meaning."""
    return MEANINGS.get("PASS (batch N)" if is_smaller_batch(code) else code, UNKNOWN)
