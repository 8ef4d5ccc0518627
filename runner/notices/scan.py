"""One check: find new events, store their notices, write the feed, and send what is due."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import filelock

from runner.home import settings_file
from runner.home.settings_file import Notices, Person, with_secrets
from runner.jobs.queue import JobQueue
from runner.jobs.recurring import RecurringStanding, Word, standings
from runner.notices.channels import Message, NotDelivered, NoticeChannel, Unsure, channels_of, moment, urn
from runner.processes import in_time
from store.errors import XlabenchError
from store.files import write_atomically
from store.state import FILE_NAME, notices
from store.state.database import opened
from store.state.notices import FEED, Kind, Notice, State

InStore = Callable[[Mapping[str, Notice], Mapping[str, str]], tuple[Sequence[Notice], Mapping[str, str]]]

_NAMED = 20
_KINDS: dict[Word, Kind] = {"missing": "run missing", "late": "run late", "incomplete": "run incomplete"}


def recurring(standings: Iterable[RecurringStanding], known: Mapping[str, Notice]) -> Iterator[Notice]:
    """Yield new notices about the newest due time of each recurring run."""
    for standing in standings:
        if standing.due_at is None:
            continue
        subject = f"recurring {standing.schedule.schedule_id}"
        last = known.get(subject)
        kind = _KINDS.get(standing.word)
        if standing.word == "incomplete" and not standing.finished_n:  # it has finished and measured nothing
            kind = "run missing"
        if kind is not None:
            count = f", {standing.finished_n} of {standing.planned_n} experiments" if standing.planned_n else ""
            title = f"Recurring run {standing.schedule.name} is {kind.removeprefix('run ')}{count}"
            yield _notice(standing, subject, kind, title)
        elif standing.word == "complete" and last is not None and last.kind != "recovered":
            title = f"Recovered: recurring run {standing.schedule.name} is complete"
            yield _notice(standing, subject, "recovered", title)


def _notice(standing: RecurringStanding, subject: str, kind: Kind, title: str) -> Notice:
    job = standing.job
    return Notice(
        key=f"{kind} {subject} {standing.due_at:.0f}",
        kind=kind,
        subject=subject,
        title=title,
        text="\n".join(_lines(standing)),
        page=f"runs?{urlencode({'show': 'Jobs', **({'job': job.job_id} if job else {})})}",
        run_id=job.run_id if job else None,
        happened_at=standing.due_at or 0.0,
    )


def _lines(standing: RecurringStanding) -> Iterator[str]:
    job = standing.job
    yield f"Due {moment(standing.due_at or 0.0)} (cron {standing.schedule.cron}, UTC)."
    if standing.reason:
        yield standing.reason
    if job is not None:
        yield f"Job {job.job_id} is {job.state}: xlabench jobs log {job.job_id}"
    yield from standing.versions
    if standing.word in ("late", "incomplete"):
        yield from (f"not measured: {experiment}" for experiment in standing.unfinished[:_NAMED])
        if (more := len(standing.unfinished) - _NAMED) > 0:
            yield f"and {more} more"


NEWEST = 200
"""Maximum number of entries of the feed."""
_NAMESPACE = "http://www.w3.org/2005/Atom"


def write(home: Path, notices: Sequence[Notice], dashboard: str) -> None:
    """Write the feed of a home where it is not what it should be, the newest notice first.

    Without an address of the dashboard its links start at the feed's own address.
    """
    path, content = home / FEED, feed(str(home.resolve()), notices, dashboard)
    with contextlib.suppress(FileNotFoundError):
        if path.read_bytes() == content:
            return
    write_atomically(path, content)


def feed(name: str, notices: Sequence[Notice], dashboard: str) -> bytes:
    """Return the feed; `name` tells it from those of other homes."""
    root = ET.Element("feed", xmlns=_NAMESPACE)
    _add(root, "id", urn(f"feed {name}"))
    _add(root, "title", "xlabench")
    _add(root, "updated", moment(max((notice.noticed_at for notice in notices), default=0.0)))
    _add(ET.SubElement(root, "author"), "name", "xlabench")
    for notice in notices:
        entry = ET.SubElement(root, "entry")
        _add(entry, "id", urn(notice.key))
        _add(entry, "title", notice.title)
        _add(entry, "updated", moment(notice.noticed_at))
        _add(entry, "published", moment(notice.happened_at))
        ET.SubElement(entry, "category", term=notice.kind)
        if notice.page:
            ET.SubElement(
                entry,
                "link",
                rel="alternate",
                href=f"{dashboard.rstrip('/')}/{notice.page}" if dashboard else notice.page,
            )
        _add(entry, "content", notice.text).set("type", "text")
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True))


def _add(parent: ET.Element, name: str, text: str) -> ET.Element:
    child = ET.SubElement(parent, name)
    # XML 1.0 allows no control characters, not even escaped.
    child.text = "".join(letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in text)
    return child


@dataclass(frozen=True)
class NoticeScan:
    """Checks a home for notices; `in_store` finds those of the index, given the known notices and the checked runs."""

    home: Path
    in_store: InStore
    clock: Callable[[], float] = time.time
    say: Callable[[str], None] = print
    warn: Callable[[str], None] = print
    """Is told what could not be checked or sent."""

    def look(self) -> bool:
        """Check, write the feed and send notices; False if another process is doing so."""
        with only_one(self.home) as alone:
            if alone:
                self._look()
            return alone

    def _look(self) -> None:
        abandon(self.home, self.say)
        settings, channels = self._settings()
        self._find(CHANNELS if channels is None else [channel.name for channel in channels])
        with opened(self.home / FILE_NAME) as con:
            newest = notices.newest(con, NEWEST)
        write(self.home, newest, settings.dashboard)
        if channels is None:
            wait(self.home, self.clock())
        else:
            deliver(self.home, channels, settings.dashboard, self.clock, self.say)

    def _settings(self) -> tuple[Notices, list[NoticeChannel] | None]:
        """Return the settings and their channels; None where they cannot be read: then notices wait for both."""
        try:
            settings = with_secrets(settings_file.read(self.home).notices)
            return settings, channels_of(settings)
        except XlabenchError as error:
            self.warn(f"No notice is sent: {error}")
            return Notices(), None

    def _find(self, channels: Sequence[str]) -> None:
        """Store new notices; a source that cannot be checked is reported and does not hide the other one."""
        with opened(self.home / FILE_NAME) as con:
            known, looked = notices.standing(con), notices.looks(con)
        unseen, seen = list(self._recurring(known)), dict[str, str]()
        try:
            of_store, of_runs = self.in_store(known, looked)
            unseen += of_store
            seen.update(of_runs)
        except XlabenchError as error:
            self.warn(f"The store cannot be checked for notices: {error}")
        now = self.clock()
        with opened(self.home / FILE_NAME) as con:
            new = [written for notice in unseen if (written := notices.add(con, notice, channels, now))]
            notices.write_looks(con, seen)
        for written in new:
            self.say(f"notice {written.notice_id}: {written.title}")

    def _recurring(self, known: Mapping[str, Notice]) -> Sequence[Notice]:
        job_queue = JobQueue(self.home, Person("notices"), clock=self.clock)
        try:
            return list(recurring(standings(job_queue), known))
        except XlabenchError as error:
            self.warn(f"Recurring runs cannot be checked for notices: {error}")
            return []


# Send what is due: at most once by each channel, whatever dies in between.
#
# That a message is being sent is on disk before it leaves. A process that dies meanwhile leaves it so, and nobody can
# know whether it arrived: it is not sent again, and the log says so. Only what did certainly not arrive is tried again.


TRIES = 8
"""Tries to deliver a notice by one channel; the last comes two hours after the first."""
FIRST_WAIT_S = 60.0
"""Seconds to wait after the first try; each later wait is twice as long."""
MOST_S = 180.0
"""Time limit of one message in seconds."""
UNKNOWN_WAIT_S = 600.0
"""Seconds to wait while the settings cannot be read."""
ALONE = 5
"""Up to so many notices that are due together get a message each; more are combined into one message."""
CHANNELS = ("webhook", "mail")
_LOCK = "notices.lock"


@contextlib.contextmanager
def only_one(home: Path) -> Iterator[bool]:
    """Hold the lock for checking and sending the notices of a home; yields whether this process has it."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(filelock.FileLock(home / _LOCK, timeout=0, mode=0o600))
        except filelock.Timeout:
            yield False
        else:
            yield True


