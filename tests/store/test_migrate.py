"""An index of an earlier version, brought up to date, holds what one that is made anew holds."""

import shutil

import duckdb
import pytest

from store import query
from store.database import migrate as migrations
from store.database import owner
from store.errors import StorageError
from store.ingest import ingest
from store.record import Graph
from tests.store.factory import demo_records, write_run
from tests.tiers import first_of

BLOCKS = """
    CREATE TABLE table_of_samples AS SELECT * FROM samples;
    DROP VIEW samples;
    ALTER TABLE table_of_samples RENAME TO samples;
    ALTER TABLE records ADD COLUMN steady_s DOUBLE[];
    ALTER TABLE records ADD COLUMN content_hash VARCHAR;
    ALTER TABLE records ADD COLUMN eager_memory_bytes DOUBLE;
    ALTER TABLE records DROP COLUMN block_kind;
    ALTER TABLE records DROP COLUMN block_round;
    ALTER TABLE records DROP COLUMN block_total_s;
    ALTER TABLE records DROP COLUMN block_per_iter_s;
    ALTER TABLE records DROP COLUMN block_trace_s;
    ALTER TABLE records DROP COLUMN block_compile_s;
    ALTER TABLE records DROP COLUMN block_execute_s;
    ALTER TABLE records DROP COLUMN block_compiles;
    ALTER TABLE records DROP COLUMN block_executions;
    DELETE FROM migrations WHERE name = '0009_blocks.sql';
    UPDATE index_facts SET value = 'another' WHERE name = 'views';
"""
"""Takes back what made the table of samples a view; earlier migrations fill that table."""
KEYS = """
    ALTER TABLE records DROP COLUMN result_id;
    ALTER TABLE pruned_pools DROP COLUMN result_id;
    UPDATE index_facts SET value = 'another' WHERE name = 'views';
"""
"""Takes back the keys of results."""
SOURCES = """
    ALTER TABLE stale_runs DROP COLUMN result_id;
    UPDATE run_sources SET command = 'another';
    UPDATE index_facts SET value = 'another' WHERE name = 'views';
"""
"""Takes back the table of a run's files, which a refresh made before, and what names the results that changed."""
TIMES = """
    ALTER TABLE samples DROP COLUMN compile_s;
    ALTER TABLE samples DROP COLUMN execute_s;
    ALTER TABLE records DROP COLUMN warm_up_s;
"""
"""Takes back the times of blocks, where their table is there."""
INGEST = """
    DROP TABLE record_metrics;
    DROP TABLE record_graphs;
    ALTER TABLE records DROP COLUMN error_type;
    ALTER TABLE records DROP COLUMN error_message;
    ALTER TABLE rejected_lines DROP COLUMN sha256;
    ALTER TABLE ingested_files DROP COLUMN plain;
"""
"""Takes back what an ingest keeps of errors, numbers and programs."""
WAITS = (
    "UPDATE records SET time_to_steady_s = 0 WHERE json_array_length(record, '$.measurement.blocks.inner_loops') > 0"
)
"""Takes back the waits of short operators."""
UNDONE = {
    "0014_waits.sql": WAITS,
    "0013_stale_results.sql": SOURCES,
    "0012_keys.sql": KEYS,
    "0009_blocks.sql": BLOCKS,
    "0006_block_times.sql": BLOCKS + TIMES,
    "0004_ingest.sql": BLOCKS + INGEST,
}
"""Migrations that fill what they add, the newest first, and what takes them back."""
TABLES = ("records", "samples", "record_metrics", "record_graphs", "run_sources")


