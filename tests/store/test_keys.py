"""The keys by which views join and group say what their columns say; an unknown value equals itself."""

import re
from pathlib import Path

import pytest

from store import query
from store.ingest import ingest
from tests.store.factory import make_environment, make_record, write_run
from tests.store.peer_records import peer_record, write_peer

RESULT = ("run_id", "experiment_id", "environment")
SETTINGS = ("environment", "dtype", "requested_batch_size", "optimizer", "loss", "matmul_precision", "workload")
SUITE_SERIES = (
    *("suite", "test", "accelerator", "accelerator_model", "machine_id", "environment", "dtype"),
    *("requested_batch_size", "optimizer", "loss", "matmul_precision", "workload", "backend", "variant"),
)
ROOT = Path(__file__).resolve().parents[2]
KEYS = {"result_id": RESULT, "settings_id": SETTINGS, "suite_series_id": SUITE_SERIES}


@pytest.fixture(scope="module")
def con(tmp_path_factory):
    """Own results of several settings, with a replica each, and results of a peer whose settings are unknown."""
    changes = [
        {},
        {"dtype": "bfloat16"},
        {"model": "vgg16"},
        {"test": "train"},
        {"requested_batch_size": 4},
        {"environment": make_environment("next")},
        {"environment": make_environment(machine_id="m2")},
    ]
    own = [make_record(**change, replica=replica) for change in changes for replica in (0, 1)]
    folder = tmp_path_factory.mktemp("keys")
    write_run(folder / "own", own)
    foreign = [peer_record(backend=backend) for backend in ("eager", "inductor")]
    paths = [folder / "own", write_peer(folder / "peer.jsonl", foreign)]
    with query.connect(ingest(paths, folder / "store").snapshot) as opened:
        yield opened


@pytest.mark.parametrize("key", KEYS)
def test_a_key_tells_what_its_columns_tell(con, key):
    columns = ", ".join(KEYS[key])
    counted = ", ".join(f"count(DISTINCT {what})" for what in (key, f"({columns})", f"({key}, {columns})"))
    [(keys_n, values_n, both_n)] = con.execute(f"SELECT {counted} FROM result_rows").fetchall()
    assert keys_n == values_n == both_n
    assert keys_n > 2


def test_a_result_has_one_key_which_its_records_share(con):
    [(results_n, keys_n)] = con.execute("SELECT count(*), count(DISTINCT result_id) FROM result_rows").fetchall()
    assert results_n == keys_n
    sql = """SELECT r.replicas_n, count(*) AS records_n
        FROM result_rows AS r JOIN records AS p USING (run_id, result_id)
        GROUP BY r.result_id, r.replicas_n"""
    counts = con.execute(sql).fetchall()
    assert len(counts) == results_n
    assert all(replicas_n == records_n for replicas_n, records_n in counts)
    assert {replicas_n for replicas_n, _ in counts} == {1, 2}


def test_results_of_unknown_settings_agree_with_each_other_alone(con):
    sql = "SELECT source, count(DISTINCT settings_id) AS keys_n FROM result_rows WHERE test = 'eval' GROUP BY source"
    assert {row["source"]: row["keys_n"] for row in query.fetch(con, sql)}["peer"] == 1
    sql = """SELECT settings_id FROM result_rows WHERE source = 'peer'
        INTERSECT SELECT settings_id FROM result_rows WHERE source = 'xlabench'"""
    assert con.execute(sql).fetchall() == []


@pytest.mark.parametrize("macro", ["result_of", "settings_of"])
def test_every_argument_counts_and_an_unknown_one_is_a_value_of_its_own(demo_con, macro):
    arguments_n = {"result_of": 3, "settings_of": 7}[macro]
    lists = [["1"] * arguments_n, [None] * arguments_n, ["null"] * arguments_n]
    for place in range(arguments_n):
        lists += [["1"] * place + [other] + ["1"] * (arguments_n - place - 1) for other in ("2", None)]
    marks = ", ".join(f"${number}::VARCHAR" for number in range(1, arguments_n + 1))
    keys = [demo_con.execute(f"SELECT {macro}({marks})", each).fetchall()[0][0] for each in lists]
    assert len(set(keys)) == len(lists)
    assert demo_con.execute(f"SELECT {macro}({marks})", lists[1]).fetchall() == [(keys[1],)]


def test_no_query_compares_settings_one_by_one():
    """The one exception pairs an operator's result with one of another suite, which has other settings."""
    spelled = re.compile(rf"\b({'|'.join(SETTINGS)}) IS NOT DISTINCT FROM")
    files = [path for folder in ("store", "dashboard") for path in (ROOT / folder).rglob("*.sql")]
    assert {path.name for path in files if spelled.search(path.read_text())} == {"operators.sql"}
