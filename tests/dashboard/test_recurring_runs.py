"""Overview and last night's recurring runs: each word with its sign, what is missing, versions, and where to look."""

from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from dashboard import settings
from runner.home.settings_file import Person
from runner.jobs import recurring
from runner.jobs.queue import JobQueue
from runner.jobs.request import JobRequest, RunRequest, Selection
from store.state import jobs, schedules
from store.state.database import opened
from store.state.schedules import Tick
from tests.dashboard.opened import click_twice, copyable, open_page, text

SMOKE = Path(__file__).resolve().parents[1] / "data/review/runs/smoke"
HOUR = 3600.0
REQUEST = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",)))


class Home:
    """A home whose nightly run was due two hours ago, by the real clock, as the page has no other."""

    def __init__(self, path) -> None:
        self.path = path
        self.job_queue = JobQueue(path, Person("ann"))
        self.due_at = recurring.due_before("0 * * * *", self.job_queue.clock()) - HOUR
        earlier = JobQueue(path, Person("ann"), clock=lambda: self.due_at - 30 * HOUR)
        hour = int(self.due_at // HOUR) % 24
        self.schedule = recurring.add(
            earlier, f"0 {hour} * * *", JobRequest(request=REQUEST, label="nightly"), 12 * HOUR
        )

    def submitted(self, state, **fields):
        """Have the run submitted, and its job in a state."""
        job = self.job_queue.submit(JobRequest(request=REQUEST, label="nightly"))
        with opened(self.job_queue.state) as con:
            jobs.change(con, job.job_id, ("queued",), state=state, **fields)
            schedules.write_tick(con, Tick(schedule_id=1, due_at=self.due_at, job_id=job.job_id))

    def run(self, left_out=0):
        """Lay a measured run into the home, without the records of so many of its experiments."""
        folder = self.path / "runs" / "night"
        folder.mkdir(parents=True)
        (folder / "run.json").write_bytes((SMOKE / "run.json").read_bytes())
        with pa.input_stream(str(SMOKE / "results.jsonl.zst")) as stream:
            lines = stream.read().splitlines(keepends=True)
        keys = list(dict.fromkeys(msgspec.json.decode(line)["experiment_id"] for line in lines))
        gone = set(keys[:left_out])
        kept = [line for line in lines if msgspec.json.decode(line)["experiment_id"] not in gone]
        (folder / "results.jsonl").write_bytes(b"".join(kept))
        return str(folder), msgspec.json.decode(lines[0])["run"]["run_id"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv(settings.STATE_VARIABLE, str(tmp_path / "state.sqlite"))
    return Home(tmp_path)


def page(monkeypatch, store):
    at = open_page(monkeypatch, store)
    assert not at.exception
    return at, text(at).replace("\\", "")


def test_without_a_recurring_run_overview_says_nothing_of_one(monkeypatch, tmp_path, demo):
    monkeypatch.setenv(settings.STATE_VARIABLE, str(tmp_path / "state.sqlite"))
    _, said = page(monkeypatch, demo)
    assert "Recurring runs" not in said
    assert not (tmp_path / "state.sqlite").exists()


def test_a_run_that_nobody_submitted_is_missing_with_its_time_and_what_to_do(monkeypatch, home, demo):
    at, said = page(monkeypatch, demo)
    assert ":red[∅ missing] **nightly** due " in said
    assert "no worker has submitted it: start xlabench worker" in said
    assert copyable(at) == [f"xlabench worker --home {settings.home()}"]
    at.button(key="queue-1").click().run()
    assert [title.value for title in at.title] == ["Runs & jobs"]


def test_a_complete_run_has_its_count_and_versions_and_leads_to_its_job(monkeypatch, home, demo):
    folder, run_id = home.run()
    home.submitted("done", folder=folder, run_id=run_id)
    at, said = page(monkeypatch, demo)
    planned = sum(each.get("skip_reason") is None for each in _plan(folder))
    assert ":green[✔ complete] **nightly** due " in said
    assert f"{planned} of {planned} experiments measured" in said
    assert "torch 2.9" in said
    assert "torch_xla 2.9.0" in said
    at.button(key="recurring-job-1").click().run()
    assert at.text_input(key="job").value == "1"


def test_results_are_linked_where_the_store_has_them(monkeypatch, home):
    from store.ingest import ingest

    folder, run_id = home.run()
    home.submitted("done", folder=folder, run_id=run_id)
    ingest([home.path / "runs"], home.path / "store")
    at, _ = page(monkeypatch, home.path / "store")
    at.button(key="results-1").click().run()
    assert not at.exception
    assert run_id[:8] in str(at.query_params["run"])


def test_an_incomplete_run_says_how_many_and_names_what_is_missing(monkeypatch, home, demo):
    folder, run_id = home.run(left_out=2)
    home.submitted("done", folder=folder, run_id=run_id)
    planned = sum(each.get("skip_reason") is None for each in _plan(folder))
    at, said = page(monkeypatch, demo)
    assert ":red[✖ incomplete] **nightly** due " in said
    assert f"{planned - 2} of {planned} experiments measured" in said
    assert [each.label.startswith("Missing: ") for each in at.expander if each.label.startswith("Missing")] == [True]


def test_a_run_that_is_not_over_in_its_time_is_late(monkeypatch, home, demo):
    with opened(home.job_queue.state) as con:
        con.execute("UPDATE schedules SET late_after_s = 60")
    home.submitted("running")
    assert "[feed]" not in page(monkeypatch, demo)[1]
    (home.path / "notices.atom").write_text("<feed/>")
    _, said = page(monkeypatch, demo)
    assert "Each such state and each regression is reported once, in the [feed](notices.atom)" in said
    assert ":orange[◷ late] **nightly** due " in said
    assert "versions —: it has not begun to measure" in said


def test_a_job_that_failed_before_it_measured_is_incomplete_with_its_reason(monkeypatch, home, demo):
    home.submitted("failed", message="exit code 2: no such suite")
    _, said = page(monkeypatch, demo)
    assert ":red[✖ incomplete]" in said
    assert "exit code 2: no such suite" in said


def test_an_empty_store_says_that_last_night_is_missing(monkeypatch, home, empty):
    _, said = page(monkeypatch, empty)
    assert "No results yet" in said
    assert "∅ missing" in said


def test_a_forged_row_makes_no_other_folder_be_read(monkeypatch, home, demo, tmp_path_factory):
    folder, run_id = home.run()
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "night"
    Path(folder).rename(elsewhere)
    home.submitted("done", folder=str(elsewhere), run_id=run_id)
    _, said = page(monkeypatch, demo)
    assert "incomplete" in said
    assert "experiments measured" not in said


def _plan(folder):
    return msgspec.json.decode((Path(folder) / "run.json").read_bytes())["plan"]


def test_a_recurring_run_gets_another_time_and_is_removed_on_the_page(monkeypatch, home, demo):
    monkeypatch.setenv(settings.LOOPBACK_VARIABLE, "1")
    at = open_page(monkeypatch, demo, unfolded=["recurring-change-1"])
    at.text_input(key="recurring-change-1-cron").set_value("every night").run()
    assert "is not a cron expression" in "\n".join(each.value for each in at.error)
    assert at.button(key="recurring-change-1-save").disabled
    at.text_input(key="recurring-change-1-cron").set_value("30 5 * * *").run()
    assert "05:30 UTC" in text(at)
    at.session_state["reviewer"] = "bea"
    at.run()
    click_twice(at, at.button(key="recurring-change-1-save"))
    assert not at.error
    with opened(home.job_queue.state) as con:
        (changed,) = schedules.active(con)
    assert (changed.schedule_id, changed.cron, changed.who) == (2, "30 5 * * *", "bea"), "changed once"
    assert changed.request == home.schedule.request
    at = open_page(monkeypatch, demo, unfolded=["recurring-change-2"])
    at.session_state["reviewer"] = "bea"
    at.run()
    click_twice(at, at.button(key="recurring-change-2-remove"))
    assert not at.error
    with opened(home.job_queue.state) as con:
        assert schedules.active(con) == []
