"""What nobody may do over HTTP or a websocket, against one real server: refused, and its log says so."""

import http.client
import time

import pytest
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus

from dashboard.access.guard import RateLimitedLog, refusal_line
from dashboard.server import MOST_SENT_MB
from runner.home.settings_file import Person
from runner.jobs.queue import JobQueue
from runner.jobs.request import JobRequest, RunRequest, Selection
from tests.command import served
from tests.dashboard.session import session
from tests.dashboard.test_routes import ask
from tests.faults.fault_rows import add_row

SECRET = "what lies beside the home"
DUMMY = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",)))
ELSEWHERE = "203.0.113.9"


class Site:
    def __init__(self, folder) -> None:
        self.job_queue = JobQueue(folder / "home", Person("ann"))
        self.log = folder / "log"
        self.port = 0

    def queue(self):
        """Return every job and everything that was done to one."""
        return self.job_queue.listed(), self.job_queue.actions()

    def said(self, *parts: str) -> bool:
        """Say whether a line of the log has all of these."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if any(all(part in text for part in parts) for text in self.log.read_text().splitlines()):
                return True
            time.sleep(0.05)
        return False


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refused")
    (folder / "secret.txt").write_text(SECRET)
    made = Site(folder)
    made.job_queue.home.mkdir()
    made.job_queue.submit(JobRequest(request=DUMMY, label="waits"))
    with served(made.job_queue.home, log=made.log) as made.port:
        yield made


PAGES = ("/", "/runs", "/compare", "/model")
STREAMLITS = (
    *("/_stcore/stream", "/_stcore/health", "/_stcore/upload_file/x/y", "/_stcore/host-config", "/media/x"),
    *("/static/x", "/component/x/y", "/app/static/x", "/_stcore/bidi-components/x/y", "/auth/login", "/oauth2callback"),
)
OURS = ("/artifact?record=x&path=y", "/notices.atom", "/perfetto/index.html")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "CONNECT", "LAUNCH"])
def test_no_address_takes_anything_in(site, method):
    """Pages launch through their websocket and the queue; no form of a foreign page finds another way."""
    before = site.queue()
    for path in (*PAGES, *STREAMLITS, *OURS, "/api/jobs", "/jobs", "/jobs/1/cancel"):
        status, headers, _ = ask(site.port, path, method=method)
        assert status == 405, path
        assert headers["allow"] == "GET, HEAD, OPTIONS"
    assert site.said("refused 405", method)
    assert site.queue() == before
    add_row(
        "methods that change something, at every address", len(PAGES + STREAMLITS + OURS) + 3, "405, and in the log"
    )


TRAVERSALS = [
    "../../secret.txt",
    "..%2f..%2fsecret.txt",
    "%2e%2e/%2e%2e/secret.txt",
    "%252e%252e%252fsecret.txt",
    "....//....//secret.txt",
    "..\\..\\secret.txt",
    "..%5c..%5csecret.txt",
    "%00../secret.txt",
    "/etc/passwd",
    "//etc/passwd",
    "file:///etc/passwd",
    "..;/..;/secret.txt",
    "%c0%ae%c0%ae/secret.txt",
]
WITH_A_PATH = (
    *("/artifact?record={}&path=x", "/artifact?record=x&path={}", "/artifact/{}", "/perfetto/{}", "/notices.atom/{}"),
    *("/media/{}", "/static/{}", "/app/static/{}", "/component/{}", "/component/x/{}", "/_stcore/bidi-components/x/{}"),
    *("/{}", "/runs/{}", "/_stcore/upload_file/{}/x"),
)


@pytest.mark.parametrize("place", WITH_A_PATH)
def test_no_path_leads_out(site, place):
    """Streamlit answers what it does not know with its empty page, which is the same for every address."""
    for tried in TRAVERSALS:
        status, _, body = ask(site.port, place.format(tried))
        assert SECRET not in body, tried
        assert "root:" not in body, tried
        assert 400 <= status < 500 or "<title>Streamlit</title>" in body, (status, tried)
    add_row("paths that lead out of their folder", len(TRAVERSALS), "nothing outside the folder is read")


def test_each_of_them_is_in_the_log(site):
    for place in ("/artifact?record=x&path={}", "/perfetto/{}", "/media/{}"):
        path = place.format("%2e%2e/%2e%2e/gone.txt")
        assert ask(site.port, path)[0] >= 400
        assert site.said("refused 4", path.partition("?")[0][:9], "gone.txt", "from 127.0.0.1")


@pytest.mark.parametrize("path", OURS)
@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "http://localhost:1"}]
)
def test_a_foreign_host_or_origin_reads_nothing_and_is_in_the_log(site, path, headers):
    assert ask(site.port, path, **headers)[0] == 403
    [(name, value)] = headers.items()
    assert site.said("refused 403", path.partition("?")[0], f"{name.lower()} '{value}'")
    add_row("foreign hosts and origins, at our routes and the websocket", 1, "403, and in the log")


@pytest.mark.parametrize(
    ("host", "origin"), [("evil.example", "http://evil.example"), (None, "http://evil.example"), (None, "null")]
)
def test_a_websocket_of_a_foreign_host_or_origin_gets_no_page_and_is_in_the_log(site, host, origin):
    with pytest.raises(InvalidStatus) as refused, session(site.port, "runs", host=host or "", Origin=origin):
        pass
    assert refused.value.response.status_code == 403
    assert site.said("Rejecting WebSocket", f"origin={origin}", f"host={host or '127.0.0.1'}")
    add_row("foreign hosts and origins, at our routes and the websocket", 1, "403, and in the log")


def test_a_forged_click_of_a_session_without_the_right_is_refused_and_kept(site):
    """Somebody behind a proxy, where nobody has to sign in: the button is off, and the click comes all the same."""
    before, _ = site.queue()
    with session(site.port, "runs", "show=Jobs&job=1", X_Forwarded_For=ELSEWHERE) as eve:
        drawn = eve.run()
        eve.run(clicked=drawn["Cancel"])
    assert site.job_queue.listed() == before
    last = site.job_queue.actions()[-1]
    assert (last.action, last.verified) == ("refused click cancel-job", False)
    assert "Launching is disabled" in last.detail
    assert site.said("refused a forged click on cancel-job: Launching is disabled")
    add_row("a forged click of a user who may not launch", 1, "refused, and kept with the reason")


def test_the_same_click_of_somebody_on_this_machine_is_done(site):
    """So that the test above shows the refusal, and not a click that says nothing."""
    job = site.job_queue.submit(JobRequest(request=DUMMY, label="to be cancelled"))
    with session(site.port, "runs", f"show=Jobs&job={job.job_id}") as ann:
        drawn = ann.run()
        ann.run(values={drawn["Launch as"]: "ann"})
        ann.run(clicked=drawn["Cancel"], values={drawn["Launch as"]: "ann"})
    assert site.job_queue.job(job.job_id).state == "cancelled"
    assert site.job_queue.actions(job.job_id)[-1].who == "ann"


@pytest.mark.parametrize(
    ("path", "headers"),
    [("/artifact?record=x&path=" + "y" * 200_000, {}), ("/artifact?record=x&path=y", {"X_Long": "z" * 200_000})],
)
def test_an_address_or_header_that_is_too_long_is_refused(site, path, headers):
    try:
        status = ask(site.port, path, **headers)[0]
    except (http.client.RemoteDisconnected, ConnectionError):  # closed while it was still being sent
        return
    assert status in (400, 404, 414, 431)


def costly(length):
    """Return a cookie; for 60 kB of it, Python's reader of cookies takes ten seconds."""
    return {"Cookie": '_streamlit_user="' + "\\" * length + '"'}


