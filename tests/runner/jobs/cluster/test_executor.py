"""The worker's side over a cluster that does what it is told: what is unknown is not called lost, what is gone is."""

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


class ClusterSetup:
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
def setup(request, tmp_path):
    return ClusterSetup(
        tmp_path, str(tmp_path / "shared") if request.param == "folder" else f"memory://{tmp_path.name}"
    )


def test_an_attempt_is_given_measured_and_done(setup):
    setup.submit()
    setup.step()
    order = msgspec.json.decode(setup.place().read("order.json"), type=Order)
    assert (order.job_id, order.attempt, order.needs.accelerators) == (1, 1, ("cpu",))
    assert order.work.label == "x; rm -rf /"
    [command] = setup.cluster.commands
    assert command.startswith("exec python3 -m runner.jobs.cluster.lead ")
    assert "rm" not in command
    assert (setup.step().state, setup.job_queue.job(1).message) == ("starting", "waits for Ray to start it on a")
    setup.run()
    assert (setup.step().state, setup.job_queue.job(1).host, setup.job_queue.job(1).message) == ("running", "a", "")
    setup.place().write("log", b"half of it\n")
    setup.place().write("measures.json", msgspec.json.encode(Measured(run_id="r", name="run-r")))
    setup.shared.write(f"runs/{order.origin}/run-r/results.jsonl", b"{}\n")
    job = setup.step()
    assert (job.run_id, job.folder) == ("r", str(setup.job_queue.home / "runs" / "run-r"))
    assert setup.told == [("run-r", False)]
    assert folder.of(setup.job_queue.home, 1, 1).log_tail() == "half of it\n"
    setup.place().write("end.json", msgspec.json.encode(End(code=0)))
    setup.cluster.turn(setup.name(), "SUCCEEDED")
    assert setup.step().state == "done"
    assert setup.told == [("run-r", False), ("run-r", True)]
    assert (setup.job_queue.home / "runs" / "run-r" / "results.jsonl").read_text() == "{}\n"


def test_a_dead_nodes_job_is_lost_and_given_to_another_node(setup):
    setup.submit()
    setup.step()
    setup.run()
    setup.step()
    setup.cluster.alive = setup.cluster.alive[1:]
    job = setup.step()
    assert (job.state, job.attempts) == ("starting", 2)
    assert setup.cluster.given[setup.name(2)].node_id == "id-b"
    assert [each.detail for each in setup.job_queue.actions(1) if each.action == "lost"] == ["its node is gone"]


def test_an_attempt_that_ended_without_a_word_is_lost_with_what_ray_says(setup):
    """Such as a node whose interpreter has no xlabench."""
    setup.submit()
    for attempt in (1, 2, 3):
        assert setup.step().attempts == attempt
        message = "Job entrypoint command failed with exit code 1, logs:\npython3: No module named runner\n"
        setup.cluster.given[setup.name(attempt)] = replace(
            setup.cluster.given[setup.name(attempt)], state="FAILED", message=message
        )
    assert (setup.step().state, setup.job_queue.job(1).message) == (
        "lost",
        "Ray says FAILED: python3: No module named runner",
    )


def test_a_cluster_that_does_not_answer_loses_nothing_and_is_named_once(setup):
    setup.submit()
    setup.submit()
    setup.step()
    setup.run()
    setup.step()
    setup.cluster.broken = "the cluster at x cannot be used: refused"
    for _ in range(3):
        assert setup.step().state == "running"
    assert setup.said.count("the cluster at x cannot be used: refused") == 1
    setup.submit()
    setup.step()
    assert setup.job_queue.job(3).message == "waits: the cluster at x cannot be used: refused"
    setup.cluster.broken = ""
    assert setup.step().state == "running"


def test_a_cluster_that_refuses_an_attempt_fails_it_with_its_words(setup):
    setup.cluster.refuses = True
    setup.submit()
    job = setup.step()
    assert (job.state, job.message) == ("failed", "it could not be started: the cluster at x cannot be used: no")


def test_a_shared_place_that_is_gone_makes_jobs_wait(tmp_path):
    (tmp_path / "shared").write_text("no folder")
    setup = ClusterSetup(tmp_path, str(tmp_path / "shared"))
    setup.submit()
    job = setup.step()
    assert (job.state, job.attempts) == ("queued", 0)
    assert "cannot be used" in job.message


def test_a_job_waits_for_the_model_that_it_names(setup):
    setup.submit(accelerator_model="Z")
    setup.submit(accelerator_model="Y")
    assert setup.step().message == "waits for a node with Z: the nodes of the cluster have cpu (X), cpu (Y)"
    assert setup.job_queue.job(2).state == "starting"
    setup.cluster.alive.append(node("c", {"cpu": "Z"}))
    assert setup.step().state == "starting"


def test_what_needs_the_store_is_left_to_this_machine(setup):
    setup.job_queue.submit(JobRequest(request=ConfirmRequest(old="a", new="b"), label="confirm"))
    assert setup.step().message.startswith("waits for a worker on the home's own machine, ")
    assert "start `xlabench worker`" in setup.job_queue.job(1).message


def test_beside_a_worker_of_this_machine_that_one_says_what_a_confirmation_waits_for(setup, tmp_path, monkeypatch):
    """Else both would write their sentence in turns, and whoever follows the job would read it again and again."""
    monkeypatch.setenv(devices.FOLDER_VARIABLE, str(tmp_path / "locks"))
    setup.job_queue.submit(JobRequest(request=ConfirmRequest(old="a", new="b"), label="confirm"))
    with queue.only_one(setup.job_queue.home, "ray"):
        assert queue.lacks_confirmer(setup.job_queue.home)
        with queue.only_one(setup.job_queue.home):
            assert not queue.lacks_confirmer(setup.job_queue.home)
            assert setup.step().message == ""


def test_while_a_node_waits_for_its_device_the_jobs_time_has_not_begun(setup):
    setup.submit()
    setup.step()
    setup.run()
    setup.place().write("waits", b"waits: cpu is in use by benchmark process 7")
    setup.worker.clock = lambda: 2e9
    assert (setup.step().state, setup.job_queue.job(1).message) == (
        "starting",
        "waits: cpu is in use by benchmark process 7",
    )
    setup.place().write("waits", b"")
    assert (setup.step().state, setup.job_queue.job(1).started_at) == ("running", 2e9)


def test_cancel_asks_at_the_place_and_a_waiting_one_is_taken_back(setup):
    setup.submit()
    setup.step()
    setup.job_queue.cancel(1)
    setup.step()
    assert setup.place().exists("stop")
    assert setup.step().state == "cancelled"


@pytest.mark.parametrize("name", ["../../../evil", "/evil", ".hidden", ""])
def test_a_run_name_that_leaves_the_homes_runs_is_no_run(setup, name):
    setup.submit()
    setup.step()
    setup.run()
    setup.place().write("measures.json", json.dumps({"run_id": "r", "name": name}).encode())
    assert (setup.step().state, setup.job_queue.job(1).folder) == ("running", None)


def test_another_worker_takes_up_what_one_left(setup):
    setup.submit()
    setup.step()
    setup.run()
    old = setup.worker.executor
    setup.worker = Worker(
        setup.job_queue.home,
        Ray(setup.job_queue.home, setup.cluster, old.shared, arrived=setup.arrived),
        say=setup.said.append,
    )
    assert (setup.step().state, setup.job_queue.job(1).attempts) == ("running", 1)
