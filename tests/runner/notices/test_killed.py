"""Whoever sends is killed at the worst moment: nothing comes twice, and what cannot be known is said."""

import os

import pytest

from runner.home.settings_file import Person
from runner.jobs import recurring
from runner.jobs.queue import JobQueue
from runner.jobs.request import JobRequest
from runner.notices.watch import LEFT_TO_ANOTHER
from store.state import notices
from store.state.database import opened
from tests import warm
from tests.runner.notices.homes import HOUR, REQUEST, event

LOOK = ["notices", "look", "--home"]


@pytest.fixture
def missing(home, hooks):
    """A home, by the real clock, whose recurring run is missing since half an hour; it tells a webhook."""
    job_queue = JobQueue(home.path, Person("ann"))
    due = job_queue.clock() - HOUR / 2
    earlier = JobQueue(home.path, Person("ann"), clock=lambda: job_queue.clock() - 30 * HOUR)
    recurring.add(
        earlier,
        f"{int(due // 60) % 60} {int(due // HOUR) % 24} * * *",
        JobRequest(request=REQUEST, label="nightly"),
        12 * HOUR,
    )
    home.settings(f'[notices.webhook]\nurl = "{hooks.url}"\n')
    return home


def started(home) -> warm.Started:
    """Start one that is killed."""
    with open(os.devnull, "wb") as nothing:  # noqa: PTH123 - no file of ours
        return warm.serve("xlabench", [*LOOK, home.path], nothing, imports=None)


def look(home, code: int = 0) -> str:
    done = warm.run("xlabench", [*LOOK, home.path], timeout=120)
    assert (done.returncode, done.stderr) == (code, "")
    return done.stdout


def test_killed_between_sending_and_marking_it_is_not_sent_again(missing, hooks):
    """The server has the whole message and has not answered when the sender dies."""
    hooks.answers = [None]
    sender = started(missing)
    assert hooks.got.wait(100)
    assert missing.states() == {"webhook": ["sending"]}
    sender.kill()
    sender.wait(60)
    assert "notice 1 by webhook: the sending process died; the notice may have arrived and is not sent again" in look(
        missing
    )
    assert look(missing) == ""
    assert len(hooks.taken) == 1
    assert missing.states() == {"webhook": ["unknown"]}


def test_killed_before_anything_was_sent_it_is_sent_once(missing, hooks):
    """It is kept, and nobody has begun to send it."""
    script = (
        "import os, sys, xlabench; from runner.notices import scan; scan.deliver = lambda *_: os._exit(9); "
        "xlabench.main(['notices', 'look', '--home', sys.argv[1]])"
    )
    done = warm.program(script, str(missing.path), imports=None)
    assert done.returncode == 9
    assert missing.states() == {"webhook": ["pending"]}
    assert "notice 1 sent by webhook (HTTP 204)" in look(missing)
    assert len(hooks.taken) == 1


def test_two_at_once_send_it_once(missing, hooks):
    hooks.answers = [None]
    first = started(missing)
    assert hooks.got.wait(100)
    assert look(missing, LEFT_TO_ANOTHER) == "Another process is already checking for notices in this home.\n"
    first.kill()
    first.wait(60)
    assert len(hooks.taken) == 1


def test_what_one_has_claimed_another_leaves(home, hooks):
    home.store = [event(1)]
    home.settings(f'[notices.webhook]\nurl = "{hooks.url}"\n')
    home.look()
    with opened(home.job_queue.state) as con:
        con.execute("UPDATE notice_deliveries SET state = 'pending'")
        assert notices.claim(con, "webhook", [1]) == [1]
        assert notices.claim(con, "webhook", [1]) == []
