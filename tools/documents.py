"""Write docs/schema.md from the migrated database and docs/definitions.md from the metric registry: `make docs`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import duckdb  # noqa: E402 - the repository's own packages come first

from store.database.migrate import MADE, VIEWS, migrate  # noqa: E402
from store.metrics import METRICS  # noqa: E402

STORE = ROOT / "store"
Known = frozenset[tuple[str, str]]
"""Names and types of the columns of view `results`."""
_REFERENCE = "results"
_SHARED = 5
"""Columns that another relation must share with view `results`, to name them instead of describing them again."""
_MADE = "<!-- Written by `make docs`; change its sources instead. -->"
_OF_THE_CODE = {
    "migrations": "One row per migration that was applied.",
}
"""Grain of what no `.sql` file creates."""
_CREATED = re.compile(
    r"((?:^--.*\n)*)^CREATE (?:OR REPLACE )?(?:TEMP )?(?:TABLE|VIEW|MACRO) (\w+)(\([^)]*\) AS)?", re.MULTILINE
)
_COLUMN = re.compile(r"^\s+(?:ALTER TABLE \w+ ADD COLUMN )?(\w+) [A-Z].*?-- (.*)$", re.MULTILINE)
_ADDED = re.compile(r"^ALTER TABLE (\w+) ADD COLUMN (\w+) .*?-- (.*)$", re.MULTILINE)
_TABLE = re.compile(r"CREATE TABLE (\w+) \((.*?)\n\);", re.DOTALL)


def schema() -> str:
    """Return docs/schema.md."""
    con = duckdb.connect(":memory:")
    try:
        migrate(con)
        tables = sorted(row[0] for row in con.execute("SELECT table_name FROM duckdb_tables()").fetchall())
        notes, grains = _column_notes(), _grains()
        known = frozenset(_columns(con, f"FROM {_REFERENCE}"))
        parts = [
            "# The index, table by table",
            _MADE,
            "A DuckDB file, made from the run folders. Times are seconds and sizes bytes; a TIMESTAMP is UTC.",
            "`xlabench sql` answers queries about it; [definitions.md](definitions.md) says what the numbers mean.",
            "## Views and macros",
            *(_view(con, name, grains, known) for name in VIEWS),
            "## Tables",
            *(
                _section(name, grains[name], _columns(con, f"FROM {name}"), notes.get(name, {}), known)
                for name in tables
            ),
        ]
    finally:
        con.close()
    return "\n\n".join(parts) + "\n"


def _grains() -> dict[str, str]:
    """Return the comment above each table, view and macro; of several in one file the first has it."""
    found = dict(_OF_THE_CODE)
    for path in (*sorted((STORE / "migrations").glob("*.sql")), *sorted((STORE / "views").glob("*.sql"))):
        above = ""
        for comment, name, _ in _CREATED.findall(path.read_text(encoding="utf-8")):
            above = _text(comment) or above
            found[name] = above
    for table, step in MADE.items():
        lines = (STORE / "refresh" / f"{step}.sql").read_text(encoding="utf-8").splitlines(keepends=True)
        comment = "".join(takewhile(lambda line: line.startswith("--"), lines))
        found[table] = _text(comment).replace(", of stale runs", "").replace("per stale run", "per run")
    return found


def _text(comment: str) -> str:
    return " ".join(line.removeprefix("--").strip() for line in comment.splitlines())


def _column_notes() -> dict[str, dict[str, str]]:
    """Return what the migrations say of single columns, by table."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted((STORE / "migrations").glob("*.sql")):
        text = path.read_text(encoding="utf-8")
        for table, body in _TABLE.findall(text):
            found.setdefault(table, {}).update(_COLUMN.findall(body))
        for table, column, note in _ADDED.findall(text):
            found.setdefault(table, {})[column] = note
    return found


def _columns(con: duckdb.DuckDBPyConnection, query: str) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in con.execute(f"DESCRIBE {query}").fetchall()]


def _view(con: duckdb.DuckDBPyConnection, file: str, grains: dict[str, str], known: Known) -> str:
    """Return what a view's file creates; a second macro of a file follows the first one's grain."""
    text = (STORE / "views" / f"{file}.sql").read_text(encoding="utf-8")
    return "\n\n".join(_created(con, name, grains[name], known) for _, name, _ in _CREATED.findall(text))


def _created(con: duckdb.DuckDBPyConnection, name: str, grain: str, known: Known) -> str:
    query = "SELECT function_type, parameters FROM duckdb_functions() WHERE function_name = $name AND NOT internal"
    macro = con.execute(query, {"name": name}).fetchone()
    if macro is None:
        return _section(name, grain, _columns(con, f"FROM {name}"), {}, known)
    kind, parameters = macro
    title = f"{name}({', '.join(parameters)})"
    if kind == "macro":
        return _section(title, grain, [], {}, known)
    return _section(title, grain, _columns(con, f"FROM {name}({', '.join('NULL' for _ in parameters)})"), {}, known)


def _section(name: str, grain: str, columns: Iterable[tuple[str, str]], notes: dict[str, str], known: Known) -> str:
    """Return a relation's columns; those that view `results` has as well are named, and described there."""
    columns = list(columns)
    shared = [] if name == _REFERENCE else [each for each in columns if each in known and each[0] not in notes]
    own = [each for each in columns if each not in shared] if len(shared) >= _SHARED else columns
    rows = [f"| `{column}` | {kind} | {_note(column, notes)} |".replace("  |", " |") for column, kind in own]
    parts = [f"### {name}", grain]
    if len(own) < len(columns):
        names = ", ".join(f"`{column}`" for column, _ in shared)
        parts.append(f"Columns as in [{_REFERENCE}](#{_REFERENCE}): {names}.")
    if rows:
        parts.append("\n".join(["| column | type | |", "|---|---|---|", *rows]))
    return "\n\n".join(parts)


def _note(column: str, notes: dict[str, str]) -> str:
    """Return what the migration says of a column, else what it means as a number."""
    note = notes.get(column) or (METRICS[column].definition if column in METRICS else "")
    return note.replace("|", r"\|")


def definitions() -> str:
    """Return docs/definitions.md."""
    lines = [
        "# What does each column mean?",
        "",
        _MADE,
        "",
        "Pages, reports and tables take their words from here. *Change* is the relative change that a table colours.",
        "Where the cell *without a value* is empty, a number that is not known is absent.",
        "",
        "| column | name | unit | better | over several | change | without a value | definition |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in METRICS.values():
        unit = ", shown in ".join(filter(None, (each.unit, each.display_unit)))
        change = "" if each.threshold is None else f"{each.threshold:.0%}"
        absent = "" if each.failure == "no value" else each.failure
        cells = (f"`{each.name}`", each.label, unit, *_rules(each.direction, each.aggregation), change, absent)
        lines.append(("| " + " | ".join((*cells, each.definition)) + " |").replace("  |", " |"))
    return "\n".join(lines) + "\n"


def _rules(direction: str, aggregation: str) -> tuple[str, str]:
    return ("" if direction == "none" else direction, "" if aggregation == "none" else aggregation)


DOCUMENTS = {"schema.md": schema, "definitions.md": definitions}

if __name__ == "__main__":
    for file_name, text_of in DOCUMENTS.items():
        (ROOT / "docs" / file_name).write_text(text_of(), encoding="utf-8")
