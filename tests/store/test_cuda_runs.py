"""Runs that were measured on a GPU, from the record to the report."""

import json
from pathlib import Path

import pytest

from store.paired import baseline_of, paired_report
from store.query import Filters

ROOT = Path(__file__).parents[2]
DATA = [ROOT / "tests" / "data" / "cuda", ROOT / "demo" / "runs" / "gpu"]
EAGER, GRAPHS = "eager", "inductor mode=reduce-overhead"


@pytest.fixture(scope="module")
def con(tmp_path_factory):
    from store.ingest import ingest
    from store.query import connect

    with connect(ingest(DATA, tmp_path_factory.mktemp("cuda")).snapshot) as opened:
        yield opened


def rows(con, query, *values):
    return con.execute(query, list(values)).to_arrow_table().to_pylist()


def own_run(con, *variants):
    """Return the run of the own model that has these variants."""
    query = "SELECT run_id FROM results WHERE suite = 'own' GROUP BY ALL HAVING list_sort(list(variant)) = ?"
    [row] = rows(con, query, sorted(variants))
    return str(row["run_id"])


def test_all_are_results_of_the_gpu(con):
    found = rows(con, "SELECT accelerator, accelerator_model, status, latency_s, peak_memory_bytes FROM results")
    assert len(found) == 11
    assert {(row["accelerator"], row["accelerator_model"], row["status"]) for row in found} == {
        ("cuda", "NVIDIA H200", "ok")
    }
    assert all(1e-5 < row["latency_s"] < 4e-3 and row["peak_memory_bytes"] > 1e7 for row in found)


def test_a_run_with_another_mode_alone_is_compared_with_eager(con):
    run = own_run(con, EAGER, GRAPHS)
    assert baseline_of(con, run) == EAGER
    report = paired_report(con, Filters(run=(run,)), baseline_backend=EAGER)
    [sentence] = report.answer
    assert GRAPHS in sentence
    assert "slower" in sentence


def test_a_shared_gpu_is_a_doubt_in_the_line_of_the_number(con):
    report = paired_report(con, Filters(run=(own_run(con, EAGER),)), baseline_backend=EAGER)
    [line] = report.people[0].rows
    assert "shared accelerator" in str(line)


def test_the_record_keeps_the_time_on_the_device_that_the_profiler_saw(con):
    [row] = rows(con, "SELECT record FROM records WHERE suite = 'dummy'")
    metrics = json.loads(row["record"])["metrics"]
    assert len(metrics["per_iter_cuda_time_s"]) == 3
    assert all(1e-6 < seconds < 1e-4 for seconds in metrics["per_iter_cuda_time_s"])
