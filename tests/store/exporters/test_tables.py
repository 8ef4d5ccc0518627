"""The index as partitioned Parquet: another engine's query over the files gives the store's own numbers."""

from pathlib import Path

import duckdb
import pytest

from store import query
from store.errors import UsageError
from store.exporters import export
from store.exporters.tables import BY_RUN
from store.ingest import ingest

DATA = Path(__file__).resolve().parents[2] / "data"
GEOMEANS = """
    SELECT run_id, suite, test, variant, exp(avg(ln(speedup))) AS geomean, count(*) AS n FROM {}
    WHERE valid AND baseline_valid GROUP BY ALL ORDER BY ALL
"""


@pytest.fixture(scope="module")
def con(tmp_path_factory):
    runs = [DATA / "review" / "runs" / name for name in ("matrix", "fallbacks", "payoffs")]
    store = ingest([*runs, DATA / "operators"], tmp_path_factory.mktemp("tables") / "store")
    with query.connect(store.snapshot) as con:
        yield con


@pytest.fixture(scope="module")
def folder(con, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "lake"
    export(con, "tables", output=folder)
    return folder


def read(folder, table):
    return f"read_parquet('{folder}/{table}/*/*.parquet', hive_partitioning = true, union_by_name = true)"


def rounded(rows):
    return [(*row[:-2], f"{row[-2]:.12g}", row[-1]) for row in rows]


def test_speedups_over_the_files_are_those_of_the_store(con, folder):
    ours = con.execute(GEOMEANS.format("speedups('inductor', NULL)")).fetchall()
    theirs = duckdb.sql(GEOMEANS.format(read(folder, "speedups"))).fetchall()
    assert rounded(theirs) == rounded(ours)
    assert len(ours) > 20


@pytest.mark.parametrize("table", [*BY_RUN, "samples"])
def test_each_table_has_all_of_its_rows_and_columns(con, folder, table):
    count, columns = con.execute(f"SELECT count(*) FROM {table}").fetchone()[0], con.sql(f"FROM {table}").columns
    if not count:
        assert not list((folder / table).rglob("*.parquet"))
        return
    found = duckdb.sql(f"FROM {read(folder, table)}")
    # The key of joins says nothing that the other columns do not say.
    assert set(columns) - set(found.columns) == set(columns) & {"result_id"}
    assert len(found.fetchall()) == count


def test_a_run_is_added_to_the_folder_and_replaces_only_its_own_files(con, tmp_path):
    one, two = (row[0] for row in con.execute("SELECT run_id FROM runs ORDER BY run_id LIMIT 2").fetchall())
    export(con, "tables", [one], tmp_path / "lake")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "lake").rglob("*.parquet")}
    export(con, "tables", [two], tmp_path / "lake")
    export(con, "tables", [two], tmp_path / "lake")
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "lake").rglob("*.parquet")}
    assert {path: after[path] for path in before} == before
    assert {path.stem for path in after} == {one, two}
    assert not list((tmp_path / "lake").rglob("*.tmp"))


def test_a_folder_of_something_else_is_refused(con, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="contains files that are not an export"):
        export(con, "tables", output=tmp_path)
