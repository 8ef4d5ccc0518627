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
from tests.store.factory import demo_records, make_environment, write_run

TABLES = ("records", "samples", "record_metrics", "record_graphs", "run_sources")


def rows(store):
    """Return the rows of the tables by the names of their columns, whatever their order."""
    with query.connect(query.current_snapshot(store)) as con:
        found = {}
        for table in TABLES:
            names = sorted(name for name, *_ in con.execute(f"DESCRIBE {table}").fetchall())
            found[table] = sorted(map(repr, con.execute(f"SELECT {', '.join(names)} FROM {table}").fetchall()))
        return found


def later_migration(folder, monkeypatch, sql):
    """Give this version a migration more, which ends in `sql`; processes that are forked have it, too."""
    migrations_folder = folder / "migrations"
    shutil.copytree(migrations._MIGRATIONS, migrations_folder)
    (migrations_folder / "9999_later.sql").write_text(sql)
    monkeypatch.setattr(migrations, "_MIGRATIONS", migrations_folder)
    monkeypatch.setattr(migrations, "_migrations", migrations._migrations.__wrapped__)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a run and its index, which the tests copy."""
    folder = tmp_path_factory.mktemp("made")
    records = demo_records("run-1", 1_760_000_000.0, 1.0, "nightly")
    timed = next(record for record in records if record.status == "ok")
    timed.environment = make_environment(
        variables={"OMP_WAIT_POLICY": "passive", "OMP_PROC_BIND": "close, spread", "LD_PRELOAD": "a.so", "NPROC": "2"}
    )
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


def _written(store, sql):
    """Execute statements in the working database and in the snapshot."""
    for name in ("work.duckdb", query.current_snapshot(store).name):
        with duckdb.connect(str(store / name)) as con:
            con.execute(sql)


def test_a_new_migration_changes_the_rows_that_are_there_once(store, tmp_path, monkeypatch):
    records_n = len(rows(store)["records"])
    sql = "ALTER TABLE records ADD COLUMN half DOUBLE; UPDATE records SET half = latency_s / 2;"
    later_migration(tmp_path, monkeypatch, sql)
    with pytest.raises(StorageError, match="xlabench ingest"):
        query.connect(query.current_snapshot(store))
    for _ in range(2):
        ingest([(store.parent / "run").resolve()], store)
    with query.connect(query.current_snapshot(store)) as con:
        halves = con.execute("SELECT count(half), bool_and(half = latency_s / 2) FROM records").fetchone()
    assert halves[0] > 0
    assert halves[1]
    assert len(rows(store)["records"]) == records_n


def test_an_index_of_the_thirteen_separate_migrations_is_read_as_it_is(store):
    made = rows(store)
    _written(
        store,
        "UPDATE migrations SET name = '0013_stale_results.sql' WHERE name = '0013_tables.sql'; "
        "INSERT INTO migrations VALUES ('0001_tables.sql')",
    )
    assert rows(store) == made
    ingest([(store.parent / "run").resolve()], store)
    assert rows(store) == made


def test_the_waits_of_short_operators_are_corrected(store):
    """The script itself is executed: where there are later migrations, no index is without this one alone."""
    made = rows(store)
    _written(
        store,
        "UPDATE records SET time_to_steady_s = 0 "
        "WHERE json_array_length(record, '$.measurement.blocks.inner_loops') > 0",
    )
    assert rows(store) != made
    _written(store, (migrations._MIGRATIONS / "0014_waits.sql").read_text())
    assert rows(store) == made


def test_policies_name_the_variables_of_their_records(store):
    made = rows(store)
    _written(store, "UPDATE records SET policy = NULL")
    assert rows(store) != made
    for script in ("0016_waiting.sql", "0017_placement.sql", "0018_variables.sql"):
        _written(store, (migrations._MIGRATIONS / script).read_text())
    assert rows(store) == made


def test_the_inner_loops_of_blocks_are_read(store):
    made = rows(store)
    assert any("[1, 20, 20" in row for row in made["records"])
    _written(
        store,
        "DROP VIEW samples; ALTER TABLE records DROP COLUMN block_loops; ALTER TABLE records DROP COLUMN id_number; "
        "DELETE FROM migrations WHERE name > '0015'; DELETE FROM index_facts WHERE name = 'views'",
    )
    ingest([(store.parent / "run").resolve()], store)
    assert rows(store) == made


def test_records_of_an_older_index_get_the_numbers_of_their_ids(store):
    """Without its number a record would not be found, and an ingest would load it twice."""
    made = rows(store)
    _written(
        store,
        "ALTER TABLE records DROP COLUMN id_number; "
        "DELETE FROM migrations WHERE name > '0019'; DELETE FROM index_facts WHERE name = 'views'",
    )
    again = store.parent / "again"
    shutil.copytree((store.parent / "run").resolve(), again)
    assert ingest([again], store).records_n == 0
    with query.connect(query.current_snapshot(store)) as con:
        [[other]] = con.execute(
            "SELECT count(*) FROM records "
            "WHERE id_number IS DISTINCT FROM (md5_number_lower(record_id) & 65535)::USMALLINT"
        ).fetchall()
    assert (other, rows(store)["records"]) == (0, made["records"])


def test_an_index_from_before_the_first_migration_is_made_anew_of_the_files_that_it_names(store):
    made = rows(store)
    _written(store, "UPDATE migrations SET name = '0012_keys.sql'; ALTER TABLE stale_runs DROP COLUMN result_id")
    with pytest.raises(StorageError, match="xlabench ingest"):
        query.connect(query.current_snapshot(store))
    with pytest.raises(StorageError, match="--rebuild"):
        ingest([], store)
    ingest([], store, rebuild=True)
    assert rows(store) == made


def test_an_index_of_a_later_version_asks_for_that_version(store):
    """An ingest refuses it as well, so nobody is sent there."""
    _written(store, "INSERT INTO migrations VALUES ('9999_later.sql'); DELETE FROM index_facts WHERE name = 'views'")
    for use in (lambda: query.connect(query.current_snapshot(store)), lambda: ingest([], store)):
        with pytest.raises(StorageError, match=r"by a later version .* Install that version"):
            use()


def _with_views_of_another_version(store):
    _written(store, "UPDATE index_facts SET value = 'another' WHERE name = 'views'; DROP VIEW rates")


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
    assert limits[0] == "762.9 MiB"
    assert limits[1] not in ("762.9 MiB", "57.2 MiB")
    assert rows(store) == made
