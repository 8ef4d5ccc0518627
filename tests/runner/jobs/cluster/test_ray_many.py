"""Twenty jobs over the two devices of a real Ray cluster, one node killed: each ends once, none beside another.

The long form of `test_ray.py`: three to seven minutes.
"""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.faults.fault_rows import add_row
from tests.needs import NEEDS_RAY, need

pytest.importorskip("fsspec", reason=NEEDS_RAY)

from collections.abc import Iterator

from runner import processes
from runner.jobs import folder
from runner.jobs.request import JobRequest, Protocol, RunRequest, Selection
from tests.runner.jobs.cluster.ray_setup import RaySetup
from tests.runner.jobs.cluster.real_cluster import RealCluster, real_cluster

need("ray", NEEDS_RAY)
ROOT = Path(__file__).resolve().parents[4]
TAG = "XLABENCH_TEST_CLUSTER"
"""Variable that everything inherits which the cluster starts."""
JOBS_N = 20
BEFORE_KILL_N = 8
PATIENCE_S = 1500.0
REQUEST = RunRequest(
    selection=Selection(
        suite_name=("faulty",), only=("slow",), accelerator=("cpu",), xla=(None,), dynamo=(None,), test=("eval",)
    ),
    protocol=Protocol(repeat=4, processes=1),
)


class Span(NamedTuple):
    """An attempt as its node has it: from before its first process to after its last one, in Unix seconds."""

    began: float
    ended: float | None
    """None where nobody was left to write it."""
    job_id: int
    attempt: int


def spans(home: Path) -> list[Span]:
    """Return the attempts that a node carried out, the earliest first."""
    return sorted(_spans(home))


def _spans(home: Path) -> Iterator[Span]:
    for path in home.glob("cluster/*/jobs/*/*"):
        end = folder.AttemptFolder(path).end()
        began = (path / "order.json").stat().st_mtime
        yield Span(began, end and end.ended_at, int(path.parent.name), int(path.name))


def of_cluster(tag: str) -> Counter[str]:
    """Return the names of the living processes of a cluster, counted."""
    return Counter(process.name() for process in processes.tagged(tag, TAG))


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.faults
@pytest.mark.timeout(1800)
def test_twenty_jobs_over_two_devices_end_once_each_though_a_node_dies(tmp_path, monkeypatch):
    monkeypatch.setenv("XLABENCH_SUITES", "tests.faults.faulty_suite:SUITE")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv(TAG, str(tmp_path))
    with real_cluster(tmp_path / "nodes") as cluster:
        assert of_cluster(str(tmp_path))["raylet"] == 2
        setup = RaySetup(tmp_path / "home", cluster)
        victim = carry_out(setup, cluster)
        assert of_cluster(str(tmp_path))["raylet"] == 1
        assert_done_once(setup, cluster, victim)
        assert_one_at_a_time(cluster, victim)
    assert of_cluster(str(tmp_path)) == {}
    add_row(
        f"kill of a node of a Ray cluster that carries out {JOBS_N} jobs", 1, "each job done once", lost=0, doubled=0
    )


def carry_out(setup: RaySetup, cluster: RealCluster) -> int:
    """Submit the jobs, kill the second node while it measures, and wait for all; return the job that was there."""
    for _ in range(JOBS_N):
        setup.job_queue.submit(JobRequest(request=REQUEST, label="many"))
    setup.until(lambda: count(setup, "done") >= BEFORE_KILL_N, "some are done", PATIENCE_S)
    setup.until(lambda: there(setup, cluster), "the second node measures")
    [victim] = there(setup, cluster)
    cluster.kill(1)
    setup.until(lambda: setup.job_queue.job(victim).attempts == 2, "lost and given to the other node", PATIENCE_S)
    setup.until(lambda: count(setup, "done") == JOBS_N, "all done", PATIENCE_S)
    return victim


def count(setup: RaySetup, state: str) -> int:
    return [job.state for job in setup.job_queue.listed()].count(state)


def there(setup: RaySetup, cluster: RealCluster) -> list[int]:
    """Return the job that the second node measures, without a record so far."""
    running = [
        job.job_id for job in setup.job_queue.listed() if job.state == "running" and not setup.records(job.job_id)
    ]
    return [job_id for job_id in running if setup.node_of(job_id) == cluster.nodes[1]]


def assert_done_once(setup: RaySetup, cluster: RealCluster, victim: int) -> None:
    """Each job ended once, as done, and its record is in the store once; beside them at most the dead attempt's."""
    listed = setup.job_queue.listed()
    assert {job.job_id: job.attempts for job in listed} == {n: 1 + (n == victim) for n in range(1, JOBS_N + 1)}
    for job in listed:
        ends = [each.action for each in setup.job_queue.actions(job.job_id) if each.action not in ("submit", "started")]
        assert sorted(ends) == (["done", "lost", "queued again"] if job.job_id == victim else ["done"])
    stored = Counter(setup.stored())
    assert set(stored.values()) == {1}
    mine = {job.run_id: stored.pop((job.run_id, "slow", "ok")) for job in listed}
    assert len(mine) == JOBS_N
    told = next(cluster.homes[1].glob(f"cluster/*/jobs/{victim}/1/measures.json"), None)
    dead = json.loads(told.read_text())["run_id"] if told else None
    assert {run_id for run_id, _, _ in stored} <= {dead}


def assert_one_at_a_time(cluster: RealCluster, victim: int) -> None:
    """Both nodes had jobs, and on neither did one begin before the one before it was over."""
    every = [spans(home) for home in cluster.homes]
    assert sorted((each.job_id, each.attempt) for node in every for each in node) == sorted(
        [*((job_id, 1) for job_id in range(1, JOBS_N + 1)), (victim, 2)]
    )
    for node in every:
        assert len(node) >= 2
        for before, after in pairwise(node):
            assert before.ended is not None, before
            assert before.ended <= after.began, (before, after)
    assert (every[1][-1].job_id, every[1][-1].attempt) == (victim, 1)
