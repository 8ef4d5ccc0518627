"""Send what is due: at most once by each channel, whatever dies in between.

That a message is being sent is on disk before it leaves. A process that dies meanwhile leaves it so, and nobody can
know whether it arrived: it is not sent again, and the log says so. Only what did certainly not arrive is tried again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import filelock

from runner.notices.message import Message, NotDelivered, NoticeChannel, Unsure
from runner.processes import in_time
from store.state import FILE_NAME, notices
from store.state.database import opened
from store.state.notices import Notice, State

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
    mine = tuple(notice for notice in part if notice.notice_id in claimed)
    if not mine:
        return True
    try:
        # Each read of a channel has a timeout of its own, so a receiver that answers byte by byte could go on for ever
        # and keep all later notices waiting.
        answer = in_time(lambda: channel.send(Message(notices=mine, dashboard=dashboard)), MOST_S)
    except NotDelivered as error:
        _again(home, channel.name, claimed, str(error), clock(), say)
        return False
    except (Unsure, TimeoutError) as error:
        why = f"its server took longer than {MOST_S:g} s" if isinstance(error, TimeoutError) else str(error)
        _settle(home, channel.name, claimed, "unknown", why)
        say(f"{_names(claimed)} by {channel.name}: {why}; it may have arrived and is not sent again")
        return False
    _settle(home, channel.name, claimed, "sent", answer)
    say(f"{_names(claimed)} sent by {channel.name}{f' ({answer})' if answer else ''}")
    return True


def _again(home: Path, channel: str, ids: Sequence[int], why: str, now: float, say: Callable[[str], None]) -> None:
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
