"""Parts of a page that update themselves: what Streamlit drops of them leaves the rest of the page in its place.

A fragment that runs at an interval may begin while a slow connection has not got all of the page's first run. Streamlit
drops what it has not sent of the fragment then, and a browser that gets a block with a place after a missing one ends
with "Bad delta path index" and a blank page (seen once with twenty readers on three million records).
"""

from collections import Counter

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from dashboard import settings
from runner.home.settings_file import Person
from runner.jobs.queue import JobQueue
from runner.jobs.request import JobRequest, RunRequest, Selection
from store.state import jobs
from store.state.database import opened
from tests.dashboard.opened import open_page

ROOTS = 4
"""The main part, the sidebar, events, and the bottom."""


@pytest.fixture
def told():
    """Return the messages that a page sends."""
    messages = []
    ForwardMsgQueue.on_before_enqueue_msg(
        lambda message: messages.append(ForwardMsg.FromString(message.SerializeToString()))
    )
    yield messages
    ForwardMsgQueue.on_before_enqueue_msg(None)


def misplaced(messages):
    """Return the first place that a browser cannot fill, as a parent before it has too few children; None without."""
    children = Counter({(): ROOTS})
    for message in messages:
        if not message.HasField("delta"):
            continue
        *parent, place = message.metadata.delta_path
        if any(at >= children[tuple(parent[:depth])] for depth, at in enumerate(parent)) or place > children[*parent]:
            return [*parent, place]
        children[*parent] = max(children[*parent], place + 1)
    return None


def after_a_clear(messages, sent_n, fragment):
    """Return what a browser gets that had so many messages before the fragment ran again."""
    queue = ForwardMsgQueue()
    for message in messages[sent_n:]:
        queue.enqueue(message)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=[fragment])
    return [*messages[:sent_n], *queue.flush()]


def check(messages):
    """Check each moment at which each part could update itself; return how many parts there are."""
    messages = [each for each in messages if each.WhichOneof("type") in ("delta", "auto_rerun")]
    assert misplaced(messages) is None
    parts = {each.auto_rerun.fragment_id for each in messages if each.HasField("auto_rerun")}
    for part in parts:
        for sent_n in range(len(messages)):
            assert misplaced(after_a_clear(messages, sent_n, part)) is None, (part, sent_n)
    return len(parts)


@pytest.mark.parametrize("page", ["overview", "operators", "runs"])
def test_a_page_whose_first_run_is_not_yet_sent_survives_the_look_for_new_results(monkeypatch, demo, told, page):
    open_page(monkeypatch, demo, page)
    assert check(told) == 1


@pytest.mark.parametrize("query", [{}, {"job": ["1"]}])
def test_so_does_the_queue_while_a_job_is_active(monkeypatch, tmp_path, told, query):
    monkeypatch.setenv(settings.LOOPBACK_VARIABLE, "1")
    job_queue = JobQueue(tmp_path, Person("ann"))
    job = job_queue.submit(JobRequest(request=RunRequest(selection=Selection(suite_name=("dummy",))), label="runs"))
    with opened(job_queue.state) as con:
        jobs.change(con, job.job_id, ("queued",), state="running")
    open_page(monkeypatch, tmp_path / "store", "runs", show=["Jobs"], **query)
    assert check(told) == 2
