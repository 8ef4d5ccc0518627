"""Values that a redesign must not change: `python tests/golden.py` writes tests/data/golden.json anew.

Over the committed runs: every table and view of the store, every export of a report, the queries of some looks at each
page, and the ids of three run folders. Of each result the file keeps its columns, how many rows it has, and a digest of
the rows, whatever their order. Columns that differ between two stores made of the same runs (times of ingest, places of
files) are left out.
"""

import csv
import hashlib
import io
import json
import math
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RUNS = [ROOT / "tests" / "data" / name for name in ("review", "operators")]
KEPT = ROOT / "tests" / "data" / "golden.json"
MATRIX = "2af2f9b8-ad8b-4935-a560-fac9eedfb34c"
NIGHTLY = "9f8ed5b7-d73d-4573-a4f0-ed97573cfbb4"
PAGES: dict[str, list[dict[str, str]]] = {
    # Their charts of earlier runs have none for the matrix.
    **{key: [{"run": MATRIX}, {"run": NIGHTLY}] for key in ("overview", "speedup")},
    "compile-time": [{"run": MATRIX}],
    "fallback-ops": [{"run": "e065a9cb-9d6c-4852-956d-b8d1b4592a62"}],
    "operators": [{"run": "8f5cbf5e-cdf2-4dbc-9493-ba33a5b3f5ab"}],
    **{key: [{"run": NIGHTLY}] for key in ("trends", "runs")},
    "compare": [{"a": "46cd25f5-818b-4138-ab42-612be2fabda1", "b": "45032836-1642-4ad1-b5fb-06b1800d327d"}],
    "model": [{"run": MATRIX, "model": "resnet18", "suite": "timm_models"}],
}
"""Looks at each page by what its URL names."""
REPORTS = (
    ("speedup", "--run", MATRIX),
    ("fallbacks", "--run", "e065a9cb-9d6c-4852-956d-b8d1b4592a62"),
    ("payoffs",),
    ("--rule", "hud", "--run", MATRIX),
    ("--rule", "peer", "latest"),
    ("weekly",),
)
FORMS = ("json", "csv")
ELSEWHERE = {"place", "path", "device", "inode", "modified_ns", "ingested_at"}
"""Columns of where and when files lie and were read: another checkout or another ingest has others."""
_FRACTION = re.compile(r"-?\d+\.\d+(e-?\d+)?")
Rows = list[dict[str, str]]


def tables(store: Path) -> dict[str, Rows]:
    """Return the rows of every table and view."""
    from store import query

    with query.connect(query.current_snapshot(store)) as con:
        names = [row["table_name"] for row in query.fetch(con, "SELECT table_name FROM information_schema.tables")]
        return {f"store {name}": _texts(query.fetch(con, f'FROM "{name}"')) for name in sorted(names)}


def reports(store: Path, forms: Sequence[str] = FORMS) -> dict[str, Rows]:
    """Return what `xlabench report` exports."""
    from xlabench import main

    found = {}
    for words in [(*kind, "--format", form) for form in forms for kind in REPORTS]:
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "report"
            code = main(["report", *words, "--database", str(store), "--output", str(out)])
            text = out.read_text() if out.exists() else ""
        found[f"report {' '.join(words)}"] = [{"exit": str(code)}, *_report_rows(text, words[-1])]
    return found


def pages(store: Path, shown: Iterable[str] = PAGES) -> dict[str, Rows]:
    """Return what the looks at each of these pages ask of the store."""
    import os
    from unittest.mock import patch

    from streamlit.testing.v1 import AppTest
    from streamlit.util import calc_hash

    from dashboard import data, settings

    found: dict[str, Rows] = {}
    page, original = "", data._rows

    def recorded(*asked: Any) -> Any:
        frame = original(*asked)
        rows = _texts(frame.to_dict("records"))
        # By what it gives: statements and parameters may be written anew.
        name = f"page {page} {' '.join(map(str, list(frame.columns)[:5]))}"
        number = sum(each.startswith(name) for each in found)
        if rows not in [found[each] for each in found if each.startswith(name)]:
            found[f"{name} #{number}"] = rows
        return frame

    data._rows = recorded
    try:
        with patch.dict(os.environ, {settings.STORE_VARIABLE: str(store)}):
            for page in shown:
                for look in PAGES[page]:
                    at = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120)
                    at.query_params.update(look)
                    at._page_hash = calc_hash("" if page == "overview" else page)
                    at.run()
                    assert not at.exception, (page, at.exception)
    finally:
        data._rows = original
    return found


def ids() -> dict[str, Rows]:
    """Return the ids of every record of three run folders."""
    from store.run_file import read_records

    found = {}
    for name in ("matrix", "nightly-2", "smoke"):
        [file] = [path for path in (RUNS[0] / "runs" / name).iterdir() if path.name.startswith("results.jsonl")]
        records = read_records(file)
        found[f"ids {name}"] = [
            {"record_id": record.record_id, "experiment_id": record.experiment_id} for record in records
        ]
    return found


def everything(store: Path, forms: Sequence[str] = FORMS, shown: Iterable[str] = PAGES) -> dict[str, Rows]:
    """Return all of it, the reports in these forms, and of the pages these."""
    return tables(store) | reports(store, forms) | pages(store, shown) | ids()


def summary(rows: Rows, columns: list[str]) -> dict[str, Any]:
    """Return what is kept of a result, as far as these columns go."""
    lines = sorted(json.dumps([row.get(column) for column in columns]) for row in rows)
    return {"columns": columns, "n": len(rows), "sha256": hashlib.sha256("\n".join(lines).encode()).hexdigest()}


def _texts(rows: list[dict[str, Any]]) -> Rows:
    return [{str(key): _text(value) for key, value in row.items()} for row in rows]


def _text(value: Any) -> str:
    """Return a value as text, the same for a number whether pandas or DuckDB brings it."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or str(value) in ("NaT", "<NA>", "nan"):
        return ""
    if isinstance(value, float) or (isinstance(value, str) and _FRACTION.fullmatch(value)):
        # Sums in another order differ in the last digits.
        return f"{float(value):.10g}"
    if hasattr(value, "tolist"):
        return _text(value.tolist())
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_text(each)}" for key, each in value.items()) + "}"
    # Where the checkout lies is no value.
    return str(value).replace(str(ROOT), ".")


def _report_rows(text: str, form: str) -> Rows:
    """Return the rows of an export; JSON that is no list of rows is one row."""
    if form == "csv":
        return [{str(number): _text(cell) for number, cell in enumerate(row)} for row in csv.reader(io.StringIO(text))]
    found = json.loads(text) if text.strip() else []
    return _texts(found if isinstance(found, list) else [found])


def _stable(first: Rows, second: Rows) -> list[str]:
    """Return the columns that two stores made of the same runs have in common."""
    columns = sorted({column for row in first for column in row} - ELSEWHERE)
    return [column for column in columns if summary(first, [column]) == summary(second, [column])]


def main() -> None:
    """Write the file anew."""
    from store.ingest import ingest

    found = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as scratch:
            ingest(RUNS, Path(scratch) / "store")
            found.append(everything(Path(scratch) / "store"))
    first, second = found
    kept = {name: summary(first[name], _stable(first[name], second[name])) for name in sorted(first) if name in second}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    sys.stderr.write(f"{len(kept)} results, of {len(first)}; {sum(each['n'] for each in kept.values())} rows\n")


if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # beside this file `store` is the folder of its tests
    main()
