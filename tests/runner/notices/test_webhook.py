"""A webhook gets each event once, whatever it answers; only what did certainly not arrive is sent again."""

import itertools
import json
import socket

import pytest

from runner.home.settings_file import Notices, Webhook
from runner.notices import scan
from runner.notices.channels import webhook
from store.errors import UsageError
from store.state import notices
from store.state.database import opened
from tests.faults.fault_rows import add_row
from tests.runner.notices.homes import event
from tests.runner.notices.servers import Hooks, running

SECRET = "s3cret-token"


@pytest.fixture
def webhook_home(home, hooks):
    """A home that tells one event to a webhook."""
    home.settings(f'[notices]\ndashboard = "https://bench.example/x/"\n[notices.webhook]\nurl = "{hooks.url}"\n')
    home.store = [event(1)]
    return home


def test_an_event_is_posted_once_with_all_that_a_reader_needs(webhook_home, hooks):
    assert webhook_home.look() == [f"notice 1: {event(1).title}", "notice 1 sent by webhook (HTTP 204)"]
    [body] = hooks.taken
    assert body["text"].startswith(event(1).title)
    [found] = body["events"]
    assert (found["kind"], found["run_id"]) == ("newly failing", "r1")
    assert found["url"] == "https://bench.example/x/model?run=r1&model=model1"
    assert found["happened_at"] == "2026-11-21T12:00:00Z"
    assert hooks.headers[0]["Idempotency-Key"].startswith("urn:uuid:")
    assert hooks.paths == [f"/hook/{SECRET}"]
    assert webhook_home.look() == []
    assert len(hooks.taken) == 1


@pytest.mark.parametrize("status", [500, 502, 504, 0])
def test_an_answer_that_leaves_it_open_is_not_asked_for_again(webhook_home, hooks, status):
    hooks.answers = [status]
    said = webhook_home.look()
    assert said[-1].endswith("it may have arrived and is not sent again")
    webhook_home.now += 10 * 3600
    webhook_home.look()
    assert len(hooks.taken) == 1
    assert webhook_home.states() == {"webhook": ["unknown"]}


@pytest.mark.parametrize("status", [429, 503, 404, 302])
def test_a_refusal_is_tried_again_after_a_while(webhook_home, hooks, status):
    hooks.answers = [status]
    said = webhook_home.look()
    assert said[-1] == f"notice 1 by webhook: 127.0.0.1 answered HTTP {status}; will be retried later"
    webhook_home.look()
    assert len(hooks.taken) == 1, "not at once"
    webhook_home.now += scan.FIRST_WAIT_S + 1
    assert webhook_home.look() == ["notice 1 sent by webhook (HTTP 204)"]
    assert webhook_home.states() == {"webhook": ["sent"]}


@pytest.mark.parametrize("begun", ["HTTP/1.1 204 ", "HTTP/1.1 204 No\r\n"])
def test_a_server_that_answers_byte_by_byte_keeps_nobody_waiting(webhook_home, hooks, monkeypatch, begun):
    """Each byte comes in time, and there is no end of them."""
    monkeypatch.setattr(scan, "MOST_S", 0.2)
    hooks.answers, hooks.drips = [None], begun.encode()
    said = webhook_home.look()
    assert said[-1].endswith("its server took longer than 0.2 s; it may have arrived and is not sent again")
    assert webhook_home.states() == {"webhook": ["unknown"]}
    add_row("a webhook that answers byte by byte", 1, "given up in time, with a message")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_answer_leads_to_an_address_inside(webhook_home, hooks, status):
    """Only who writes the home's settings names an address; what answers there cannot name another one."""
    with running(Hooks()) as inside:
        hooks.answers, hooks.location = [status], inside.url
        assert webhook_home.look()[-1].endswith(f"answered HTTP {status}; will be retried later")
        assert inside.paths == []
    add_row("a webhook that redirects to an internal address", 1, "no request is sent there")


def test_what_was_put_off_while_the_clock_was_ahead_is_sent(webhook_home, hooks):
    hooks.answers = [503]
    webhook_home.now += 400 * 86_400
    assert webhook_home.look()[-1].endswith("will be retried later")
    webhook_home.now -= 400 * 86_400
    assert webhook_home.look() == ["notice 1 sent by webhook (HTTP 204)"]


