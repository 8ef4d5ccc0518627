"""The worker's side over a cluster that does what it is told: what is unknown is not called lost, what is gone is."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import msgspec
import pytest

from tests.needs import NEEDS_RAY

pytest.importorskip("fsspec", reason=NEEDS_RAY)

from pathlib import Path

from runner.home.settings_file import Person
from runner.jobs import folder, queue
from runner.jobs.cluster.executor import Ray
from runner.jobs.cluster.ray_api import Measured, Node, Order, RayJob, Spot, Unreachable
from runner.jobs.folder import End
from runner.jobs.queue import JobQueue
from runner.jobs.request import ConfirmRequest, JobRequest, RunRequest, Selection
from runner.jobs.worker import Worker
from runner.schedule import devices
from store.remote import SharedFolder
from store.state.jobs import Job
from tests.runner.jobs.cluster.test_nodes import node


@dataclass
class FakeCluster:
    """What Ray would say."""

    alive: list[Node]
    given: dict[str, RayJob] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    broken: str = ""
    refuses: bool = False

    def nodes(self) -> list[Node]:
        self._check()
        return self.alive

    def jobs(self) -> dict[str, RayJob]:
        self._check()
        return self.given

    def submit(self, name: str, command: str, spot: Spot) -> None:
        self._check()
        if self.refuses:
            raise Unreachable("the cluster at x cannot be used: no")
        self.commands.append(command)
        self.given[name] = RayJob(state="PENDING", message="", node_id=spot.node.node_id, takes=spot.takes)

    def stop(self, name: str) -> None:
        if name in self.given:
            self.turn(name, "STOPPED")

    def turn(self, name: str, state: str) -> None:
        self.given[name] = replace(self.given[name], state=state)

    def _check(self) -> None:
        if self.broken:
            raise Unreachable(self.broken)


class Lab:
    """A worker over a cluster of two nodes, and the shared place as a node sees it."""

    def __init__(self, folder: Path, shared: str) -> None:
        home = folder / "home"
        home.mkdir()
        self.job_queue = JobQueue(home, Person("ann"))
        self.cluster = FakeCluster([node("a", {"cpu": "X"}), node("b", {"cpu": "Y"})])
        self.shared, self.said, self.told = SharedFolder.of(shared), [], []
        executor = Ray(home, self.cluster, self.shared, arrived=self.arrived, say=self.said.append)
        self.worker = Worker(home, executor, say=self.said.append)

    def arrived(self, run: Path, *, is_over: bool) -> None:
        self.told.append((run.name, is_over))

    def submit(self, **given: object) -> None:
        request = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",)), **given)
        self.job_queue.submit(JobRequest(request=request, label="x; rm -rf /"))

    def step(self) -> Job:
        self.worker.step()
        return self.job_queue.job(1)

    def place(self, attempt: int = 1) -> SharedFolder:
        [origin] = {name.split("/")[1] for name in self.shared.files() if name.startswith("attempts/")}
        return self.shared.under(f"attempts/{origin}/1/{attempt}")

    def name(self, attempt: int = 1) -> str:
        return next(name for name in self.cluster.given if name.endswith(f"-1-{attempt}"))

    def run(self, attempt: int = 1) -> None:
        """The node has begun."""
        self.cluster.turn(self.name(attempt), "RUNNING")
        self.place(attempt).write("waits", b"")


@pytest.fixture(params=["folder", "object store"])
def lab(request, tmp_path):
    return Lab(tmp_path, str(tmp_path / "shared") if request.param == "folder" else f"memory://{tmp_path.name}")


def test_an_attempt_is_given_measured_and_done(lab):
    lab.submit()
    lab.step()
    order = msgspec.json.decode(lab.place().read("order.json"), type=Order)
    assert (order.job_id, order.attempt, order.needs.accelerators) == (1, 1, ("cpu",))
    assert order.work.label == "x; rm -rf /"
    [command] = lab.cluster.commands
    assert command.startswith("exec python3 -m runner.jobs.cluster.lead ")
    assert "rm" not in command
    assert (lab.step().state, lab.job_queue.job(1).message) == ("starting", "waits for Ray to start it on a")
    lab.run()
    assert (lab.step().state, lab.job_queue.job(1).host, lab.job_queue.job(1).message) == ("running", "a", "")
    lab.place().write("log", b"half of it\n")
    lab.place().write("measures.json", msgspec.json.encode(Measured(run_id="r", name="run-r")))
    lab.shared.write(f"runs/{order.origin}/run-r/results.jsonl", b"{}\n")
    job = lab.step()
    assert (job.run_id, job.folder) == ("r", str(lab.job_queue.home / "runs" / "run-r"))
    assert lab.told == [("run-r", False)]
    assert folder.of(lab.job_queue.home, 1, 1).log_tail() == "half of it\n"
    lab.place().write("end.json", msgspec.json.encode(End(code=0)))
    lab.cluster.turn(lab.name(), "SUCCEEDED")
    assert lab.step().state == "done"
    assert lab.told == [("run-r", False), ("run-r", True)]
    assert (lab.job_queue.home / "runs" / "run-r" / "results.jsonl").read_text() == "{}\n"


def test_a_dead_nodes_job_is_lost_and_given_to_another_node(lab):
    lab.submit()
    lab.step()
    lab.run()
    lab.step()
    lab.cluster.alive = lab.cluster.alive[1:]
    job = lab.step()
    assert (job.state, job.attempts) == ("starting", 2)
    assert lab.cluster.given[lab.name(2)].node_id == "id-b"
    assert [each.detail for each in lab.job_queue.actions(1) if each.action == "lost"] == ["its node is gone"]


def test_an_attempt_that_ended_without_a_word_is_lost_with_what_ray_says(lab):
    """Such as a node whose interpreter has no xlabench."""
    lab.submit()
    for attempt in (1, 2, 3):
        assert lab.step().attempts == attempt
        message = "Job entrypoint command failed with exit code 1, logs:\npython3: No module named runner\n"
        lab.cluster.given[lab.name(attempt)] = replace(
            lab.cluster.given[lab.name(attempt)], state="FAILED", message=message
        )
    assert (lab.step().state, lab.job_queue.job(1).message) == (
        "lost",
        "Ray says FAILED: python3: No module named runner",
    )


def test_a_cluster_that_does_not_answer_loses_nothing_and_is_named_once(lab):
    lab.submit()
    lab.submit()
    lab.step()
    lab.run()
    lab.step()
    lab.cluster.broken = "the cluster at x cannot be used: refused"
    for _ in range(3):
        assert lab.step().state == "running"
    assert lab.said.count("the cluster at x cannot be used: refused") == 1
    lab.submit()
    lab.step()
    assert lab.job_queue.job(3).message == "waits: the cluster at x cannot be used: refused"
    lab.cluster.broken = ""
    assert lab.step().state == "running"


def test_a_cluster_that_refuses_an_attempt_fails_it_with_its_words(lab):
    lab.cluster.refuses = True
    lab.submit()
    job = lab.step()
    assert (job.state, job.message) == ("failed", "it could not be started: the cluster at x cannot be used: no")


def test_a_shared_place_that_is_gone_makes_jobs_wait(tmp_path):
    (tmp_path / "shared").write_text("no folder")
    lab = Lab(tmp_path, str(tmp_path / "shared"))
    lab.submit()
    job = lab.step()
    assert (job.state, job.attempts) == ("queued", 0)
    assert "cannot be used" in job.message


def test_a_job_waits_for_the_model_that_it_names(lab):
    lab.submit(accelerator_model="Z")
    lab.submit(accelerator_model="Y")
    assert lab.step().message == "waits for a node with Z: the 2 there are have cpu (X), cpu (Y)"
    assert lab.job_queue.job(2).state == "starting"
    lab.cluster.alive.append(node("c", {"cpu": "Z"}))
    assert lab.step().state == "starting"


def test_what_needs_the_store_is_left_to_this_machine(lab):
    lab.job_queue.submit(JobRequest(request=ConfirmRequest(old="a", new="b"), label="confirm"))
    assert lab.step().message.startswith("waits for a worker on the home's own machine, ")
    assert "start `xlabench worker`" in lab.job_queue.job(1).message


def test_beside_a_worker_of_this_machine_that_one_says_what_a_confirmation_waits_for(lab, tmp_path, monkeypatch):
    """Else both would write their sentence in turns, and whoever follows the job would read it again and again."""
    monkeypatch.setenv(devices.FOLDER_VARIABLE, str(tmp_path / "locks"))
    lab.job_queue.submit(JobRequest(request=ConfirmRequest(old="a", new="b"), label="confirm"))
    with queue.only_one(lab.job_queue.home, "ray"):
        assert queue.lacks_confirmer(lab.job_queue.home)
        with queue.only_one(lab.job_queue.home):
            assert not queue.lacks_confirmer(lab.job_queue.home)
            assert lab.step().message == ""


def test_while_a_node_waits_for_its_device_the_jobs_time_has_not_begun(lab):
    lab.submit()
    lab.step()
    lab.run()
    lab.place().write("waits", b"waits: cpu is in use by benchmark process 7")
    lab.worker.clock = lambda: 2e9
    assert (lab.step().state, lab.job_queue.job(1).message) == (
        "starting",
        "waits: cpu is in use by benchmark process 7",
    )
    lab.place().write("waits", b"")
    assert (lab.step().state, lab.job_queue.job(1).started_at) == ("running", 2e9)


def test_cancel_asks_at_the_place_and_a_waiting_one_is_taken_back(lab):
    lab.submit()
    lab.step()
    lab.job_queue.cancel(1)
    lab.step()
    assert lab.place().exists("stop")
    assert lab.step().state == "cancelled"


@pytest.mark.parametrize("name", ["../../../evil", "/evil", ".hidden", ""])
def test_a_run_name_that_leaves_the_homes_runs_is_no_run(lab, name):
    lab.submit()
    lab.step()
    lab.run()
    lab.place().write("measures.json", json.dumps({"run_id": "r", "name": name}).encode())
    assert (lab.step().state, lab.job_queue.job(1).folder) == ("running", None)


def test_another_worker_takes_up_what_one_left(lab):
    lab.submit()
    lab.step()
    lab.run()
    old = lab.worker.executor
    lab.worker = Worker(
        lab.job_queue.home, Ray(lab.job_queue.home, lab.cluster, old.shared, arrived=lab.arrived), say=lab.said.append
    )
    assert (lab.step().state, lab.job_queue.job(1).attempts) == ("running", 1)
