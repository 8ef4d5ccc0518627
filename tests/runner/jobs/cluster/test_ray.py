"""A real Ray cluster of two nodes: records come back while jobs run, and what a dead node had is done by the other."""

from pathlib import Path

import pytest

from tests.needs import NEEDS_RAY, need

pytest.importorskip("fsspec", reason=NEEDS_RAY)

from runner.jobs.request import JobRequest, Protocol, RunRequest, Selection
from tests.runner.jobs.cluster.ray_setup import RaySetup
from tests.runner.jobs.cluster.real_cluster import real_cluster

need("ray", NEEDS_RAY)
pytestmark = [pytest.mark.slow, pytest.mark.faults, pytest.mark.thorough]
ROOT = Path(__file__).resolve().parents[4]
REQUEST = RunRequest(
    selection=Selection(
        suite_name=("faulty",), only=("fine", "slow"), accelerator=("cpu",), xla=(None,), dynamo=(None,), test=("eval",)
    ),
    protocol=Protocol(repeat=60, processes=1),
)


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    monkeypatch.setenv("XLABENCH_SUITES", "tests.faults.faulty_suite:SUITE")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with real_cluster(tmp_path / "nodes") as made:
        yield made


def test_a_dead_nodes_job_is_lost_and_done_by_the_other_node(cluster, tmp_path):
    setup = RaySetup(tmp_path / "home", cluster)
    for _ in range(2):
        setup.job_queue.submit(JobRequest(request=REQUEST, label="both"))
    setup.until(lambda: {job.state for job in setup.job_queue.listed()} == {"running"}, "both run")
    assert sorted(map(setup.node_of, (1, 2))) == sorted(cluster.nodes)
    [victim] = [job_id for job_id in (1, 2) if setup.node_of(job_id) == cluster.nodes[1]]
    setup.until(lambda: setup.records(victim), "a record comes back while its job runs")
    cluster.kill(1)
    setup.until(lambda: setup.job_queue.job(victim).attempts == 2, "lost and given to the other node")
    setup.until(lambda: {job.state for job in setup.job_queue.listed()} == {"done"}, "both done")
    assert setup.node_of(victim) == cluster.nodes[0]
    assert [job.attempts for job in sorted(setup.job_queue.listed(), key=lambda job: job.job_id != victim)] == [2, 1]
    for job in setup.job_queue.listed():
        records = setup.records(job.job_id)
        assert sorted((each["model"]["model_name"], each["status"]) for each in records) == [
            ("fine", "ok"),
            ("slow", "ok"),
        ]
        assert len([row for row in setup.stored() if row[0] == job.run_id]) == 2
    last = max(each["finished_at"] for each in setup.records(3 - victim))
    assert (
        min(each["timestamp"] for each in setup.records(victim)) >= last
    )  # the other node's device has one job at a time
    assert sorted(row[1] for row in setup.stored()) == [
        "fine",
        "fine",
        "fine",
        "slow",
        "slow",
    ]  # the dead node's one, too
