"""What a node offers, as Ray carries it, and what is asked of Ray: its Jobs API, and which nodes are alive.

Devices are resources that a job has for itself, the rest are labels. Only this file imports ray.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from runner.errors import RunnerError
from runner.jobs.executor import JobWork, Waiting
from runner.jobs.request import Needs
from runner.processes import in_time
from store.errors import UsageError
from store.record import Accelerator

_BY_RAY = ("cuda", "xpu")
"""Accelerators that Ray assigns itself, as GPU; it names the assigned ones in the driver's variable."""
GPU = "GPU"
_DEVICE, _MODEL, _ENVIRONMENT = "xlabench-", "xlabench/", "xlabench/env-"
_LABEL = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST = 63


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node that is alive."""

    node_id: str
    name: str
    resources: Mapping[str, float]
    labels: Mapping[str, str]

    @property
    def models(self) -> dict[Accelerator, str]:
        """Its accelerators with their models, as `word` writes them."""
        return {name: self.labels[_MODEL + name] for name in get_args(Accelerator) if _MODEL + name in self.labels}


@dataclass(frozen=True, kw_only=True)
class Spot:
    """Where an attempt goes, and what of the node it takes there."""

    node: Node
    needs: Needs
    takes: Mapping[str, float]

    def release(self) -> None:
        """Nothing is held before Ray has the attempt: Ray gives out each device once."""


def word(text: str) -> str:
    """Return a name as labels may hold it."""
    return _LABEL.sub("-", text)[:_LONGEST].strip("-_.") or "unknown"


def node_home() -> Path:
    """Return the home of this host as a node; the current folder does not count, as Ray starts work in its own."""
    return Path(os.environ.get("XLABENCH_HOME") or Path.home() / "xlabench-data").resolve()


def start_flags(devices: Mapping[Accelerator, Sequence[str]], environments: Iterable[str]) -> tuple[str, ...]:
    """Return the flags with which `ray start` makes a node of this host; without blanks, so that a shell splits them.

    Args:
        devices: models of the host's devices by accelerator; which of several a job gets, Ray decides.
        environments: names that its home knows.
    """
    resources = {_DEVICE + name: 1 for name in devices if name not in _BY_RAY}
    labels = {_MODEL + name: word(" or ".join(sorted(set(models)))) for name, models in devices.items()}
    labels |= {_ENVIRONMENT + word(name): "yes" for name in dict.fromkeys(("default", *environments))}
    return (
        "--num-cpus=0",  # nothing else of Ray's is to run where is measured
        f"--resources={json.dumps(resources, separators=(',', ':'))}",
        "--labels=" + ",".join(f"{key}={value}" for key, value in sorted(labels.items())),
    )


def choose(
    needs: Needs, nodes: Sequence[Node], used: Mapping[str, Mapping[str, float]], taken: frozenset[str]
) -> Spot | Waiting:
    """Return a node where all that a job needs is free, or say what it waits for.

    `taken` is what jobs before it wait for, as `NODE/RESOURCE`: nobody is overtaken there for ever.
    """
    fitting = [node for node in nodes if not _lacking(needs, node)]
    if not fitting:
        return Waiting(reason=_why_none(needs, nodes))
    for node in fitting:
        wants, has = takes(needs, node), used.get(node.node_id, {})
        is_free = all(has.get(name, 0.0) + n <= node.resources.get(name, 0.0) for name, n in wants.items())
        if is_free and not taken.intersection(_names(node, wants)):
            return Spot(node=node, needs=needs, takes=wants)
    devices = frozenset(name for node in fitting for name in _names(node, takes(needs, node)))
    where = ", ".join(sorted({node.name for node in fitting})[:3])
    what = ", ".join(needs.accelerators) or "all devices"
    return Waiting(reason=f"waits for {what} of {where}: other jobs use it or are ahead in the queue", devices=devices)


def takes(needs: Needs, node: Node) -> dict[str, float]:
    """Return the resources that a job has for itself on a node; what names no accelerator takes one of each kind."""
    resources: dict[str, float] = {}
    for name in needs.accelerators or tuple(node.models):
        if name in _BY_RAY:  # the first GPUs, so that the one with this index is among them
            resources[GPU] = 1.0 + (needs.device_index or 0)
        else:
            resources[_DEVICE + name] = 1.0
    return resources


def _names(node: Node, wants: Iterable[str]) -> set[str]:
    return {f"{node.node_id}/{name}" for name in wants}


def _lacking(needs: Needs, node: Node) -> str:
    """Return the first thing that a node lacks; empty if it has everything that the job needs."""
    wants = takes(needs, node)
    if not wants:
        return "devices to measure on"
    for kind in needs.accelerators:
        if kind not in node.models:
            return kind
    for name, number in wants.items():
        if node.resources.get(name, 0.0) < number:
            return name.removeprefix(_DEVICE)
    models = [node.models[name] for name in needs.accelerators or node.models]
    if needs.accelerator_model and word(needs.accelerator_model) not in models:
        return needs.accelerator_model
    lacks = [name for name in needs.environments if _ENVIRONMENT + word(name) not in node.labels]
    return f"the environment {lacks[0]}" if lacks else ""


def _why_none(needs: Needs, nodes: Sequence[Node]) -> str:
    measuring = [node for node in nodes if node.models]
    if not measuring:
        return (
            "waits for a benchmark node: no node of the cluster was started with the "
            "flags of `xlabench worker --node-flags`"
        )
    lacks = sorted({_lacking(needs, node) for node in measuring})
    offers = sorted({f"{name} ({model})" for node in measuring for name, model in node.models.items()})
    return f"waits for a node with {' and '.join(lacks)}: the nodes of the cluster have {', '.join(offers)}"


ORDER, WAITS, STOP = "order.json", "waits", "stop"
"""Files of an attempt: the worker's order, what the node waits for, and the request to end."""
RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,250}")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt as the worker gives it to a node. It names no place: the node knows its own."""

    origin: str
    """Identifies the worker's home, so that several homes can share nodes and places."""
    job_id: int
    attempt: int
    label: str
    needs: Needs
    work: JobWork


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Which run an attempt measures into."""

    run_id: str
    name: str
    """Name of its folder, at the shared place and in the worker's home."""


def attempt_name(origin: str, job_id: int, attempt: int) -> str:
    """Return where an attempt's files lie at the shared place."""
    return f"attempts/{origin}/{job_id}/{attempt}"


def run_name(origin: str, name: str) -> str:
    """Return where a run's files lie at the shared place."""
    return f"runs/{origin}/{name}"


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
    _answers: dict[str, tuple[float, Any]] = field(default_factory=dict)

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
        """Give an attempt to a node; if the name is known already, the attempt was given before.

        Raises:
            Unreachable: the cluster does not answer, or refuses.
        """
        resources = dict(spot.takes)
        gpus = resources.pop(GPU, None)
        self._answers.pop("jobs", None)
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
        self._answers.pop("jobs", None)

    def stop(self, name: str) -> None:
        """Ask Ray to end a job; one that is over or unknown stays as it is."""
        self._answers.pop("jobs", None)
        with contextlib.suppress(Unreachable):
            self._ask(lambda: self._connected().stop_job(name))

    def _fresh(self, what: str, ask: Callable[[], T]) -> T:
        at, answer = self._answers.get(what, (0.0, None))
        if answer is None or time.monotonic() - at > _FRESH_S:
            answer = self._ask(ask)
            self._answers[what] = time.monotonic(), answer
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
