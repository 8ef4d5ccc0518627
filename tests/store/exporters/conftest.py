"""Write runs, ingest them, export them, and ingest what was written."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from store import query
from store.exporters import export
from store.identity import canonical
from store.ingest import ingest

_TABLES = {
    "records": "EXCLUDE (record)",
    "samples": "",
    "record_metrics": "",
    "record_fallback_ops": "",
    "record_graph_breaks": "",
    "record_artifacts": "",
    "record_findings": "",
    "run_files": "EXCLUDE (path)",
    "run_environments": "EXCLUDE (path)",
    "plan_entries": "EXCLUDE (path)",
    "result_rows": "",
}


def content(con: Any) -> dict[str, list[Any]]:
    """Return what a store says, wherever its files lie; of a line the values count, and not their spelling."""
    lines = con.execute("SELECT record_id, record FROM records").fetchall()
    found = {
        table: sorted(map(repr, con.execute(f"SELECT * {without} FROM {table}").fetchall()))
        for table, without in _TABLES.items()
    }
    return found | {"lines": sorted((identity, canonical(json.loads(line))) for identity, line in lines)}


@pytest.fixture(scope="module")
def again(tmp_path_factory):
    """Ingest paths, export the store, ingest the export; returns both stores open and where the export lies."""
    root, numbers, opened = tmp_path_factory.mktemp("exports"), itertools.count(), []

    def make(paths: list[Path], form: str, runs=(), before_export=None):
        folder = root / str(next(numbers))
        first = ingest(paths, folder / "one")
        assert first.rejected == []
        one = query.connect(first.snapshot)
        if before_export:
            before_export()
        output = folder / ("export" if form != "hud-json" else "export.json")
        export(one, form, runs, output)
        second = ingest([output], folder / "two")
        assert second.rejected == []
        two = query.connect(second.snapshot)
        opened.extend((one, two))
        return one, two, output

    yield make
    for con in opened:
        con.close()
