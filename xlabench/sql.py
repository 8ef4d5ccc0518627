"""Verbs that read the store: `xlabench sql` (one read-only query), `export`, and `backup` of `state.sqlite`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from store.state.database import backup
from xlabench import command
from xlabench.command import Verbs


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = command.verb(
        verbs,
        "sql",
        _sql,
        "Run one SQL query on the newest snapshot of the store.",
        "Access is strictly read-only: a query can neither read other files nor change settings.",
    )
    parser.add_argument("query", nargs="?", metavar="QUERY", help="SQL query (default: read from standard input)")
    command.add_format(parser, "csv", "json")
    command.add_database(parser)


def _sql(parsed: argparse.Namespace) -> int:
    from store.answer import answer

    if parsed.query is None and sys.stdin.isatty():
        command.say("Type a query, then press Ctrl-D.", command.EXIT_DONE)
    query = sys.stdin.read() if parsed.query is None else parsed.query
    sys.stdout.write(answer(command.store_of(parsed), query, parsed.format))
    return command.EXIT_DONE


FORMATS = ("peer", "hud-csv", "hud-json", "parquet", "jsonl", "tables")


def add_export(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = command.verb(
        verbs,
        "export",
        _export,
        "Write records in the format of another tool, or as Parquet or JSONL.",
        "peer is read by PyTorch/XLA's aggregator, hud-csv and hud-json by the PyTorch HUD. parquet and jsonl keep "
        "the complete records: `xlabench ingest` restores the same content from them. tables writes the index as "
        "partitioned Parquet, which other engines can query.",
    )
    parser.add_argument("--format", choices=FORMATS, required=True, help="output format")
    command.add_many(parser, "--run", metavar="RUN", help="export this run; may be repeated (default: all runs)")
    parser.add_argument(
        "--output",
        "-o",
        type=command.path,
        metavar="PATH",
        help="output file (default: standard output), for jsonl a folder; hud-csv, parquet and tables require a folder",
    )
    command.add_database(parser)


def _export(parsed: argparse.Namespace) -> int:
    from store.exporters import export

    with command.index_of(command.store_of(parsed)) as con:
        done = export(con, parsed.format, parsed.run, parsed.output)
    for note in done.notes:
        command.say(note, command.EXIT_DONE)
    if parsed.output is not None:
        what = "rows" if parsed.format.startswith(("hud", "tables")) else "records"
        print(f"Wrote {done.records_n} {what} to {parsed.output}.")
    return command.EXIT_DONE


def add_backup(verbs: Verbs) -> None:
    """Add the verb and its argument."""
    parser = command.verb(
        verbs,
        "backup",
        _backup,
        "Copy state.sqlite, which holds everything that users entered, to a new file.",
        "The copy is consistent even while the database is in use. Runs are plain files, and the index can be rebuilt "
        "from them, so neither needs this command.",
    )
    parser.add_argument("target", type=_file, metavar="FILE", help="path of the copy; the file must not exist yet")


def _file(text: str) -> Path:
    if text.endswith(os.sep):
        raise argparse.ArgumentTypeError(f"{text} names a folder; name a file in it, such as {text}state.sqlite")
    return Path(text)


def _backup(parsed: argparse.Namespace) -> int:
    backup(command.state_of(parsed), parsed.target)
    print(f"Copied {command.state_of(parsed)} to {parsed.target}.")
    return command.EXIT_DONE
