"""Write runs, ingest them, export them, and ingest what was written."""

import contextlib
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
def read(tmp_path_factory):
    """Ingest paths, none of which may be rejected; returns the store, open."""
    with contextlib.ExitStack() as opened:

        def make(paths: list[Path]):
            report = ingest(paths, tmp_path_factory.mktemp("read"))
            assert report.rejected == []
            return opened.enter_context(query.connect(report.snapshot))

        yield make


@pytest.fixture(scope="module")
def reimported(tmp_path_factory, read):
    """Export a store and ingest the export; returns the second store, open, and where the export lies."""

    def make(one: Any, form: str, runs=()):
        output = tmp_path_factory.mktemp("exports") / ("export" if form != "hud-json" else "export.json")
        export(one, form, runs, output)
        return read([output]), output

    return make
