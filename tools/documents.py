"""Write docs/schema.md from the migrated database and docs/definitions.md from the metric registry: `make docs`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby, takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import duckdb  # noqa: E402 - the repository's own packages come first

from store.database.migrate import MADE, migrate, script, views  # noqa: E402
from store.metrics import METRICS, Metric  # noqa: E402

STORE = ROOT / "store"
Column = tuple[str, str]
"""Name and type."""
_REFERENCE = "results"
_SHARED = 5
"""Columns that another relation must share with view `results`, to name them instead of describing them again."""
_MADE = "<!-- Written by `make docs`; change its sources instead. -->"
_OF_THE_CODE = {
    "migrations": "One row per migration that was applied.",
}
"""Grain of what no `.sql` file creates."""
_DEFINITIONS_HEAD = f"""# What does each number mean?

{_MADE}

Pages, reports and tables take their words from here. *Better* says which direction is better, and from which relative
change tables use colours. A number that is not known is absent, never 0."""
_GRAIN = re.compile(r"^Grain(?: of [^:]+)?: ")
_UNTYPED = {'"NULL"': "type of the argument"}
_NO_GRAIN = "Scalar macro, no grain: "
_SCALAR = "SELECT function_name FROM duckdb_functions() WHERE function_type = 'macro' AND NOT internal"
_SCHEMA_HEAD = f"""# The index, table by table

{_MADE}

The index is a DuckDB file, made from the run folders. Times are seconds and sizes bytes; a TIMESTAMP is UTC.
Below each name is what one row is, then its columns by type. [definitions.md](definitions.md) defines the numbers;
`xlabench sql` answers queries."""
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
        macros = dict(
            con.execute("SELECT function_name, parameters FROM duckdb_functions() WHERE NOT internal").fetchall()
        )
        scalar = {row[0] for row in con.execute(_SCALAR).fetchall()}
        created = [name for text in views().values() for _, name, _ in _CREATED.findall(text)]
        notes, grains = _column_notes(), _grains()
        known = _columns(con, f"FROM {_REFERENCE}")

        def section(name: str) -> str:
            parameters = macros.get(name)
            title = name if parameters is None else _signature(name, parameters)
            query = name if parameters is None else f"{name}({', '.join('NULL' for _ in parameters)})"
            return _section(name, title, grains[name], _columns(con, f"FROM {query}"), notes.get(name, {}), known)

        parts = [
            _SCHEMA_HEAD,
            "## Views and table macros",
            *(section(name) for name in created if name not in scalar),
            "## Tables",
            *map(section, tables),
            "## Scalar macros",
            "\n".join(
                ["| macro | what it returns |", "|---|---|"]
                + [
                    f"| `{_signature(name, macros[name])}` | {_capital(grains[name].removeprefix(_NO_GRAIN))} |"
                    for name in created
                    if name in scalar
                ]
            ),
        ]
    finally:
        con.close()
    return "\n\n".join(parts) + "\n"


def _signature(name: str, parameters: Iterable[str]) -> str:
    return f"{name}({', '.join(parameters)})"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _grains() -> dict[str, str]:
    """Return the comment above each table, view and macro; of several in one text the first has it."""
    found = dict(_OF_THE_CODE)
    migrations = [path.read_text(encoding="utf-8") for path in sorted((STORE / "migrations").glob("*.sql"))]
    for text in (*migrations, *views().values()):
        above = ""
        for comment, name, _ in _CREATED.findall(text):
            above = _text(comment) or above
            found[name] = above
    for table, step in MADE.items():
        lines = script(step).splitlines(keepends=True)
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


def _columns(con: duckdb.DuckDBPyConnection, query: str) -> list[Column]:
    return [(row[0], row[1]) for row in con.execute(f"DESCRIBE {query}").fetchall()]


def _section(
    name: str, title: str, grain: str, columns: list[Column], notes: dict[str, str], known: list[Column]
) -> str:
    """Return what one row of a relation is, and its columns by type; those of view `results` are not typed again."""
    shared = [] if name == _REFERENCE else [column for column in columns if column in known and column[0] not in notes]
    own = [column for column in columns if column not in shared] if len(shared) >= _SHARED else columns
    by_type: dict[str, list[str]] = {}
    for column, kind in own:
        note = f" ({notes[column]})" if column in notes else ""
        by_type.setdefault(_UNTYPED.get(kind, kind), []).append(f"`{column}`{note}")
    lists = [f"- {kind}: {', '.join(names)}" for kind, names in by_type.items()]
    if len(own) < len(columns):
        lists.insert(0, f"- {_as_reference({column for column, _ in shared}, known)}")
    return "\n\n".join([f"### {title}", _capital(_GRAIN.sub("", grain)), "\n".join(lists)])


def _as_reference(shared: set[str], known: list[Column]) -> str:
    """Return which columns of view `results` a relation has: the shorter of those that it has and those it lacks."""
    names = [column for column, _ in known]
    lacking = [name for name in names if name not in shared]
    link = f"[{_REFERENCE}](#{_REFERENCE})"
    if not lacking:
        return f"all columns of {link}"
    if len(lacking) < len(shared):
        return f"the columns of {link}, except {_listed(lacking)}"
    return f"as in {link}: {_listed(name for name in names if name in shared)}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def definitions() -> str:
    """Return docs/definitions.md."""
    parts = [_DEFINITIONS_HEAD]
    for title, metrics in _topics():
        rows = [_row(list(same)) for _, same in groupby(metrics, _apart_from_ends)]
        parts.append(
            "\n".join([f"## {title}", "", "| column | name | better | definition |", "|---|---|---|---|", *rows])
        )
    return "\n\n".join(parts) + "\n"


def _topics() -> Iterator[tuple[str, list[Metric]]]:
    """Yield the metrics below each comment of metrics.yaml, with the comment as their title."""
    text = (STORE / "metrics" / "metrics.yaml").read_text(encoding="utf-8")
    for title, entries in re.findall(r"^# (.+)\.\n(\w[^#]+)", text, re.MULTILINE):
        yield title, [METRICS[name] for name in re.findall(r"^(\w+):", entries, re.MULTILINE)]


def _apart_from_ends(metric: Metric) -> str:
    """Return what both ends of an interval, or both of two runs, have alike: such metrics share a row."""
    return re.sub(r"Lower|Upper|[AB]\.$", "", metric.definition)


def _row(metrics: list[Metric]) -> str:
    first = metrics[0]
    label, definition = first.label, first.definition
    if len(metrics) > 1:
        label = ", ".join(dict.fromkeys(part for metric in metrics for part in metric.label.split(", ")))
        definition = definition.replace("Lower", "Lower and upper").replace("run A.", "runs A and B.")
    shown = f"shown in {first.display_unit}" if first.display_unit else ""
    unit = ", ".join(filter(None, (first.unit, shown)))
    change = "" if first.threshold is None else f", {first.threshold:.0%}"
    cells = (
        _listed(metric.name for metric in metrics),
        f"{label} ({unit})" if unit else label,
        "" if first.direction == "none" else f"{first.direction}{change}",
        definition
        + ("" if first.aggregation == "none" else f" Over several: {first.aggregation}.")
        + ("" if first.failure == "no value" else f" {_capital(first.failure)}."),
    )
    return f"| {' | '.join(cells)} |".replace("  |", " |")


DOCUMENTS = {"schema.md": schema, "definitions.md": definitions}

if __name__ == "__main__":
    for file_name, text_of in DOCUMENTS.items():
        (ROOT / "docs" / file_name).write_text(text_of(), encoding="utf-8")
