"""docs/schema.md and docs/definitions.md are what `make docs` writes; those of benchmarks have sections of theirs."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def documents():
    return tool("documents")


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


@pytest.mark.parametrize("name", ["benchmarks", "trust"])
def test_each_section_of_results_is_one_that_a_benchmark_writes(name):
    """One of another title would be lost when any benchmark is repeated."""
    titles = {each.title for each in tool("benchmarks").DOCUMENTS[name].values()}
    assert set(re.findall("^## (.*)$", (ROOT / "docs" / f"{name}.md").read_text(), re.MULTILINE)) <= titles


def test_the_table_of_all_results_is_made_of_the_sections(tmp_path):
    document = ROOT / "docs" / "benchmarks.md"
    copy = Path(shutil.copy(document, tmp_path))
    made = tool("benchmarks")
    made._summarize(copy, made.DOCUMENTS["benchmarks"].values())
    assert copy.read_text() == document.read_text()
    assert copy.read_text().count("\n| [") == len(made.DOCUMENTS["benchmarks"])
