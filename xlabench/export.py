"""`xlabench export`: records in the formats of other tools, or in our own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from xlabench.command import EXIT_DONE, add_database, say, store_of, verb

if TYPE_CHECKING:
    import argparse

    from xlabench.command import Verbs

FORMATS = ("peer", "hud-csv", "hud-json", "parquet", "jsonl", "tables")


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(
        verbs,
        "export",
        _export,
        "Write records in the format of another tool, or as Parquet or JSONL.",
        "peer is read by PyTorch/XLA's aggregator, hud-csv and hud-json by the PyTorch HUD. parquet and jsonl keep "
        "the complete records: `xlabench ingest` restores the same content from them. tables writes the index as "
        "partitioned Parquet, which other engines can query.",
    )
    parser.add_argument("--format", choices=FORMATS, required=True, help="output format")
    parser.add_argument(
        "--run",
        action="append",
        default=[],
        metavar="RUN_ID",
        help="export this run; may be repeated (default: all runs)",
    )
    parser.add_argument(
        "--output",
        "-o",
        type=Path,
        metavar="PATH",
        help="output file; for hud-csv, parquet, jsonl and tables a folder (default: standard output)",
    )
    add_database(parser)


def _export(parsed: argparse.Namespace) -> int:
    from store.choose import newest_snapshot
    from store.exporters import export
    from store.query import connect

    with connect(newest_snapshot(store_of(parsed))) as con:
        done = export(con, parsed.format, parsed.run, parsed.output)
    for note in done.notes:
        say(note, EXIT_DONE)
    if parsed.output is not None:
        what = "rows" if parsed.format.startswith(("hud", "tables")) else "records"
        print(f"Wrote {done.records_n} {what} to {parsed.output}")
    return EXIT_DONE
