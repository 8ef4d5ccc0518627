"""A real Ray cluster of two nodes on this machine, each with a home and locks of its own, as a context.

Run as a script it holds the nodes: it is told on its input which to kill, and whatever it started ends with it.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runner import processes
from runner.jobs.cluster.ray_api import start_flags

ROOT = Path(__file__).resolve().parents[4]
MEMORY_BYTES = 80 << 20
HEALTH = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 2000,
    "health_check_failure_threshold": 2,
}


@dataclass
class RealCluster:
    """Two nodes; the first is the head, too."""

    address: str
    nodes: tuple[str, ...]
    """Their Ray ids."""
    homes: tuple[Path, ...]
    popen: subprocess.Popen[str]

    def kill(self, number: int) -> None:
        """Kill the raylet of a node and return; what it had started may still go on."""
        assert self.popen.stdin is not None
        self.popen.stdin.write(f"{number}\n")
        self.popen.stdin.flush()


@contextlib.contextmanager
def real_cluster(folder: Path) -> Iterator[RealCluster]:
    """Give the cluster; at the end no process of it is left."""
    homes = [folder / "node0", folder / "node1"]
    for home in homes:
        home.mkdir(parents=True)
    scratch = tempfile.mkdtemp(prefix="r")  # short: the names of Ray's sockets have 107 bytes
    popen = subprocess.Popen(
        [sys.executable, "-m", "tests.runner.jobs.cluster.real_cluster", *map(str, homes)],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_DEDUP_LOGS": "0",
            "TMPDIR": scratch,
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=(folder / "cluster.log").open("w"),
        text=True,
        start_new_session=True,
    )
    try:
        assert popen.stdout is not None
        told = next((line for line in popen.stdout if line.startswith("{")), None)
        assert told is not None, (folder / "cluster.log").read_text()[-2000:]
        yield RealCluster(**json.loads(told), homes=tuple(homes), popen=popen)
    finally:
        processes.kill_tree(popen.pid)
        popen.wait()
        shutil.rmtree(scratch, ignore_errors=True)


def serve(homes: list[Path]) -> None:
    """Hold the nodes until the input ends."""
    from ray.cluster_utils import Cluster

    processes.become_subreaper()
    words = dict(word.removeprefix("--").split("=", 1) for word in start_flags({"cpu": ["Test CPU"]}, ()))
    given = {
        "num_cpus": int(words["num-cpus"]),
        "resources": json.loads(words["resources"]),
        "labels": dict(pair.split("=", 1) for pair in words["labels"].split(",")),
        "object_store_memory": MEMORY_BYTES,
    }
    own = [{"XLABENCH_HOME": str(home), "XLABENCH_LOCKS": str(home / "locks")} for home in homes]
    head = {"include_dashboard": True, "dashboard_port": 0, "_system_config": HEALTH, "env_vars": own[0]}
    head |= {"no_monitor": True, "include_log_monitor": False}  # two processes that nobody here asks anything
    cluster = Cluster(initialize_head=True, head_node_args={**given, **head})
    nodes = [cluster.head_node, cluster.add_node(**given, env_vars=own[1])]
    address = f"http://{cluster.head_node.webui_url}"
    print(json.dumps({"address": address, "nodes": [each.node_id for each in nodes]}), flush=True)
    for line in sys.stdin:
        cluster.remove_node(nodes[int(line)], allow_graceful=False)


if __name__ == "__main__":
    serve([Path(word) for word in sys.argv[1:]])
