"""Make a line that is not ours, or not quite JSON, readable: its identity beside it, its text in the standard form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from store.ingest import foreign
from store.ingest.decode import NUMERIC_METRICS, BadLine, Line, decode
from store.ingest.foreign import content_of, is_foreign

if TYPE_CHECKING:
    from store.ingest.ordinals import Ordinals

Row = dict[str, Any]


def irregular_row(data: bytes, ordinals: Ordinals | None) -> Row:
    """Return what the relation `lines` says of a line; `ordinals` is needed for a foreign one only.

    Raises:
        BadLine: it is no record.
    """
    line = decode(data)
    try:
        text = msgspec.json.encode(_listed(line.known)).decode()
        kept = msgspec.json.encode(line.raw).decode() if line.notes else data.decode()
        content = content_of(line) if is_foreign(line) else None
    except (OverflowError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise BadLine(f"a value is out of range: {error}") from None
    row: Row = {"line": text, "raw": kept, "notes": line.notes}
    return (
        row
        if content is None or ordinals is None
        else row | {"identity": _identity(line, content, ordinals.take(content))}
    )


def _identity(line: Line, content: str, ordinal: int) -> Row:
    return {
        "record_id": foreign.record_id(content, ordinal),
        "run_id": foreign.run_id(line.record),
        "run_label": foreign.run_label(line.record),
        "experiment_id": foreign.experiment_id(line.raw),
        "variant": foreign.variant_of(line.record.experiment),
    }


def _listed(known: Row) -> Row:
    """Return the record with each numeric metric as a list: a bare number counts as one entry."""
    metrics = known.get("metrics") or {}
    bare = {name: [metrics[name]] for name in NUMERIC_METRICS if isinstance(metrics.get(name), int | float)}
    return known | {"metrics": metrics | bare} if bare else known