def test_a_server_that_is_away_is_tried_with_growing_waits_and_given_up_in_the_end(home):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home.settings(f'[notices.webhook]\nurl = "http://127.0.0.1:{port}/{SECRET}"\n')
    home.store = [event(1)]
    times = []
    for _ in range(scan.TRIES - 1):
        assert home.look()[-1].endswith("will be retried later")
        times.append(home.now)
        home.now += 1
        assert home.look() == [], "not before its time"
        with opened(home.job_queue.state) as con:
            home.now = notices.next_at(con)
    waits = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert waits == [60, 120, 240, 480, 960, 1920]
    assert home.now - times[-1] == 3840
    why = "127.0.0.1 cannot be reached: Connection refused"
    assert home.look() == [f"notice 1 by webhook: {why}; given up after {scan.TRIES} tries"]
    assert home.states() == {"webhook": ["failed"]}


def test_many_events_at_once_are_one_message(webhook_home, hooks):
    webhook_home.store = [event(number) for number in range(scan.ALONE + 1)]
    webhook_home.look()
    [body] = hooks.taken
    assert len(body["events"]) == scan.ALONE + 1
    assert body["text"].startswith("6 notices: 6 newly failing")
    webhook_home.store = [event(100 + number) for number in range(2)]
    webhook_home.look()
    assert [len(each["events"]) for each in hooks.taken] == [6, 1, 1]
    ids = [found["id"] for each in hooks.taken for found in each["events"]]
    assert len(ids) == len(set(ids)) == 8


def test_the_address_is_nowhere_to_be_read(webhook_home, hooks):
    hooks.answers = [500, 404]
    webhook_home.store = [event(1), event(2)]
    said = webhook_home.look()
    webhook_home.now += 3600
    said += webhook_home.look()
    assert SECRET not in "\n".join(said)
    assert SECRET not in repr(Webhook(url=hooks.url)) + repr(Notices(webhook=Webhook(url=hooks.url)))
    assert SECRET not in repr(webhook(hooks.url))
    assert SECRET not in (webhook_home.path / "notices.atom").read_text()
    assert SECRET.encode() not in (webhook_home.path / "state.sqlite").read_bytes()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x/s3cret",
        "s3cret",
        "http:///s3cret",
        "http://x:99999/s3cret",
        "http://x/s3cret\r\nHost: y",
        "http://a:b@x/s3cret",
    ],
)
def test_what_is_no_address_is_refused_without_repeating_it(url):
    with pytest.raises(UsageError, match="not an http or https address") as refused:
        webhook(url)
    assert "s3cret" not in str(refused.value)


def test_the_environment_has_the_last_word(webhook_home, hooks, monkeypatch):
    webhook_home.settings("")
    monkeypatch.setenv("XLABENCH_WEBHOOK_URL", hooks.url)
    webhook_home.look()
    assert len(hooks.taken) == 1


def test_a_channel_that_comes_later_gets_no_old_events_and_one_that_goes_no_more(home, hooks):
    home.store = [event(1)]
    home.look()
    assert home.states() == {}
    home.settings(f'[notices.webhook]\nurl = "{hooks.url}"\n')
    hooks.answers = [503]
    home.store = [event(1), event(2)]
    home.look()
    assert json.dumps(hooks.taken).count("model1") == 0
    home.settings("")
    home.now += 3600
    home.look()
    assert home.states() == {"webhook": ["failed"]}


def test_while_the_settings_are_broken_events_wait(webhook_home, hooks):
    broken = (webhook_home.path / "xlabench.toml").read_text() + "nonsense = 1\n"
    whole = (webhook_home.path / "xlabench.toml").read_text()
    webhook_home.settings(broken)
    assert webhook_home.look()[0].startswith("No notice is sent: ")
    assert webhook_home.titles() == [event(1).title]
    webhook_home.settings(whole)
    webhook_home.now += scan.UNKNOWN_WAIT_S + 1
    webhook_home.look()
    assert len(hooks.taken) == 1
    assert webhook_home.states() == {"webhook": ["sent"], "mail": ["failed"]}
