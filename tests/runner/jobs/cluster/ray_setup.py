"""A worker over a real Ray cluster, with jobs of one person, and what has become of them."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from runner.home.settings_file import Person
from runner.jobs.cluster.executor import Ray
from runner.jobs.cluster.ray_api import RayCluster
from runner.jobs.queue import JobQueue
from runner.jobs.worker import Worker
from store.query import connect, current_snapshot
from store.remote import SharedFolder
from tests.runner.jobs.cluster.real_cluster import RealCluster
from xlabench.worker import Arrivals

PATIENCE_S = 240.0


class RaySetup:
    """A worker over the cluster, with jobs of one person."""

    def __init__(self, home: Path, cluster: RealCluster) -> None:
        home.mkdir()
        self.job_queue = JobQueue(home, Person("ann"))
        self.said: list[str] = []
        self.executor = Ray(
            home=home,
            cluster=RayCluster(cluster.address),
            shared=SharedFolder.of(str(home.parent / "shared")),
            python=sys.executable,
            arrived=Arrivals(home / "store", self.job_queue.state, self.said.append).ingest,
            say=self.said.append,
        )
        self.worker = Worker(home, self.executor, say=self.said.append)

    def until(self, done: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> None:
        deadline = time.monotonic() + patience_s
        while not done():
            self.worker.step()
            assert time.monotonic() < deadline, (what, self.said, self.job_queue.listed())
            time.sleep(0.3)

    def node_of(self, job_id: int) -> str:
        """Return the node that a job's newest attempt was given to."""
        attempt = self.job_queue.job(job_id).attempts
        found = [
            job.node_id for name, job in self.executor.cluster.jobs().items() if name.endswith(f"-{job_id}-{attempt}")
        ]
        return found[0] if found else ""

    def records(self, job_id: int) -> list[dict]:
        """Return the records of a job's run that have come into the home."""
        folder = self.job_queue.job(job_id).folder
        path = Path(folder or "/nowhere") / "results.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []

    def stored(self) -> list[tuple[str, str, str]]:
        snapshot = current_snapshot(self.job_queue.home / "store")
        if snapshot is None:
            return []
        with connect(snapshot) as con:
            return con.execute("SELECT run_id, model, status FROM records ORDER BY ALL").fetchall()