def rows(store):
    """Return the rows of the tables by the names of their columns, whatever their order."""
    with query.connect(query.current_snapshot(store)) as con:
        found = {}
        for table in TABLES:
            names = sorted(name for name, *_ in con.execute(f"DESCRIBE {table}").fetchall())
            found[table] = sorted(map(repr, con.execute(f"SELECT {', '.join(names)} FROM {table}").fetchall()))
        return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a run and its index, which the tests copy."""
    folder = tmp_path_factory.mktemp("made")
    records = demo_records("run-1", 1_760_000_000.0, 1.0, "nightly")
    timed = next(record for record in records if record.status == "ok")
    timed.graphs.append(Graph(kind="fx", fingerprint="aa", ops=3, op_histogram={"add": 3}, fusions=1))
    blocks_n = len(timed.metrics["total_time"])
    timed.measurement.blocks.inner_loops = [1, *[20] * (blocks_n - 1)]
    timed.metrics |= {"speedup": [1.5], "xla_ExecuteTime_time_s": [0.515625] * blocks_n}
    ingest([write_run(folder / "run", records)], folder / "store")
    return folder


@pytest.fixture
def store(made, tmp_path):
    """A copy of the index; its run lies where it was read."""
    shutil.copytree(made / "store", tmp_path / "store")
    (tmp_path / "run").symlink_to(made / "run")
    return tmp_path / "store"


@pytest.mark.parametrize(
    "undone",
    first_of(
        [
            [(list(UNDONE), BLOCKS + TIMES + INGEST + KEYS + SOURCES + WAITS)],
            [([name], undo) for name, undo in UNDONE.items()],
        ]
    ),
    ids=["all", "each"],
)
def test_every_migration_fills_the_rows_that_are_there(store, undone):
    made = rows(store)
    assert any("0.515625" in row for row in made["samples"])
    assert made["record_metrics"]
    assert made["record_graphs"]
    for names, undo in undone:
        with duckdb.connect(str(store / "work.duckdb")) as con:
            con.execute(undo)
            con.execute("DELETE FROM migrations WHERE list_contains($names, name)", {"names": names})
        ingest([(store.parent / "run").resolve()], store)
        assert rows(store) == made, names


def _with_views_of_another_version(store):
    for name in ("work.duckdb", query.current_snapshot(store).name):
        with duckdb.connect(str(store / name)) as con:
            con.execute("UPDATE index_facts SET value = 'another' WHERE name = 'views'")
            con.execute("DROP VIEW rates")


def test_comments_are_no_part_of_the_version_of_the_views():
    """An index is of this version also where a comment is worded otherwise; text between quotes is no comment."""
    sql = "-- it's a view\nCREATE VIEW a AS\nSELECT '-- b', 'it''s' -- two\nFROM c;"
    assert migrations.without_comments(sql) == "\nCREATE VIEW a AS\nSELECT '-- b', 'it''s'\nFROM c;"


def test_an_index_that_cannot_be_brought_up_is_made_anew_by_a_rebuild(store):
    """As one of a version between two: it lacks a column that its migrations should have made."""
    made = rows(store)
    _with_views_of_another_version(store)
    with duckdb.connect(str(store / "work.duckdb")) as con:
        con.execute("ALTER TABLE records DROP COLUMN warm_up_s")
    with pytest.raises(StorageError, match="--rebuild"):
        ingest([(store.parent / "run").resolve()], store)
    ingest([(store.parent / "run").resolve()], store, rebuild=True)
    assert rows(store) == made


def test_views_of_another_version_are_refused_until_an_ingest_made_them_anew(store, monkeypatch):
    """In more memory where they need it: DuckDB runs out of it inside of the migration's transaction at first.

    The lists of a million records made it do so.
    """
    made, limits = rows(store), []

    def migrate(con):
        limits.append(con.execute("SELECT current_setting('memory_limit')").fetchone()[0])
        if len(limits) == 1:
            con.execute("BEGIN")
            con.execute("UPDATE records SET warm_up_s = 0")
            con.execute("SET memory_limit = '60MB'")
            con.execute("CREATE TABLE much AS SELECT list(n) FROM range(50000000) AS t(n)")
        migrations.migrate(con)

    monkeypatch.setattr(owner, "migrate", migrate)
    _with_views_of_another_version(store)
    with pytest.raises(StorageError, match="xlabench ingest"):
        query.connect(query.current_snapshot(store))
    ingest([(store.parent / "run").resolve()], store)
    with query.connect(query.current_snapshot(store)) as con:
        assert con.execute("SELECT count(*) > 0 FROM rates").fetchone() == (True,)
    assert len(limits) == 2
    assert limits[0] == "953.6 MiB"
    assert limits[1] not in ("953.6 MiB", "57.2 MiB")
    assert rows(store) == made
