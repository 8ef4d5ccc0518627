"""docs/schema.md and docs/definitions.md are what `make docs` writes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def documents():
    spec = importlib.util.spec_from_file_location("documents", ROOT / "tools" / "documents.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def schema(documents):
    return documents.DOCUMENTS["schema.md"]()


def test_the_schema_is_up_to_date(schema):
    """`make docs` writes it again."""
    assert (ROOT / "docs" / "schema.md").read_text() == schema


def test_the_definitions_are_up_to_date(documents):
    """`make docs` writes them again."""
    assert set(documents.DOCUMENTS) == {"schema.md", "definitions.md"}
    assert (ROOT / "docs" / "definitions.md").read_text() == documents.DOCUMENTS["definitions.md"]()


def test_everything_in_the_database_has_its_grain(schema):
    sections = dict(part.split("\n\n", 1) for part in schema.split("\n### ")[1:])
    assert {"results", "records", "result_rows", "migrations"} <= set(sections)
    assert [name for name, section in sections.items() if not section.strip() or section.startswith("|")] == []


def test_columns_and_their_notes_are_there(schema):
    assert "| `source` | VARCHAR | 'xlabench' \\| 'peer' |" in schema
    assert "### speedups(baseline_backend, baseline_run" in schema
    assert "| `speedup` | DOUBLE | Baseline latency over latency: above 1 is faster than the baseline. |" in schema
