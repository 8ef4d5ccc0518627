"""Status of a record and the one line why it has no number."""

from collections.abc import Sequence
from typing import NamedTuple

from store.ingest.decode import ReadRecord
from store.record import SKIP
from tests.store.oracle.measures import Block
from tests.store.oracle.peer import WARMUP_BLOCKS

_REASON_CHARS = 300


class Verdict(NamedTuple):
    """Status as stored; `reason` is None only where the record ran."""

    status: str
    ran: bool
    phase: str | None
    reason: str | None


def judge(record: ReadRecord, found: Sequence[Block], steady: Sequence[float], *, foreign: bool) -> Verdict:
    """Return the status; an `ok` that carries no usable steady sample is `invalid`, and the reason says so."""
    status, reason = _foreign_status(record, found) if foreign else _own_status(record, found)
    if status == "ok" and not steady:
        status, reason = "invalid", "no steady block was recorded"
    elif status == "ok" and min(steady) <= 0:
        status, reason = "invalid", "a steady block took no time or less"
    phase = record.error.phase if record.error else None
    return Verdict(status, status == "ok", phase, None if status == "ok" else reason)


def _own_status(record: ReadRecord, found: Sequence[Block]) -> tuple[str, str]:
    status = record.status or "invalid"
    if status == "ok" and any(block.kind == "unknown" for block in found):
        kinds = len(record.measurement.blocks.kind)
        return "invalid", f"blocks.kind has {kinds} entries for {len(found)} timed blocks"
    if record.error and record.error.message.strip():
        return status, one_line(record.error.message)
    error = (record.metrics or {}).get("error")
    if isinstance(error, str) and error.strip() and error != SKIP:
        return status, one_line(error)
    return status, _DEFAULTS.get(status, f"ended with status {status}")


_DEFAULTS = {
    "never_steady": "its times never became steady",
    "skipped": "skipped without a reason",
    "verify_only": "it was verified, not timed",
    "reported": "its source gives numbers without samples",
    "oom": "out of memory",
    "timeout": "timed out",
}


def _foreign_status(record: ReadRecord, found: Sequence[Block]) -> tuple[str, str]:
    error = (record.metrics or {}).get("error")
    if error == SKIP:
        return "skipped", "skipped by the peer's runner"
    if error is not None:
        return "run_error", last_line(str(error))
    if not found:
        return "invalid", "no total_time in the record"
    if len(found) <= WARMUP_BLOCKS:
        return "invalid", f"{len(found)} timed blocks; the peer's rule needs more than {WARMUP_BLOCKS}"
    return "ok", ""


def one_line(text: str) -> str:
    """Return the first non-empty line, shortened."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "no message")[:_REASON_CHARS]


def last_line(text: str) -> str:
    """Return the last non-empty line, shortened: what a traceback ends with."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no message")[:_REASON_CHARS]