def abandon(home: Path, say: Callable[[str], None]) -> None:
    """Give up messages whose sending process died; the caller holds the lock."""
    with opened(home / FILE_NAME) as con:
        deliveries = notices.abandon(con, "the sending process died; the notice may have arrived")
    for delivery in deliveries:
        say(
            f"notice {delivery.notice_id} by {delivery.channel}: the sending process died; the notice "
            "may have arrived and is not sent again"
        )


def wait(home: Path, now: float) -> None:
    """Postpone everything that is due, because its recipients are not known."""
    with opened(home / FILE_NAME) as con:
        notices.postpone(con, CHANNELS, now + UNKNOWN_WAIT_S)


def deliver(
    home: Path,
    channels: Sequence[NoticeChannel],
    dashboard: str,
    clock: Callable[[], float],
    say: Callable[[str], None],
) -> None:
    """Send what is due through each channel; a channel that fails is tried again the next time."""
    with opened(home / FILE_NAME) as con:
        notices.drop_others(con, [channel.name for channel in channels], "the channel is no longer configured")
    for channel in channels:
        with opened(home / FILE_NAME) as con:
            due = notices.due(con, channel.name, clock())
        parts = [[notice] for notice in due] if len(due) <= ALONE else [due]
        for part in parts:
            if not _send(home, channel, part, dashboard, clock, say):
                break


