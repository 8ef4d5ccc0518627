"""One look: find what people have not been told, keep it, write the feed, and send what is due."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.home import settings_file
from runner.home.notices import Notices, with_secrets
from runner.home.roles import Person
from runner.jobs.queue import JobQueue
from runner.jobs.standing import standings
from runner.notices import deliver, feed
from runner.notices.mail import mail
from runner.notices.recurring import recurring
from runner.notices.webhook import webhook
from store.errors import StoreError
from store.state import FILE_NAME, notices
from store.state.database import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from runner.notices.channel import Channel
    from store.state.notices import Notice

    InStore = Callable[[Mapping[str, Notice], Mapping[str, str]], tuple[Sequence[Notice], Mapping[str, str]]]


@dataclass(frozen=True)
class NoticeScan:
    """Looks for the notices of a home; `in_store` finds those of the index, given what is known and was looked at."""

    home: Path
    in_store: InStore
    clock: Callable[[], float] = time.time
    say: Callable[[str], None] = print

    def look(self) -> bool:
        """Do all there is to do; False where another process is at it."""
        with deliver.only_one(self.home) as alone:
            if alone:
                self._look()
            return alone

    def _look(self) -> None:
        deliver.abandon(self.home, self.say)
        settings, channels = self._settings()
        self._find(deliver.CHANNELS if channels is None else [each.name for each in channels])
        with opened(self.home / FILE_NAME) as con:
            newest = notices.newest(con, feed.NEWEST)
        feed.write(self.home, newest, settings.dashboard)
        if channels is None:
            deliver.wait(self.home, self.clock())
        else:
            deliver.deliver(self.home, channels, settings.dashboard, self.clock, self.say)

    def _settings(self) -> tuple[Notices, list[Channel] | None]:
        """Return the settings and their channels; None where they cannot be read: then notices wait for both."""
        try:
            settings = with_secrets(settings_file.read(self.home).notices)
            return settings, channels_of(settings)
        except RunnerError as error:
            self.say(f"No notice is sent: {error}")
            return Notices(), None

    def _find(self, channels: Sequence[str]) -> None:
        """Keep what is new; what cannot be looked at is said, and keeps the rest from nobody."""
        with opened(self.home / FILE_NAME) as con:
            known, looked = notices.standing(con), notices.looks(con)
        found, seen = list(self._recurring(known)), dict[str, str]()
        try:
            of_store, of_runs = self.in_store(known, looked)
            found += of_store
            seen.update(of_runs)
        except StoreError as error:
            self.say(f"The store cannot be checked for notices: {error}")
        now = self.clock()
        with opened(self.home / FILE_NAME) as con:
            new = [each for notice in found if (each := notices.add(con, notice, channels, now))]
            notices.write_looks(con, seen)
        for each in new:
            self.say(f"notice {each.notice_id}: {each.title}")

    def _recurring(self, known: Mapping[str, Notice]) -> Sequence[Notice]:
        job_queue = JobQueue(self.home, Person("notices"), clock=self.clock)
        try:
            return list(recurring(standings(job_queue), known))
        except StoreError as error:
            self.say(f"Recurring runs cannot be checked for notices: {error}")
            return []


def channels_of(settings: Notices) -> list[Channel]:
    """Return the channels that are configured.

    Raises:
        UsageError: an address is none.
    """
    found: list[Channel] = []
    if settings.webhook is not None and settings.webhook.url:
        found.append(webhook(settings.webhook.url))
    if settings.mail is not None:
        found.append(mail(settings.mail))
    return found
