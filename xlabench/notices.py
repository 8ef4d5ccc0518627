"""`xlabench notices`: notify people once about events that they would otherwise have to look for."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlabench.command import EPILOG, EXIT_DONE, EXIT_FINDINGS, add_database, home_of, say, state_of, store_of, verb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from store.state.notices import Delivery, Notice
    from xlabench.command import Verbs

_MEMORY = "1GB"
"""Memory for the queries of one check: a measurement may be running."""


def add(verbs: Verbs) -> None:
    """Add the verb, its actions and their flags."""
    from xlabench.command import Parser

    parser = verb(
        verbs,
        "notices",
        _list,
        "Notify people once about missing recurring runs, new failures, regressions and recoveries.",
        "Notices are sent by webhook and mail, as configured in section [notices] of xlabench.toml, and are always "
        "added to a feed. The home's worker checks for them by itself.",
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|look|test", parser_class=Parser)
    listing = actions.add_parser("list", help="list the newest notices and their delivery", epilog=EPILOG)
    listing.add_argument("--format", choices=["text", "json"], default="text", help="output format (default: text)")
    listing.add_argument("--limit", type=int, default=50, metavar="N", help="maximum number of notices (default: 50)")
    listing.set_defaults(verb=_list)
    looking = actions.add_parser(
        "look", help="check for events now, write the feed and send pending notices", epilog=EPILOG
    )
    add_database(looking)
    looking.set_defaults(verb=_look)
    testing = actions.add_parser("test", help="send one test message through each channel", epilog=EPILOG)
    testing.set_defaults(verb=_test)
    for each in actions.choices.values():
        each.add_argument(
            "--home", type=Path, metavar="DIR", default=argparse.SUPPRESS, help="folder of runs and store"
        )


def look_command(home: Path, database: Path | None) -> list[str]:
    """Return the command of a look, which the worker starts."""
    words = [sys.executable, "-m", "xlabench", "notices", "look", f"--home={home.resolve()}"]
    return words + ([f"--database={database.resolve()}"] if database else [])


def _look(parsed: argparse.Namespace) -> int:
    import os

    from runner.notices.scan import NoticeScan
    from runner.notices.watch import LEFT_TO_ANOTHER

    os.nice(19)  # somebody may be measuring
    home = home_of(parsed)
    home.mkdir(parents=True, exist_ok=True)
    store = store_of(parsed)
    look = NoticeScan(home, lambda known, looked: _in_store(store, known, looked), say=_tell)
    if not look.look():
        _tell("Another process is already checking for notices in this home.")
        return LEFT_TO_ANOTHER
    return EXIT_DONE


def _in_store(
    store: Path, known: Mapping[str, Notice], looked: Mapping[str, str]
) -> tuple[Sequence[Notice], Mapping[str, str]]:
    """Return what is new in the newest snapshot; nothing where there is none."""
    from datetime import UTC, datetime

    from store.notices import find
    from store.query import connect, current_snapshot

    newest = current_snapshot(store)
    if newest is None:
        return (), {}
    with connect(newest, memory=_MEMORY) as con:
        found = find(con, known, looked, datetime.now(UTC).replace(tzinfo=None))
    return found.notices, found.looked


def _test(parsed: argparse.Namespace) -> int:
    from runner.errors import RunnerError
    from runner.home import settings_file
    from runner.home.settings_file import with_secrets
    from runner.notices.message import Message
    from runner.notices.scan import channels_of
    from store.state.notices import Notice

    settings = with_secrets(settings_file.read(home_of(parsed)).notices)
    channels = channels_of(settings)
    now = time.time()
    notice = Notice(
        key=f"test {now}",
        kind="recovered",
        subject="test",
        title="A test: nothing happened",
        text=f"`xlabench notices test` sent this for {home_of(parsed).resolve()}.",
        happened_at=now,
        noticed_at=now,
    )
    failed = 0
    for channel in channels:
        try:
            said = channel.send(Message(notices=(notice,), dashboard=settings.dashboard))
        except RunnerError as error:
            failed += 1
            say(f"{channel.name}: {error}", EXIT_FINDINGS)
        else:
            _tell(f"{channel.name}: sent{f' ({said})' if said else ''}")
    if not channels:
        _tell(
            "No channel is configured. Add [notices.webhook] or [notices.mail] to xlabench.toml. The feed needs none."
        )
    return EXIT_FINDINGS if failed else EXIT_DONE


def _list(parsed: argparse.Namespace) -> int:
    from store.state import notices
    from store.state.database import opened
    from xlabench.jobs_text import as_json

    state = state_of(parsed)
    found: list[Notice] = []
    sent: list[Delivery] = []
    if state.is_file():
        with opened(state) as con:
            found = notices.newest(con, parsed.limit)
            sent = notices.deliveries(con, [each.notice_id for each in found])
    by_notice = {each.notice_id: [one for one in sent if one.notice_id == each.notice_id] for each in found}
    if parsed.format == "json":
        sys.stdout.write(as_json([_data(each, by_notice[each.notice_id]) for each in found]))
    else:
        print("\n".join(_line(each, by_notice[each.notice_id]) for each in found) or "There are no notices.")
    return EXIT_DONE


def _line(notice: Notice, sent: Sequence[Delivery]) -> str:
    from xlabench.jobs_text import moment

    ways = [f"{each.channel} {each.state}{f' ({each.detail})' if each.detail else ''}" for each in sent]
    return f"{notice.notice_id}  {moment(notice.noticed_at)}  {notice.title}  {', '.join(ways) or 'feed only'}"


def _data(notice: Notice, sent: Sequence[Delivery]) -> dict[str, Any]:
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(notice)
    return found | {"deliveries": msgspec.to_builtins(sent)}


def _tell(text: str) -> None:
    print(text, flush=True)