def test_no_cookie_keeps_others_waiting(site):
    began = time.monotonic()
    for path in ("/", "/artifact?record=x&path=y", "/notices.atom", "/_stcore/health"):
        assert ask(site.port, path, **costly(60_000))[0] == 431
    with pytest.raises(InvalidStatus) as refused, session(site.port, "runs", **costly(7_000)):
        pass
    assert refused.value.response.status_code == 403
    with pytest.raises((InvalidMessage, ConnectionError)), session(site.port, "runs", **costly(60_000)):
        pass
    assert time.monotonic() - began < 5
    assert site.said("refused 431", "/artifact")
    assert site.said("refused 403", "/_stcore/stream")
    add_row("a cookie of 60 kB that takes Python ten seconds to parse", 5, "refused before it is read")


def test_a_file_that_somebody_sends_is_refused_before_it_is_read(site):
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
    connection.putrequest("PUT", "/_stcore/upload_file/x/y")
    connection.putheader("Content-Length", str(10**9))
    connection.endheaders()
    assert connection.getresponse().status == 405
    connection.close()
    assert site.said("refused 405", "PUT", "upload_file")


def test_a_message_that_is_too_long_ends_the_session_and_is_in_the_log(site):
    with session(site.port, "runs", "show=Jobs") as somebody, pytest.raises(ConnectionClosed) as closed:
        somebody.run(values={"x": "y" * (MOST_SENT_MB * 10**6 + 1)})
    assert closed.value.rcvd.code == 1009
    assert site.said("exceeds the limit", str(MOST_SENT_MB * 10**6))


def test_a_line_of_the_log_is_one_line_that_no_terminal_obeys():
    scope = {
        "type": "http",
        "method": "GET",
        "raw_path": b"/x\r\n\x1b[2J" + b"y" * 10_000,
        "query_string": b"",
        "headers": [(b"host", b"\x1b]0;owned\x07")],
        "client": ("127.0.0.1", 1),
    }
    said = refusal_line(scope, 404)
    assert said.isprintable()
    assert said.isascii()
    assert len(said) < 500


def test_what_streamlits_own_page_looks_for_below_its_path_is_no_line_of_the_log(site):
    looked_for = [f"/{page}/_stcore/{name}" for page in ("runs", "model") for name in ("health", "host-config")]
    assert [ask(site.port, path)[0] for path in looked_for] == [404] * len(looked_for)
    assert ask(site.port, "/perfetto/nothing.js")[0] == 404
    assert site.said("refused 404", "/perfetto/nothing.js")
    assert not [path for path in looked_for if path in site.log.read_text()]


def test_whoever_floods_the_server_does_not_fill_the_disk():
    now, said = [0.0], []
    write = RateLimitedLog(said.append, clock=lambda: now[0])
    for number in range(1000):
        write(str(number))
    assert len(said) == 600
    now[0] = 61.0
    write("later")
    assert said[600:] == ["refused 400 more requests before that, which were not logged", "later"]
