"""The rows under the HUD's rule with all that the harness's files hold of them, whoever measured."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from store.exporters.lines import rows
from store.harness_csv import COUNTERS, counted
from store.query import fetch, named

if TYPE_CHECKING:
    from store.query import Connection

Details = dict[str, Any]
_NO_DETAILS: Details = dict.fromkeys(
    (*COUNTERS, "batch_size", "tag", "prior_speedup", "speedup_vs_prior", "cache_lookup_latency_s", "compiler_time_s")
)


_OBJECTS = ("metrics", "verification")


class HudRow(msgspec.Struct, frozen=True):
    """A row of view `hud_rows`, and the further fields of its performance and its accuracy run, where it has them."""

    row: dict[str, Any]
    performance: Details | None
    accuracy: Details | None


def hud_data(con: Connection, run: str) -> list[HudRow]:
    """Return the rows of a run, by series and model."""
    nothing: dict[str, list[str]] = {name: [] for name in ("suite", "model", "backend", "test", "accelerator", "dtype")}
    found = fetch(con, named("hud_rows"), {"run": run, **nothing})
    reported = {row["record_id"]: row for row in fetch(con, named("export_hud_reported"), {"run": run})}
    measured = {row["record_id"]: _measured(row) for row in rows(con, "export_record_details", [run])} if found else {}
    known = measured | reported
    return [
        HudRow(
            row,
            known.get(row["performance_record_id"]),
            known.get(row["accuracy_record_id"]) if row["accuracy"] else None,
        )
        for row in found
    ]


def _measured(row: dict[str, Any]) -> Details:
    """Return the further fields of a record of ours."""
    record = json.loads(row["record"])
    # Of records of other tools only what becomes a column was checked.
    metrics, verification = (each if isinstance(each := record.get(name), dict) else {} for name in _OBJECTS)
    return {
        **_NO_DETAILS,
        **counted(metrics),
        "batch_size": verification.get("batch_size") or row["batch_size"],
        "compiler_time_s": row["compiler_time_s"] if row["compiler_source"] == "dynamo" else None,
    }
