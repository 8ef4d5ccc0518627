"""What all verbs share: the parser that answers bad input with one sentence, the home, exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Verbs = argparse._SubParsersAction["Parser"]  # noqa: SLF001 - argparse names the type of `add_subparsers` only so


EXIT_DONE, EXIT_FINDINGS, EXIT_USAGE, EXIT_PARTIAL, EXIT_INTERRUPTED = 0, 1, 2, 3, 130


EPILOG = "Exit codes: 0 done, 1 findings, 2 usage, 3 partial, 130 interrupted."


class Parser(argparse.ArgumentParser):
    """An argument parser that answers bad input with one sentence."""

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(EXIT_USAGE, f"{self.prog}: {message} (see {self.prog} --help)\n")


def verb(verbs: Verbs, name: str, do: Callable[..., int], text: str) -> Parser:
    """Add a verb; `do` answers it with an exit code."""
    parser = verbs.add_parser(name, help=text.split(".", maxsplit=1)[0], description=text, epilog=EPILOG)
    parser.set_defaults(verb=do)
    parser.add_argument("--home", type=Path, metavar="DIR", help="runs and store ($XLABENCH_HOME, ./xlabench-data)")
    return parser


def say(text: str, code: int) -> int:
    """Print one sentence where errors go; return the code."""
    print(f"xlabench: {text}", file=sys.stderr)
    return code


def beside_signals(work: Callable[[], int]) -> int:
    """Do work that any signal may end, as it leaves nothing behind that a kill would harm; return its exit code.

    It is done in a thread: in the main one, DuckDB's queries swallow a signal that comes meanwhile. After Ctrl-C the
    process ends at once, whatever the thread is at.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        done = thread.submit(work)
        try:
            return done.result()
        except KeyboardInterrupt:
            say("Interrupted.", EXIT_INTERRUPTED)
            sys.stdout.flush()
            os._exit(EXIT_INTERRUPTED)


def home_of(parsed: argparse.Namespace) -> Path:
    """Return the folder of runs and store."""
    return Path(parsed.home or os.environ.get("XLABENCH_HOME") or "xlabench-data")


def state_of(parsed: argparse.Namespace) -> Path:
    """Return the database of what people typed."""
    from store.state import FILE_NAME

    return home_of(parsed) / FILE_NAME


def add_database(parser: argparse.ArgumentParser) -> None:
    """Add the flag that names the store."""
    parser.add_argument("--database", type=Path, metavar="DIR", help="store folder (default: `store` in the home)")


def store_of(parsed: argparse.Namespace) -> Path:
    """Return the store's folder."""
    return parsed.database or home_of(parsed) / "store"
