"""docs/schema.md and docs/definitions.md are what `make docs` writes; those of benchmarks have sections of theirs."""

import importlib.util
import re
import shutil
from pathlib import Path

import pytest

from store.metrics import METRICS

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
    assert [name for name, section in sections.items() if not section.strip() or section.startswith("- ")] == []
    assert "\n| `outcome(status, ran, verification_code)` | Whether a record shows" in schema


def test_columns_have_their_type_and_their_note(schema):
    assert "### speedups(baseline_backend, baseline_run" in schema
    assert "- the columns of [results](#results), except `peer_exec_s`, `peer_exec_std_s`, `record`\n" in schema
    assert "`source` ('xlabench' | 'peer'), `purpose`" in schema


def test_every_metric_is_defined(documents):
    """Both ends of an interval share a row."""
    definitions = documents.DOCUMENTS["definitions.md"]()
    assert [name for name in METRICS if f"`{name}`" not in definitions] == []
    assert (
        "| `latency_low_s`, `latency_high_s` | Latency, low, high (s, shown in ms) | lower, 5% | Lower and upper"
        in definitions
    )


@pytest.mark.parametrize("name", ["benchmarks", "benchmarks-store", "trust"])
def test_each_section_of_results_is_one_that_a_benchmark_writes(name):
    """One of another title would be lost when any benchmark is repeated."""
    titles = {each.title for each in tool("benchmarks").DOCUMENTS[name].values()}
    assert set(re.findall("^## (.*)$", (ROOT / "docs" / f"{name}.md").read_text(), re.MULTILINE)) <= titles


@pytest.mark.parametrize("name", ["benchmarks", "benchmarks-store"])
def test_the_table_of_all_results_is_made_of_the_sections(tmp_path, name):
    document = ROOT / "docs" / f"{name}.md"
    copy = Path(shutil.copy(document, tmp_path))
    made = tool("benchmarks")
    made._summarize(copy, made.DOCUMENTS[name].values())
    assert copy.read_text() == document.read_text()
    assert copy.read_text().count("\n| [") == len(made.DOCUMENTS[name])
