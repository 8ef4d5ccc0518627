"""What each verification code says of an answer, and what to do about it."""

from __future__ import annotations

from typing import NamedTuple

from store.verification import is_smaller_batch


class Meaning(NamedTuple):
    """A code in words."""

    says: str
    to_do: str


VERIFICATION: dict[str, Meaning] = {
    "PASS": Meaning(
        "The results agree with eager's within the tolerance.",
        "Nothing, unless the control below says vacuous: then the check would not have noticed other weights.",
    ),
    "PASS (batch N)": Meaning(
        "The results agree at a batch of N; the larger timed batch was not compared, so this is no PASS.",
        "Read the note that says why: memory or time for the reference, or preset peer's own cap. A machine with more "
        "memory, a longer `--subprocess-timeout` or a smaller `--batch-size` gives a verdict.",
    ),
    "FAIL": Meaning(
        "The results differ from eager's by more than the tolerance.",
        "Do not use this speedup. Look at the first tensor that failed and at the errors below: far above "
        "eager's own error is a wrong program, near it a tolerance that is too strict.",
    ),
    "NONDETERMINISTIC_EAGER_RUN": Meaning(
        "Eager differs from itself when it is run twice, so nothing can be compared with it.",
        "Look for random numbers that the seed does not reach, or for kernels without a fixed order of additions.",
    ),
    "EAGER_FAILED": Meaning(
        "Eager itself raised: the model or its inputs do not work here, whatever compiles it.",
        "Read the error and the log; a smaller batch size helps where memory ran out.",
    ),
    "EXCEPTION_RAISED": Meaning(
        "The backend raised while its answer was computed; eager did not.",
        "Read the error and the log; `--minify` makes a small program that still fails.",
    ),
    "VERIFIER_SKIPPED": Meaning(
        "The answer was not compared: it was not requested, a table excludes this model with a reason, or nothing in "
        "it could be judged (constants, random numbers, noise).",
        "Run with `--verify`. Where a check is below, its notes say why. The speed is known and the answer is not.",
    ),
    "VERIFIER_DIDNT_RUN": Meaning(
        "The process ended before it could compare.",
        "Read why the experiment failed, and the log of its verify process.",
    ),
}
"""Code → meaning, in the order of docs/runner.md."""
UNKNOWN = Meaning("A code of a later version, or of another tool.", "Read the record.")


def verification(code: str) -> Meaning:
    """Return what a code says; a smaller batch is one code, whatever its number."""
    return VERIFICATION.get("PASS (batch N)" if is_smaller_batch(code) else code, UNKNOWN)
