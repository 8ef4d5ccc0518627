"""A snapshot connection reads the snapshot and nothing else."""

import itertools
import threading
from pathlib import Path

import duckdb
import pytest

from store import query
from store.errors import NoSnapshot
from store.files import queries_of
from tests.store.factory import make_record
from tests.tiers import first_of

ROOT = Path(__file__).resolve().parents[2]


def query_rows(con, name, **kept):
    """Return the rows of a named query of results, with the default baseline where it asks for one."""
    filters = query.Filters(**kept)
    bound = filters.parameters() if name == "results" else query.with_baseline(filters, query.DEFAULT_BASELINE, None)
    return query.select(con, query.named(name), bound)


FOLDERS = ["store/load", "store/refresh", "store/views", "store/queries", "dashboard/data/queries"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_query_has_a_name_of_its_own(folder):
    lines = [line for path in (ROOT / folder).rglob("*.sql") for line in path.read_text().splitlines()]
    named = [line for line in lines if line.startswith("-- name: ")]
    assert len(named) == len(queries_of(ROOT / folder)) > 1


def test_without_a_snapshot_the_error_says_what_to_do(tmp_path):
    assert query.current_snapshot(tmp_path) is None
    with pytest.raises(NoSnapshot, match="xlabench ingest"):
        query.connect(tmp_path / "index-1.duckdb")


@pytest.mark.parametrize(
    "sql",
    [
        "COPY results TO '{folder}/out.csv'",
        "COPY (SELECT 1) TO '{folder}/out.parquet' (FORMAT parquet)",
        "EXPORT DATABASE '{folder}/out'",
        "FROM read_text('{folder}/secret.txt')",
        "FROM read_blob('{folder}/secret.txt')",
        "FROM read_csv('{folder}/secret.txt')",
        "FROM read_json('{folder}/secret.txt')",
        "FROM '{folder}/secret.txt'",
        "FROM glob('{folder}/*')",
        "ATTACH '{folder}/other.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET threads = 1",
        "SET memory_limit = '1GB'",
        "SET lock_configuration = false",
        "PRAGMA enable_profiling",
        "RESET enable_external_access",
        "CREATE TABLE mine (x INTEGER)",
        "DELETE FROM records",
        "UPDATE records SET latency_s = 1",
        "DROP VIEW results",
        "FROM local_frame",
    ],
)
def test_a_query_can_neither_write_nor_reach_files(tmp_path, demo_con, sql):
    import pandas as pd

    (tmp_path / "secret.txt").write_text("secret")
    local_frame = pd.DataFrame({"secret": [1]})
    with pytest.raises(duckdb.Error):
        query.select(demo_con, sql.format(folder=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["secret.txt"]
    assert len(local_frame) == 1


def test_groups_and_distinct_values_are_planned_as_they_are_written(demo_con):
    """DuckDB would compress the columns of a sort, and join what each DISTINCT gives, which takes longer to plan."""
    sql = "SELECT model, count(DISTINCT torch), count(DISTINCT host) FROM result_rows GROUP BY model ORDER BY model"
    [(_, plan)] = demo_con.execute(f"EXPLAIN {sql}").fetchall()
    assert "DISTINCT" in plan
    assert [word for word in ("Join", "compress") if word in plan] == []


def test_threads_share_a_connection(demo_con):
    errors = []

    def ask():
        try:
            for _ in range(3):
                assert len(query_rows(demo_con, "results")) == 96
        except Exception as error:  # noqa: BLE001 (told to the main thread)
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_filters_are_alternatives_within_and_conditions_between_columns(demo_con):
    found = query_rows(demo_con, "speedups", model=("dcgan", "vgg16"), backend=("eager",), test=("eval",))
    assert sorted(found["model"]) == ["dcgan", "dcgan", "vgg16", "vgg16"]
    assert set(found["backend"]) == {"eager"}


HOSTILE = "x') OR 1=1; DROP TABLE records; --"


FILTERED = ("suite", "backend", "test", "accelerator", "run", "model", "dtype")


BOUND = [
    *itertools.product(["results"], FILTERED),
    *itertools.product(("speedups", "geomeans"), FILTERED[-2:]),
    *itertools.product(("speedups", "geomeans"), FILTERED[:-2]),
]
"""Every filter is bound in one query, two in the others; all of them are thorough."""


@pytest.mark.parametrize(("name", "column"), first_of(BOUND, len(FILTERED) + 4))
def test_values_are_bound_and_never_sql(demo_con, name, column):
    found = query_rows(demo_con, name, **{column: (HOSTILE,)})
    if (name, column) == ("geomeans", "model"):
        assert not found["n"].any()
    else:
        assert found.empty


def test_a_hostile_baseline_is_a_name_that_nothing_has(demo_con):
    found = query.select(demo_con, query.named("speedups"), query.with_baseline(query.ALL, HOSTILE, HOSTILE))
    assert set(found["speedup_reason"]) >= {"no baseline result"}
    assert found["speedup"].isna().all()


def test_facets_say_what_there_is(demo_con):
    found = query.facets(demo_con)
    backends = found[found["facet"] == "backend"]
    assert list(backends["value"]) == ["eager", "inductor", "openxla+dynamo", "openxla+lazytensor"]
    assert list(backends["results_n"]) == [24, 24, 24, 24]


def test_samples_are_the_blocks_in_order_and_fetch_has_none_where_there_is_no_value(stored):
    record = make_record(per_iter=[0.3, 0.2], iterations_per_run=2)
    con = stored([record, make_record(model="failed", status="oom")])
    found = query.select(con, "FROM samples WHERE record_id = $id ORDER BY block", {"id": record.record_id})
    assert list(found["kind"]) == ["first", "warmup", "steady", "steady"]
    assert list(found["total_s"]) == [2.0, 0.024, 0.6, 0.4]
    assert list(found["compiles"]) == [1, 0, 0, 0]
    [row] = query.fetch(con, "SELECT latency_s, optimizer FROM results WHERE model = 'failed'")
    assert row == {"latency_s": None, "optimizer": None}


def test_files_can_be_read_by_the_version_before(demo):
    """The storage version is written in the file's header."""
    from store.database import owner

    with duckdb.connect(":memory:") as con:
        con.execute(f"ATTACH '{query.current_snapshot(demo / 'store')}' AS snapshot (READ_ONLY)")
        [(tags,)] = con.execute("SELECT tags FROM duckdb_databases() WHERE database_name = 'snapshot'").fetchall()
    assert tags["storage_version"].startswith(owner.STORAGE_VERSION)
