"""A configured login stands before every page."""

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from dashboard import settings
from dashboard.access import login
from dashboard.screens import PAGES
from tests.dashboard.opened import APP, open_page
from tests.faults.fault_rows import add_row


@pytest.mark.parametrize("path", [spec.url_path for spec in PAGES])
def test_nobody_sees_a_page_before_signing_in(monkeypatch, demo, path):
    monkeypatch.setattr(login.auth_util, "get_secrets_auth_section", lambda: {"client_id": "xlabench"})
    is_closed(monkeypatch, demo, path)
    add_row("pages opened without signing in, where a login is configured", 1, "only the sign-in page")


def test_a_login_that_is_lost_while_pages_are_served_lets_nobody_in(monkeypatch, demo):
    monkeypatch.setattr(login.auth_util, "get_secrets_auth_section", dict)
    assert not login.configured()
    monkeypatch.setenv(settings.LOGIN_VARIABLE, "1")
    assert login.configured()
    is_closed(monkeypatch, demo, "trends")


def is_closed(monkeypatch, demo, path):
    monkeypatch.setenv(settings.STORE_VARIABLE, str(demo))
    at = AppTest.from_file(str(APP), default_timeout=60)
    at._page_hash = calc_hash(path)
    at.run()
    assert not at.exception
    assert [element.value for element in at.title] == ["xlabench"]
    assert "Sign in" in at.markdown[0].value
    assert not at.dataframe
    assert not at.multiselect


class Reader(dict):
    """Somebody whom the login knows."""

    is_logged_in = True


def roles(monkeypatch, home, text):
    """Sign somebody in over a home with a role list."""
    monkeypatch.setattr(login.auth_util, "get_secrets_auth_section", lambda: {"client_id": "xlabench"})
    monkeypatch.setattr(login.st, "user", Reader(email="ann@example.org"))
    monkeypatch.setenv(settings.LOOPBACK_VARIABLE, "1")
    (home / "xlabench.toml").write_text(f"[roles]\n{text}\n")


def test_who_may_not_view_sees_no_page_and_no_file(monkeypatch, tmp_path):
    from dashboard import access

    roles(monkeypatch, tmp_path, 'view = ["bob@*"]')
    at = open_page(monkeypatch, tmp_path / "store")
    assert "[roles] of xlabench.toml does not list the name under view" in at.error[0].value.replace("\\", "")
    assert not at.title
    assert not access.may_read("ann@example.org").allowed
    assert access.may_read("bob@example.org").allowed
    add_row("a signed-in user whom no role lists", 1, "no page and no file")


@pytest.mark.parametrize(("listed", "may"), [("ann@example.org", True), ("bob@example.org", False)])
def test_the_role_list_says_who_launches_and_the_login_gives_the_name(monkeypatch, tmp_path, listed, may):
    from runner.home.settings_file import Person
    from runner.jobs.queue import JobQueue
    from runner.jobs.request import JobRequest, RunRequest, Selection

    job_queue = JobQueue(tmp_path, Person("cli"))
    job_queue.submit(JobRequest(request=RunRequest(selection=Selection(suite_name=("dummy",))), label="doubt"))
    roles(monkeypatch, tmp_path, f'launch = ["{listed}"]')
    at = open_page(monkeypatch, tmp_path / "store", "runs", show=["Jobs"], job=["1"])
    button = at.button(key="cancel-job")
    assert button.disabled != may
    if not may:
        assert "does not list the name under launch" in button.help
        return
    button.click().run()
    assert job_queue.job(1).state == "cancelled"
    newest = job_queue.actions(1)[-1]
    assert (newest.action, newest.who, newest.verified) == ("cancel", "ann@example.org", True)


def test_an_address_that_its_provider_has_not_checked_is_no_name():
    assert login.name_of({"email": "ann@example.org", "email_verified": False, "sub": "42"}) == "42"
    assert login.name_of({"email": "ann@example.org", "email_verified": "false", "sub": "42"}) == "42"
    assert login.name_of({"email": "ann@example.org", "email_verified": "true"}) == "ann@example.org"
    assert login.name_of({"email": "ann@example.org"}) == "ann@example.org"
    assert login.name_of({"email": "ann@example.org", "email_verified": True}) == "ann@example.org"


def test_who_may_not_note_says_nothing(monkeypatch, tmp_path):
    from dashboard.review import triage
    from store.state import FILE_NAME

    roles(monkeypatch, tmp_path, 'note = ["bob@example.org"]')
    monkeypatch.setenv(settings.STATE_VARIABLE, str(tmp_path / FILE_NAME))
    assert not triage.save_answer([], ("ann@example.org", True), note="x")
    roles(monkeypatch, tmp_path, 'note = ["*@example.org"]')
    assert triage.save_answer([], ("ann@example.org", True), note="x")
