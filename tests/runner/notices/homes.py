"""Homes in which a recurring run is missing, late or complete, and a store that tells what it is told to."""

from runner.home.settings_file import Person
from runner.jobs import recurring
from runner.jobs.queue import JobQueue
from runner.jobs.request import JobRequest, RunRequest, Selection
from runner.notices.scan import NoticeScan
from store.state import notices
from store.state.database import opened
from store.state.notices import Notice

NOON = 1_795_262_400.0
"""2026-11-21 12:00 UTC."""
HOUR = 3600.0
REQUEST = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",)))


class Home:
    """A home whose clock stands still until it is moved; `store` is what its index tells of."""

    def __init__(self, path) -> None:
        self.path = path
        self.now = NOON
        self.store: list[Notice] = []
        self.said: list[str] = []
        self.job_queue = JobQueue(path, Person("ann"), clock=lambda: self.now)

    def schedule(self, name="nightly"):
        return recurring.add(self.job_queue, "0 2 * * *", JobRequest(request=REQUEST, label=name), 12 * HOUR)

    def settings(self, text: str) -> None:
        (self.path / "xlabench.toml").write_text(text)

    def look(self) -> list[str]:
        """Look once; returns what was said."""
        self.said = []
        found, say = list(self.store), self.said.append
        look = NoticeScan(self.path, lambda known, looked: (found, {}), clock=lambda: self.now, say=say, warn=say)
        assert look.look()
        return self.said

    def states(self) -> dict[str, list[str]]:
        """Return the states of all deliveries by channel, in the order of notices."""
        with opened(self.path / "state.sqlite") as con:
            every = notices.deliveries(con, [each.notice_id for each in notices.newest(con, 1000)])
        return {name: [each.state for each in every if each.channel == name] for name in {one.channel for one in every}}

    def titles(self) -> list[str]:
        with opened(self.path / "state.sqlite") as con:
            return [each.title for each in notices.newest(con, 1000)]


def event(number: int, **changes) -> Notice:
    """Return an event of the store."""
    facts = {
        "key": f"newly failing series-{number}",
        "kind": "newly failing",
        "subject": f"failure series-{number}",
        "title": f"Newly failing: torchbench/model{number} eval inductor on Example CPU",
        "text": "oom: no room\nFails since nightly.",
        "page": f"model?run=r1&model=model{number}",
        "run_id": "r1",
        "happened_at": NOON,
    }
    return Notice(**facts | changes)
