"""What all verbs share: the parser that answers bad input with one sentence, the home, exit codes."""

from __future__ import annotations

import argparse
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from store.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Verbs = argparse._SubParsersAction["Parser"]  # noqa: SLF001 - argparse names the type of `add_subparsers` only so


_INVALID = re.compile(r"invalid choice: '(?P<word>[^']*)' \(choose from (?P<known>.*)\)", re.DOTALL)
_UNKNOWN_FLAG = re.compile(r"unrecognized arguments:.*?(?P<word>--[\w-]+)")
EXIT_DONE, EXIT_FINDINGS, EXIT_USAGE, EXIT_PARTIAL, EXIT_INTERRUPTED = 0, 1, 2, 3, 130


EPILOG = "Exit codes: 0 done, 1 findings, 2 usage, 3 partial, 130 interrupted."


class Parser(argparse.ArgumentParser):
    """An argument parser that answers bad input with one sentence, and names what was probably meant."""

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(EXIT_USAGE, f"{self.prog}: {message}{self._hint(message)} (see {self.prog} --help)\n")

    def take_rest(self, parsed: argparse.Namespace, rest: Sequence[str]) -> None:
        """Add the words that argparse left over to the files of a verb that takes some, as they may follow its flags.

        A left-over flag, or a word of a verb without files, ends the command.
        """
        files = getattr(parsed, "files_are", "")
        if rest and (not files or any(word.startswith("-") for word in rest)):
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        if rest:
            setattr(parsed, files, [*getattr(parsed, files), *rest])

    def _hint(self, message: str) -> str:
        """Return the names close to the one that argparse refuses; its message is the only thing it passes on."""
        if choice := _INVALID.search(message):
            return _hint(choice["word"], re.findall(r"[\w-]+", choice["known"]))
        flag = _UNKNOWN_FLAG.search(message)
        return _hint(flag["word"], self._option_string_actions) if flag else ""


def _hint(word: str, known: Iterable[str]) -> str:
    found = did_you_mean(word, known)
    return f".{found}" if found else ""


def verb(verbs: Verbs, name: str, do: Callable[..., int], text: str) -> Parser:
    """Add a verb; `do` answers it with an exit code."""
    parser = verbs.add_parser(name, help=text.split(".", maxsplit=1)[0], description=text, epilog=EPILOG)
    parser.set_defaults(verb=do, take_rest=parser.take_rest)
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