def _send(
    home: Path,
    channel: NoticeChannel,
    part: Sequence[Notice],
    dashboard: str,
    clock: Callable[[], float],
    say: Callable[[str], None],
) -> bool:
    """Send one message; returns whether the channel works."""
    with opened(home / FILE_NAME) as con:
        claimed = notices.claim(con, channel.name, [notice.notice_id for notice in part])
    claimed_notices = tuple(notice for notice in part if notice.notice_id in claimed)
    if not claimed_notices:
        return True
    try:
        # Each read of a channel has a timeout of its own, so a receiver that answers byte by byte could go on for ever
        # and keep all later notices waiting.
        answer = in_time(lambda: channel.send(Message(notices=claimed_notices, dashboard=dashboard)), MOST_S)
    except NotDelivered as error:
        _retry_later(home, channel.name, claimed, str(error), clock(), say)
        return False
    except (Unsure, TimeoutError) as error:
        why = f"its server took longer than {MOST_S:g} s" if isinstance(error, TimeoutError) else str(error)
        _settle(home, channel.name, claimed, "unknown", why)
        say(f"{_names(claimed)} by {channel.name}: {why}; it may have arrived and is not sent again")
        return False
    _settle(home, channel.name, claimed, "sent", answer)
    say(f"{_names(claimed)} sent by {channel.name}{f' ({answer})' if answer else ''}")
    return True


def _retry_later(
    home: Path, channel: str, ids: Sequence[int], why: str, now: float, say: Callable[[str], None]
) -> None:
    """Schedule another try for notices; those that used all tries have failed."""
    with opened(home / FILE_NAME) as con:
        tries = {
            delivery.notice_id: delivery.tries
            for delivery in notices.deliveries(con, ids)
            if delivery.channel == channel
        }
        over = [notice_id for notice_id in ids if tries[notice_id] >= TRIES]
        left = [notice_id for notice_id in ids if notice_id not in over]
        for notice_id in ids:
            state: State = "failed" if notice_id in over else "pending"
            notices.settle(con, channel, [notice_id], state, detail=why)
        # Other messages of this channel would fail as well.
        notices.postpone(con, [channel], now + FIRST_WAIT_S * 2 ** (min(tries.values()) - 1))
    if left:
        say(f"{_names(left)} by {channel}: {why}; will be retried later")
    if over:
        say(f"{_names(over)} by {channel}: {why}; given up after {TRIES} tries")


def _settle(home: Path, channel: str, ids: Sequence[int], state: State, detail: str) -> None:
    with opened(home / FILE_NAME) as con:
        notices.settle(con, channel, ids, state, detail=detail)


def _names(ids: Sequence[int]) -> str:
    return f"notice {', '.join(map(str, ids))}"
