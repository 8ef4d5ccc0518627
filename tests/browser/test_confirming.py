"""One click on a regression of Compare measures both sides again for real, and the verdict appears by itself."""

import subprocess
import sys
from contextlib import contextmanager

import pytest
from harness import ROOT, complaints, running_server, settled
from playwright.sync_api import expect

PATIENCE_MS = 240_000


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Two days of one model, in two interpreters; the first day's numbers are brighter than anything measured."""
    from tests.test_confirm import make_twin, two_days

    folder = tmp_path_factory.mktemp("confirming")
    two_days(folder, make_twin(folder / "twin"), sys.executable)
    return folder


@pytest.fixture(scope="module")
def token(home):
    """The regression's name in the address."""
    from store import query
    from store.compare import resolve
    from store.review import review

    with query.connect(query.current_snapshot(home / "store")) as con:
        found = review(con, resolve(con, "first"), resolve(con, "second"))
    (finding,) = [each for each in found.findings if each.word == "slower"]
    assert finding.certainty == "suspected"
    return finding.token


@contextmanager
def worker(home):
    """A worker in a process of its own."""
    command = [sys.executable, "-m", "xlabench", "worker", "--home", str(home)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert "waiting for jobs" in process.stdout.readline()
        yield
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.thorough
def test_one_click_measures_both_sides_and_the_verdict_appears_without_a_reload(page, home, token):
    """The chain as a whole. Its parts: tests/dashboard/test_measure_again.py (the click), tests/test_confirm.py (what
    is measured), tests/test_jobs_command.py (the job), test_pages.py (what is new appears).
    """
    from runner.home.settings_file import Person
    from runner.jobs.queue import JobQueue

    said = complaints(page)
    with worker(home), running_server(home / "store") as url:
        page.goto(f"{url}/compare?a=first&b=second&finding={token}")
        settled(page, "Compare")
        finding = page.get_by_role("heading", level=5)
        expect(finding).to_contain_text("slower (suspected)")
        page.evaluate("window.notReloaded = true")
        page.get_by_role("textbox", name="Launch as").fill("ann")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Confirm it").click()
        expect(page.get_by_text("Job 1", exact=True)).to_be_visible()
        expect(finding).to_contain_text("slower (not confirmed)", timeout=PATIENCE_MS)
        expect(page.get_by_text("measured again, both sides in turns")).to_be_visible()
        assert page.evaluate("window.notReloaded")
        page.get_by_role("button", name="Open the job").click()
        settled(page, "Runs & jobs")
        expect(page.get_by_text("1 slower, not confirmed")).to_be_visible()
        expect(page.get_by_text("Both sides were measured again in run")).to_be_visible()
    job = JobQueue(home, Person("test")).job(1)
    assert (job.state, job.who, job.attempts) == ("done", "ann", 1)
    assert said == []
