"""What is asked of Ray: its Jobs API, and which nodes are alive. Only this file imports ray."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from runner.errors import RunnerError
from runner.jobs.cluster.nodes import GPU, Node, Spot
from runner.processes import in_time
from store.errors import UsageError

_FRESH_S = 0.5
"""Seconds for which an answer of Ray is reused, so that a step of the worker asks once."""
_NODES_N = 10_000
_LIMIT_S = 20.0
_NODE_LABEL = "ray.io/node-id"
_NODE_KEY, _TAKES_KEY = "xlabench-node", "xlabench-takes"
"""Keys in the metadata of xlabench's jobs, those of other homes included."""


T = TypeVar("T")


class Unreachable(RunnerError):
    """The cluster does not answer, or refuses."""


@dataclass(frozen=True, kw_only=True)
class RayJob:
    """A job as Ray sees it."""

    state: str
    """PENDING, RUNNING, or Ray's word for how the job ended."""
    message: str
    node_id: str
    """Id of the node where it runs or will run."""
    takes: Mapping[str, float]

    @property
    def is_over(self) -> bool:
        return self.state not in ("PENDING", "RUNNING")


@dataclass
class RayCluster:
    """A cluster behind the address of its dashboard."""

    address: str
    limit_s: float = _LIMIT_S
    """Seconds to wait for one answer."""
    _client: Any = None
    _asked: dict[str, tuple[float, Any]] = field(default_factory=dict)

    def connect(self) -> None:
        """Import Ray; its own words about the cluster's version come here.

        Raises:
            UsageError: ray is not installed.
        """
        try:
            import ray.job_submission
            import ray.util.state  # noqa: F401
        except ImportError:
            raise UsageError(
                "--executor ray needs Ray: install the extra `cluster` (pip install 'xlabench[cluster]')."
            ) from None

    def nodes(self) -> list[Node]:
        """Return the nodes that are alive.

        Raises:
            Unreachable: the cluster does not answer.
        """
        return self._fresh("nodes", self._nodes)

    def jobs(self) -> dict[str, RayJob]:
        """Return the jobs that were submitted to the cluster, by their names.

        Raises:
            Unreachable: the cluster does not answer.
        """
        return self._fresh("jobs", self._jobs)

    def submit(self, name: str, command: str, spot: Spot) -> None:
        """Give an attempt to a node; a name that is known already is that very attempt.

        Raises:
            Unreachable: the cluster does not answer, or refuses.
        """
        resources = dict(spot.takes)
        gpus = resources.pop(GPU, None)
        self._asked.pop("jobs", None)
        if name in self.jobs():
            return
        self._ask(
            lambda: self._connected().submit_job(
                entrypoint=command,
                submission_id=name,
                entrypoint_num_gpus=gpus,
                entrypoint_resources=resources or None,
                entrypoint_label_selector={_NODE_LABEL: spot.node.node_id},
                metadata={_NODE_KEY: spot.node.node_id, _TAKES_KEY: json.dumps(dict(spot.takes))},
            )
        )
        self._asked.pop("jobs", None)

    def stop(self, name: str) -> None:
        """Ask Ray to end a job; one that is over or unknown stays as it is."""
        self._asked.pop("jobs", None)
        with contextlib.suppress(Unreachable):
            self._ask(lambda: self._connected().stop_job(name))

    def _fresh(self, what: str, ask: Callable[[], T]) -> T:
        at, answer = self._asked.get(what, (0.0, None))
        if answer is None or time.monotonic() - at > _FRESH_S:
            answer = self._ask(ask)
            self._asked[what] = time.monotonic(), answer
        return answer  # type: ignore[no-any-return]

    def _nodes(self) -> list[Node]:
        from ray.util.state import list_nodes

        self._connected()
        return [
            Node(
                node_id=node.node_id,
                name=node.node_name,
                resources=dict(node.resources_total or {}),
                labels=dict(node.labels or {}),
            )
            for node in list_nodes(self.address, limit=_NODES_N, timeout=int(_LIMIT_S))
            if node.state == "ALIVE"  # Ray's own filter reports excluded nodes as missing, and raises
        ]

    def _jobs(self) -> dict[str, RayJob]:
        ray_jobs = self._connected().list_jobs()
        return {job.submission_id: _job(job) for job in ray_jobs if job.submission_id}

    def _connected(self) -> Any:
        if self._client is None:
            from ray.job_submission import JobSubmissionClient

            self._client = JobSubmissionClient(self.address)
        return self._client

    def _ask(self, ask: Callable[[], T]) -> T:
        """Ask Ray's client, which waits for ever; its errors are of several libraries.

        Raises:
            Unreachable: whatever it raises, or no answer in time.
        """
        try:
            return in_time(ask, self.limit_s)
        except Exception as error:
            self._client = None
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise Unreachable(f"the cluster at {self.address} cannot be used: {lines[0]}") from error


def _job(ray_job: Any) -> RayJob:
    metadata = ray_job.metadata or {}
    try:
        takes = {str(name): float(number) for name, number in json.loads(metadata.get(_TAKES_KEY, "{}")).items()}
    except (ValueError, TypeError, AttributeError, RecursionError):  # a job that is not ours
        takes = {}
    node_id = ray_job.driver_node_id or metadata.get(_NODE_KEY, "")
    return RayJob(state=str(ray_job.status.value), message=ray_job.message or "", node_id=node_id, takes=takes)
