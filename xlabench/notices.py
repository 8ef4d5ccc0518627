"""`xlabench notices`: notify people once about events that they would otherwise have to look for."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from runner.errors import RunnerError
from runner.home import settings_file
from runner.home.settings_file import with_secrets
from store.places import with_places
from store.state import notices
from store.state.database import opened
from store.state.notices import Delivery, Notice
from xlabench import command
from xlabench.command import Verbs
from xlabench.jobs_text import as_json, moment

_MEMORY = "1GB"
"""Memory limit of the queries of one check, because a measurement may be running."""


def add(verbs: Verbs) -> None:
    """Add the verb, its actions and their flags."""
    parser = command.verb(
        verbs,
        "notices",
        _list,
        "Send one notice for each missing recurring run, new failure, regression and recovery.",
        "Notices are sent by webhook and mail, as configured in section [notices] of xlabench.toml, and are always "
        "added to a feed. The home's worker checks for them automatically.",
    )
    actions = command.add_actions(parser, "list|look|test")
    listing = command.action(actions, "list", _list, "list the newest notices and their delivery")
    command.add_format(listing, "json")
    command.add_limit(listing, "notices")
    command.add_database(
        command.action(
            actions,
            "look",
            _look,
            "check for events now, write the feed and send notices; nothing is printed if nothing is new",
        )
    )
    command.action(actions, "test", _test, "send one test message through each channel")


def look_command(home: Path, database: Path | None) -> list[str]:
    """Return the command of a look, which the worker starts."""
    words = [sys.executable, "-m", "xlabench", "notices", "look", f"--home={home.resolve()}"]
    return words + ([f"--database={database.resolve()}"] if database else [])


def _look(parsed: argparse.Namespace) -> int:
    from runner.notices.scan import NoticeScan
    from runner.notices.watch import LEFT_TO_ANOTHER

    os.nice(19)  # a measurement may be running
    home = command.existing_home_of(parsed)
    store = command.store_of(parsed)

    def say(text: str) -> None:
        _print_line(with_places(text, home.absolute(), store.absolute()))

    problems: list[int] = []

    def warn(text: str) -> None:
        problems.append(command.say(with_places(text, home.absolute(), store.absolute()), command.EXIT_FINDINGS))

    look = NoticeScan(home, lambda known, looked: _in_store(store, known, looked), say=say, warn=warn)
    if not look.look():
        _print_line("Another process is already checking for notices in this home.")
        return LEFT_TO_ANOTHER
    return max(problems, default=command.EXIT_DONE)


def _in_store(
    store: Path, known: Mapping[str, Notice], looked: Mapping[str, str]
) -> tuple[Sequence[Notice], Mapping[str, str]]:
    """Return what is new in the newest snapshot; nothing where there is none."""
    from store.notices import find
    from store.query import connect, current_snapshot

    newest = current_snapshot(store)
    if newest is None:
        return (), {}
    with connect(newest, memory=_MEMORY) as con:
        findings = find(con, known, looked, datetime.now(UTC).replace(tzinfo=None))
    return findings.notices, findings.looked


def _test(parsed: argparse.Namespace) -> int:
    from runner.notices.channels import Message, channels_of

    settings = with_secrets(settings_file.read(command.home_of(parsed)).notices)
    channels = channels_of(settings)
    now = time.time()
    notice = Notice(
        key=f"test {now}",
        kind="recovered",
        subject="test",
        title="Test message: no event has occurred",
        text="`xlabench notices test` sent this.",
        happened_at=now,
        noticed_at=now,
    )
    failed = 0
    for channel in channels:
        try:
            answer = channel.send(Message(notices=(notice,), dashboard=settings.dashboard))
        except RunnerError as error:
            failed += 1
            command.say(f"{channel.name}: {error}", command.EXIT_FINDINGS)
        else:
            _print_line(f"{channel.name}: sent{f' ({answer})' if answer else ''}")
    if not channels:
        text = (
            "No channel is configured. Add [notices.webhook] or [notices.mail] to xlabench.toml. The feed is always on."
        )
        return command.say(text, command.EXIT_FINDINGS)
    return command.EXIT_FINDINGS if failed else command.EXIT_DONE


def _list(parsed: argparse.Namespace) -> int:
    command.existing_home_of(parsed)
    state = command.state_of(parsed)
    newest: list[Notice] = []
    sent: list[Delivery] = []
    if state.is_file():
        with opened(state) as con:
            newest = notices.newest(con, parsed.limit)
            sent = notices.deliveries(con, [notice.notice_id for notice in newest])
    by_notice = {notice.notice_id: [one for one in sent if one.notice_id == notice.notice_id] for notice in newest}
    if parsed.format == "json":
        sys.stdout.write(as_json([_data(notice, by_notice[notice.notice_id]) for notice in newest]))
    else:
        print("\n".join(_line(notice, by_notice[notice.notice_id]) for notice in newest) or "There are no notices.")
    return command.EXIT_DONE


def _line(notice: Notice, sent: Sequence[Delivery]) -> str:
    ways = [
        f"{delivery.channel} {delivery.state}{f' ({delivery.detail})' if delivery.detail else ''}" for delivery in sent
    ]
    return f"{notice.notice_id}  {moment(notice.noticed_at)}  {notice.title}  {', '.join(ways) or 'feed only'}"


def _data(notice: Notice, sent: Sequence[Delivery]) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(notice)
    return fields | {"deliveries": msgspec.to_builtins(sent)}


def _print_line(text: str) -> None:
    print(text, flush=True)
