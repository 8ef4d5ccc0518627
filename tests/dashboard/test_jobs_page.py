"""Runs & jobs: the queue in each state, the form with its plan, and what people who may not launch see."""

import json

import msgspec
import pytest

from dashboard import settings
from dashboard.jobs import planned
from runner.environments import machine
from runner.home.settings_file import Person
from runner.jobs import queue
from runner.jobs.queue import JobQueue
from runner.jobs.request import ConfirmRequest, JobRequest, Protocol, RunRequest, Selection, decode
from runner.schedule import devices
from store.ingest import ingest
from store.state import jobs, schedules
from store.state.database import opened
from tests.dashboard.opened import click_twice, copyable, open_page, tables, text
from tests.faults.fault_rows import add_row

DUMMY = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",)), protocol=Protocol(processes=1))
HOSTILE = "<script>alert(1)</script> **loud** [x](javascript:1) `$a$`"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home without results, whose pages only this machine reaches."""
    monkeypatch.setenv(settings.LOOPBACK_VARIABLE, "1")
    monkeypatch.delenv(settings.STATE_VARIABLE, raising=False)
    monkeypatch.delenv(settings.HOME_VARIABLE, raising=False)
    return tmp_path


@pytest.fixture
def job_queue(home):
    return JobQueue(home, Person("ann"))


def page(monkeypatch, home, **query):
    return open_page(monkeypatch, home / "store", "runs", **query)


def put(job_queue, state, **fields):
    """Queue a job and bring it into a state, as the worker would."""
    job = job_queue.submit(JobRequest(request=DUMMY, label=fields.pop("label", "doubt"), why=fields.pop("why", "")))
    with opened(job_queue.state) as con:
        return jobs.change(con, job.job_id, ("queued",), state=state, **fields)


def keys(at):
    return {button.key for button in at.button}


def test_an_empty_queue_says_how_to_ask_for_a_run(monkeypatch, home):
    at = page(monkeypatch, home, show=["Jobs"])
    assert not at.exception
    assert "No job yet" in text(at)
    commands = {f"xlabench {words} --home {home}" for words in ("worker", "jobs submit --suite-name dummy")}
    assert commands <= set(copyable(at))


def test_waiting_jobs_stand_in_their_order_and_others_below(monkeypatch, home, job_queue):
    put(job_queue, "done", label="yesterday")
    for priority in (0, 5):
        job_queue.submit(JobRequest(request=DUMMY, label=f"p{priority}", priority=priority, why="vgg16 looks slower"))
    (table,) = tables(page(monkeypatch, home, show=["Jobs"]))
    assert list(table["label"]) == ["p5", "p0", "yesterday"]
    assert list(table["place"].dropna()) == [1, 2]
    assert set(table["who"]) == {"ann (unverified)"}


@pytest.mark.parametrize(
    ("state", "message", "buttons"),
    [
        ("queued", "waits for cpu: another run measures", {"cancel-job"}),
        ("starting", "", {"cancel-job"}),
        ("running", "", {"cancel-job"}),
        ("done", "partial: some experiments could not run", set()),
        ("failed", "exit code 2: no such suite", {"retry-job"}),
        ("cancelled", "cancelled", {"retry-job"}),
        ("lost", "its process disappeared without an exit code", {"retry-job", "cancel-job"}),
    ],
)
def test_each_state_says_why_and_offers_what_can_be_done(monkeypatch, home, job_queue, state, message, buttons):
    put(job_queue, state, message=message, tries_left=0 if state == "lost" else 3)
    at = page(monkeypatch, home, show=["Jobs"], job=["1"])
    assert not at.exception
    said = text(at) + "\n".join(error.value for error in at.error)
    assert f"{state}] Job 1: doubt" in said
    assert message in said.replace("\\", "")
    assert keys(at) & {"cancel-job", "retry-job"} == buttons
    if state in ("failed", "lost"):
        assert "etry" in at.error[0].value, "it says what to do"


def test_a_job_that_nobody_follows_says_so_and_what_to_do(monkeypatch, home, job_queue, tmp_path):
    monkeypatch.setenv(devices.FOLDER_VARIABLE, str(tmp_path / "locks"))
    put(job_queue, "running", executor="ray", attempts=1)
    with queue.only_one(home):  # of this machine: it follows none of a cluster
        at = page(monkeypatch, home, show=["Jobs"], job=["1"])
    assert not at.exception
    assert "no worker follows it, and it may still be running" in at.warning[0].value
    assert f"start `xlabench worker --home {home} --executor ray` with" in at.warning[0].value
    assert "worker --executor ray" in tables(at)[0]["said"].iloc[0]
    assert "cancel-job" in keys(at)


def test_what_people_typed_is_shown_as_they_typed_it(monkeypatch, home):
    evil = JobQueue(home, Person(HOSTILE))
    put(evil, "failed", label=HOSTILE, why=HOSTILE, message=HOSTILE)
    at = page(monkeypatch, home, show=["Jobs"], job=["1"])
    assert not at.exception
    shown = text(at) + "\n".join(error.value for error in at.error)
    assert "<script>" not in shown
    assert "\\<script\\>" in shown
    assert tables(at)[0]["label"].iloc[0] == HOSTILE


def test_a_row_that_holds_no_request_breaks_no_page(monkeypatch, home, job_queue):
    put(job_queue, "queued", request="{not json", folder="/etc", run_id="x", submitted_at=1e300)
    at = page(monkeypatch, home, show=["Jobs"], job=["1"])
    assert not at.exception
    assert "not readable" in text(at)


def test_a_folder_outside_of_the_homes_runs_is_not_read(home, job_queue, tmp_path_factory):
    from dashboard.jobs.following import progress

    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "run.json").write_text("{}")
    assert progress(put(job_queue, "running", folder=str(elsewhere))) is None
    assert progress(put(job_queue, "running", folder=str(home / "runs" / ".." / ".." / "x"))) is None


def test_cancel_and_retry_go_through_the_desk_with_the_typed_name(monkeypatch, home, job_queue):
    job_queue.submit(JobRequest(request=DUMMY, label="doubt"))
    at = page(monkeypatch, home, show=["Jobs"], job=["1"])
    assert at.button(key="cancel-job").disabled, "nobody has said who it is"
    at.text_input(key="job-name").set_value("bob").run()
    at.button(key="cancel-job").click().run()
    assert job_queue.job(1).state == "cancelled"
    [banner] = [line.value for line in at.markdown if line.value.startswith("**Job 1** doubt: :gray[")]
    assert banner.endswith(" cancelled]")
    at.button(key="retry-job").click().run()
    assert job_queue.job(1).state == "queued"
    assert [(each.action, each.who, each.verified) for each in job_queue.actions(1)][1:] == [
        ("cancel", "bob", False),
        ("retry", "bob", False),
    ]
    assert "Job 1" in "".join(toast.value for toast in at.toast) or "job 1" in "".join(t.value for t in at.toast)


@pytest.mark.parametrize(("state", "does", "then"), [("queued", "cancel", "cancelled"), ("failed", "retry", "queued")])
def test_a_double_click_on_a_job_acts_once(monkeypatch, home, job_queue, state, does, then):
    put(job_queue, "failed", message="exit code 2") if state == "failed" else job_queue.submit(
        JobRequest(request=DUMMY, label="doubt")
    )
    at = page(monkeypatch, home, show=["Jobs"], job=["1"])
    at.text_input(key="job-name").set_value("bob").run()
    click_twice(at, at.button(key=f"{does}-job"))
    assert not at.exception
    assert job_queue.job(1).state == then
    assert [each.action for each in job_queue.actions(1)].count(does) == 1
    assert len(job_queue.listed()) == 1


def test_where_launching_is_off_every_button_says_so_and_nothing_is_planned(monkeypatch, home, job_queue):
    monkeypatch.setattr(planned, "_planned", lambda *_: pytest.fail("planned for somebody who may not launch"))
    put(job_queue, "failed", message="exit code 2")
    monkeypatch.setenv(settings.LOOPBACK_VARIABLE, "")
    at = page(monkeypatch, home, show=["Jobs"], job=["1"])
    assert at.button(key="retry-job").disabled
    assert "Launching is disabled" in at.button(key="retry-job").help
    at = page(monkeypatch, home, show=["New run"], new_suite=["dummy"])
    at.multiselect(key="new_suite").set_value(["dummy"]).run()
    assert [button.key for button in at.button if button.key == "new-start"] == []
    assert "Launching is disabled" in text(at)
    add_row("an operator configuration from a user who may not launch", 1, "nothing is expanded, and the page says why")


def test_a_forged_click_is_refused_and_kept(monkeypatch, home, job_queue):
    """The button was drawn for somebody who might; the queue decides again."""
    job_queue.submit(JobRequest(request=DUMMY, label="doubt"))
    at = page(monkeypatch, home, show=["Jobs"], job=["1"])
    at.text_input(key="job-name").set_value("eve").run()
    monkeypatch.setenv(settings.LOOPBACK_VARIABLE, "")
    at.button(key="cancel-job").click().run()
    assert job_queue.job(1).state == "queued"
    assert [each.action for each in job_queue.actions(1)] == ["submit", "refused cancel"]
    assert any("Launching is disabled" in error.value.replace("\\", "") for error in at.error)


def test_the_form_shows_the_plan_and_queues_one_job_for_two_clicks(monkeypatch, home, job_queue):
    at = page(monkeypatch, home, show=["New run"])
    at.text_input(key="new-name").set_value("ann").run()
    at.multiselect(key="new_model").set_value(["dummy/dummy"]).run()
    at.multiselect(key="new_backend").set_value(["eager", "openxla+lazytensor"]).run()
    at.pills(key="new_test").set_value(["eval"]).run()
    assert "**2 experiments** to measure" in text(at)
    assert "no history" in text(at)
    at.text_input(key="new_why").set_value("is it slower?").run()
    button = at.button(key="new-start")
    assert button.label == "Queue 2 experiments"
    click_twice(at, button)
    assert not at.exception
    assert at.button(key="new-start").disabled
    (job,) = job_queue.listed()
    assert (job.label, job.why, job.who, job.verified) == ("dummy", "is it slower?", "ann", False)
    assert "new-results" not in text(at)


def test_two_clicks_schedule_one_recurring_run_and_its_label_is_then_taken(monkeypatch, home, job_queue):
    at = open_page(monkeypatch, home / "store", "runs", unfolded=["repeat"], show=["New run"])
    at.text_input(key="new-name").set_value("ann").run()
    at.multiselect(key="new_suite").set_value(["dummy"]).run()
    at.text_input(key="repeat-cron").set_value("0 4 * * *").run()
    click_twice(at, at.button(key="repeat-add"))
    assert not at.error
    with opened(job_queue.state) as con:
        (made,) = schedules.active(con)
    assert (made.name, made.cron, made.who) == ("dummy", "0 4 * * *", "ann")
    at.run()
    assert "The recurring run **dummy** is scheduled (0 4 * * *, UTC)" in text(at).replace("\\", "")
    assert "repeat-add" not in keys(at)


def test_backends_that_no_selection_names_alone_are_asked_for_one_by_one(monkeypatch, home, job_queue):
    """Eager and inductor lie on other axes than lazy tensors: what was not chosen is not measured."""
    at = page(monkeypatch, home, show=["New run"])
    at.text_input(key="new-name").set_value("ann").run()
    at.multiselect(key="new_model").set_value(["dummy/dummy"]).run()
    at.multiselect(key="new_backend").set_value(["inductor", "openxla+lazytensor"]).run()
    at.button(key="new-start").click().run()
    plan = decode(job_queue.listed()[0].request).plan
    pairs = {(each.config.get("xla"), each.config.get("dynamo")) for each in plan.experiments}
    assert pairs <= {(None, "inductor"), ("PJRT", None)}


def test_the_form_takes_a_configuration_of_operators(monkeypatch, home, job_queue):
    at = page(monkeypatch, home, show=["New run"])
    at.text_input(key="new-name").set_value("ann").run()
    at.multiselect(key="new_suite").set_value(["operators"]).run()
    assert "Paste a configuration of operators" in at.error[0].value
    at.text_area(key="new_config").set_value('{"torch.neg": {"config": 1}}').run()
    assert "the configuration: torch.neg: config: " in at.warning[0].value.replace("\\", "")
    call = {"args": [{"type": "tensor", "dtype": "float", "shape": [4]}]}
    content = {"input_data_generator": "PyTorch:DefaultDataGenerator", "config": [{"input": [call]}]}
    at.text_area(key="new_config").set_value(json.dumps({"torch.neg": content})).run()
    at.multiselect(key="new_backend").set_value(["eager"]).run()
    at.pills(key="new_test").set_value(["eval"]).run()
    assert "**1 experiment** to measure" in text(at)
    at.button(key="new-start").click().run()
    assert not at.exception
    (job,) = job_queue.listed()
    assert "torch.neg" in job.request
    cloned = page(monkeypatch, home, show=["Jobs"], job=["1"])
    cloned.button(key="clone-job").click().run()
    assert not cloned.exception


def test_the_form_asks_for_the_operators_of_a_model_and_a_clone_keeps_them(monkeypatch, home, job_queue):
    at = page(monkeypatch, home, show=["New run"])
    at.text_input(key="new-name").set_value("ann").run()
    at.multiselect(key="new_model").set_value(["dummy/dummy", "dummy/dummy_nonzero"]).run()
    assert not [each for each in at.toggle if each.key == "new_ops"], "of one model only"
    at.multiselect(key="new_model").set_value(["dummy/dummy"]).run()
    at.toggle(key="new_ops").set_value(True).run()
    at.pills(key="new_test").set_value(["eval", "train"]).run()
    assert "recorded in one test" in at.error[0].value
    at.pills(key="new_test").set_value([]).run()
    at.multiselect(key="new_backend").set_value(["inductor", "openxla+lazytensor"]).run()
    assert "only then is their number known" in text(at)
    assert "under eager as well" in text(at).replace("\\", "")
    at.button(key="new-start").click().run()
    assert not at.exception
    (job,) = job_queue.listed()
    assert job.label == "ops of dummy/dummy"
    asked = decode(job.request)
    assert asked.selection == Selection(
        ops_of="dummy/dummy", test=("eval",), xla=(None, "PJRT"), dynamo=("inductor", None)
    )
    cloned = page(monkeypatch, home, show=["Jobs"], job=["1"])
    cloned.text_input(key="job-name").set_value("ann").run()
    job_queue.cancel(1)
    cloned.button(key="clone-job").click().run()
    assert not cloned.exception
    assert cloned.toggle(key="new_ops").value
    cloned.button(key="new-start").click().run()
    again = decode(job_queue.job(2).request)
    axes = {"xla": (), "dynamo": ()}
    assert msgspec.structs.replace(again.selection, **axes) == msgspec.structs.replace(asked.selection, **axes)
    assert set(again.selection.dynamo) == {"inductor", None}


def test_a_clone_is_the_same_form(monkeypatch, home, job_queue):
    request = RunRequest(selection=Selection(suite_name=("dummy",), only=("dummy/dummy",), test=("eval",)))
    job_queue.submit(JobRequest(request=request, label="mine", why="because"))
    at = page(monkeypatch, home, show=["Jobs"], job=["1"])
    at.button(key="clone-job").click().run()
    assert not at.exception
    assert at.multiselect(key="new_model").value == ["dummy/dummy"]
    assert at.text_input(key="new_label").value == "mine"


def test_the_form_names_the_device_that_a_job_waits_for(monkeypatch, home, job_queue):
    """One of this machine or any other; a part of the plan waits for it as all of it does, and a clone too."""
    at = page(monkeypatch, home, show=["New run"])
    at.text_input(key="new-name").set_value("ann").run()
    at.multiselect(key="new_model").set_value(["dummy/dummy"]).run()
    here = machine.detect().devices["cpu"][0]
    assert here in at.selectbox(key="new_device").options
    at.selectbox(key="new_device").set_value(here).run()
    at.multiselect(key="new_backend").set_value(["inductor", "openxla+lazytensor"]).run()
    at.button(key="new-start").click().run()
    assert not at.exception
    (job,) = job_queue.listed()
    asked = decode(job.request)
    assert asked.plan is not None
    assert asked.accelerator_model == here
    elsewhere = RunRequest(
        selection=Selection(suite_name=("dummy",), only=("dummy/dummy",)), accelerator_model="TPU v5e"
    )
    job_queue.submit(JobRequest(request=elsewhere, label="mine"))
    at = page(monkeypatch, home, show=["Jobs"], job=["2"])
    assert "on TPU v5e" in text(at)
    at.button(key="clone-job").click().run()
    assert not at.exception
    assert at.selectbox(key="new_device").value == "TPU v5e"


def measured(home, factory, *, purpose="benchmark", run_id="measured", names=("stable", "night"), slow=0.02):
    """Write a run of one model in two environments, the second one slower, in three processes that took turns."""
    records = [
        factory.make_record(
            model="dummy",
            suite="dummy",
            per_iter=[s * (1 + 0.001 * replica)] * 8,
            environment=factory.make_environment(name=name),
            replica=replica,
            run_id=run_id,
            purpose=purpose,
            order="interleaved",
        )
        for name, s in zip(names, (0.01, slow), strict=True)
        for replica in range(3)
    ]
    factory.write_run(home / "runs" / run_id, records)


def test_the_environments_of_a_run_and_of_what_confirms_it_are_judged_on_the_page_of_the_job(
    monkeypatch, home, job_queue, factory
):
    """Each suspicion was of one run; what the confirming run says of it stands in that one alone."""
    measured(home, factory)
    measured(home, factory, purpose="confirmation", run_id="confirming", names=("old", "new"))
    ingest([home / "runs"], home / "store")
    put(job_queue, "done", run_id="measured", folder=str(home / "runs" / "measured"))
    at = page(monkeypatch, home, show=["Jobs"], job=["1"])
    assert not at.exception
    assert "**night** against stable: :red[▼ 1 slower, " in text(at)
    request = ConfirmRequest(old="stable", new="night", run="measured")
    job = job_queue.submit(JobRequest(request=request, label="confirm"))
    with opened(job_queue.state) as con:
        jobs.change(con, job.job_id, ("queued",), state="done", run_id="confirming")
    at = page(monkeypatch, home, show=["Jobs"], job=["2"])
    assert not at.exception
    assert "**Verdicts**: :red[▼ 1 slower, " in text(at)


def test_a_confirmation_says_what_it_compares(monkeypatch, home, job_queue):
    job_queue.submit(JobRequest(request=ConfirmRequest(old="day-1", new="day-2"), label="confirm"))
    at = page(monkeypatch, home, show=["Jobs"], job=["1"])
    assert "confirm all suspected cells: day-1 → day-2" in text(at).replace("\\", "")


def test_where_a_cluster_alone_works_a_confirmation_says_what_it_waits_for(monkeypatch, home, job_queue):
    monkeypatch.setenv(devices.FOLDER_VARIABLE, str(home / "locks"))
    with queue.only_one(home, "ray"):
        assert "Confirmations wait" not in text(page(monkeypatch, home, show=["Jobs"]))
        job_queue.submit(JobRequest(request=ConfirmRequest(old="day-1", new="day-2"), label="confirm"))
        at = page(monkeypatch, home, show=["Jobs"])
        assert "Start a worker on this machine as well" in text(at)
        assert f"xlabench worker --home {home}" in copyable(at)
        with queue.only_one(home):
            assert "Confirmations wait" not in text(page(monkeypatch, home, show=["Jobs"]))


def test_a_broken_settings_file_lets_nobody_launch_and_breaks_no_page(monkeypatch, home, job_queue):
    job_queue.submit(JobRequest(request=DUMMY, label="doubt"))
    (home / "xlabench.toml").write_text("[roles\n")
    at = page(monkeypatch, home, show=["Jobs"], job=["1"])
    assert not at.exception
    assert at.button(key="cancel-job").disabled
