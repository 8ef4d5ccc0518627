"""A real sign-in at a provider on this machine: what each role may do, under which name, and until when."""

import json
import re
from typing import NamedTuple

import pytest
from harness import settled
from playwright.sync_api import Page, expect
from provider import CLIENT, running_provider
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

from tests.command import served

WAIT_MS = 60_000
SECRET = "what signs the cookies of this test's server"
SECRETS = """
[auth]
redirect_uri = "http://127.0.0.1:{{port}}/oauth2callback"
cookie_secret = "{cookie}"
client_id = "{client}"
client_secret = "{secret}"
server_metadata_url = "{url}/.well-known/openid-configuration"
"""
ROLES = """
[roles]
view = ["*@example.org"]
note = ["ann@example.org"]
launch = ["ann@example.org"]
"""
GUARDED = ("/notices.atom", "/perfetto/index.html", "/artifact?record=1&path=artifacts/a/log.txt")
NOTHING = ["Skip to main content", "xlabench", "Sign in to see the results.", "login", "Sign in"]
FINDING = "/compare?a=last-run-0&findings=Slower&review=true"
NEW_RUN = "/runs?show=New+run"


class Place(NamedTuple):
    """A server with a login, its home, and its provider."""

    url: str
    home: object
    provider: object


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    from store.ingest import ingest
    from tests.store import weekly_runs

    home = tmp_path_factory.mktemp("login")
    weekly_runs.write_weeks(home)
    ingest([home / "runs"], home / "store")
    (home / "notices.atom").write_text("<feed xmlns='http://www.w3.org/2005/Atom'/>")
    (home / "xlabench.toml").write_text(ROLES)
    (home / ".streamlit").mkdir()
    with running_provider() as provider:
        said = SECRETS.format(cookie=SECRET, client=CLIENT, secret=provider.client_secret, url=provider.url)
        (home / ".streamlit" / "secrets.toml").write_text(said)
        with served(home) as port:
            yield Place(f"http://127.0.0.1:{port}", home, provider)


def statuses(page: Page, url: str) -> list[int]:
    """Return how the guarded routes answer the browser of a page."""
    return [page.request.get(url + path).status for path in GUARDED]


def sees_nothing(page: Page, url: str, paths: tuple[str, ...] = ("/",)) -> None:
    for path in paths:
        page.goto(url + path)
        expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible(timeout=WAIT_MS)
        drawn = page.get_by_test_id("stApp").inner_text().split("\n")
        assert [line for line in drawn if line.strip()] == NOTHING
    assert statuses(page, url) == [401, 401, 401]


def sign_in(page: Page, place: Place, email: str, **claims: object) -> None:
    place.provider.person = {"sub": "42", "email": email, "email_verified": True} | claims
    page.goto(place.url)
    page.get_by_role("button", name="Sign in", exact=True).click(timeout=WAIT_MS)


def noted(page: Page, place: Place) -> list[tuple[str, bool, str | None]]:
    """Say something of a finding; return who has said what so far."""
    from store.state import FILE_NAME, reviews

    page.goto(place.url + FINDING)
    settled(page, "Compare")
    page.get_by_role("textbox", name="Note").fill("the driver is new", timeout=WAIT_MS)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text(re.compile("Saved\\.|may not note"))).to_be_visible(timeout=WAIT_MS)
    return [(entry.who, entry.verified, entry.note) for entry in reviews.listed(place.home / FILE_NAME)]


def start_button(page: Page, place: Place):
    """Fill the form for a new run; return the button that would queue it."""
    page.goto(place.url + NEW_RUN)
    settled(page, "Runs & jobs")
    page.get_by_role("combobox", name="Suites").fill("dummy", timeout=WAIT_MS)
    page.get_by_role("option", name="dummy").click(timeout=WAIT_MS)
    page.keyboard.press("Escape")
    return page.get_by_role("button", name=re.compile("Queue \\d+ experiment"))


def signed_in(page: Page, place: Place, email: str) -> None:
    sign_in(page, place, email)
    expect(page.get_by_text(f"Signed in as {email}")).to_be_visible(timeout=WAIT_MS)


def test_a_sign_in_opens_pages_under_the_name_of_the_login_and_a_sign_out_closes_them(page, place):
    """What the role list gives and refuses is shown by tests/dashboard/test_login.py, here by the long forms."""
    sees_nothing(page, place.url, (FINDING,))
    signed_in(page, place, "ann@example.org")
    assert statuses(page, place.url) == [200, 200, 404]
    assert noted(page, place)[-1] == ("ann@example.org", True, "the driver is new")
    page.evaluate("window.signedIn = true")
    page.get_by_role("button", name="Sign out").click()
    # What is drawn closes at once, the cookie goes on the way over the provider.
    page.wait_for_function("() => !window.signedIn", timeout=WAIT_MS)
    expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible(timeout=WAIT_MS)
    assert place.provider.ended == 1
    assert statuses(page, place.url) == [401, 401, 401]


@pytest.mark.thorough
def test_who_may_only_view_neither_notes_nor_launches(page, place):
    """Nothing is planned for who may not launch, so there is no number that a button could name."""
    sees_nothing(page, place.url, (FINDING, NEW_RUN))
    signed_in(page, place, "vera@example.org")
    assert statuses(page, place.url) == [200, 200, 404]
    assert "vera@example.org" not in [who for who, _, _ in noted(page, place)]
    expect(page.get_by_text("vera@example.org may not note")).to_be_visible()
    expect(start_button(page, place)).to_have_count(0)
    expect(page.get_by_text("vera@example.org may not launch")).to_be_visible(timeout=WAIT_MS)


@pytest.mark.thorough
def test_who_may_launch_queues_a_job_under_the_name_of_the_login(page, place):
    from runner.home.settings_file import Person
    from runner.jobs.queue import JobQueue

    signed_in(page, place, "ann@example.org")
    start_button(page, place).click(timeout=WAIT_MS)
    expect(page.get_by_text("Job 1", exact=True)).to_be_visible(timeout=WAIT_MS)
    [job] = JobQueue(place.home, Person("test")).listed()
    assert (job.who, job.verified, job.state) == ("ann@example.org", True, "queued")


@pytest.mark.thorough
def test_who_is_not_listed_and_a_name_that_its_provider_has_not_checked_see_no_page(browser, place):
    for claims in ({"email": "ann@example.com"}, {"email": "ann@example.org", "email_verified": "false"}):
        context = browser.new_context()
        page = context.new_page()
        sign_in(page, place, **claims)
        expect(page.get_by_text("does not list the name under view")).to_be_visible(timeout=WAIT_MS)
        assert statuses(page, place.url) == [403, 403, 403]
        context.close()


@pytest.mark.parametrize("secret", [SECRET, "another secret that nobody here has"])
def test_only_a_cookie_that_this_server_has_signed_counts(page, place, secret):
    said = {"is_logged_in": True, "email": "ann@example.org", "email_verified": True, "origin": place.url}
    forged = create_signed_value(secret, "_streamlit_user", json.dumps(said)).decode()
    page.context.add_cookies([{"name": "_streamlit_user", "value": forged, "url": place.url}])
    if secret != SECRET:
        sees_nothing(page, place.url)
        return
    page.goto(f"{place.url}/operators")
    expect(page.get_by_text("Signed in as ann@example.org")).to_be_visible(timeout=WAIT_MS)
