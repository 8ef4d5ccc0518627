"""What all verbs share: the parser that answers bad input with one sentence, the home, exit codes."""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from store.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Verbs = argparse._SubParsersAction["Parser"]  # noqa: SLF001 - argparse names the type of `add_subparsers` only so


_INVALID = re.compile(r"invalid choice: '(?P<word>[^']*)' \(choose from (?P<known>.*)\)", re.DOTALL)
_UNKNOWN_FLAG = re.compile(r"unrecognized arguments:.*?(?P<word>--[\w-]+)")
EXIT_DONE, EXIT_FINDINGS, EXIT_USAGE, EXIT_PARTIAL, EXIT_INTERRUPTED = 0, 1, 2, 3, 130
_WIDTH = 80


EPILOG = "Exit codes: 0 success, 1 findings, 2 usage error, 3 partial result, 130 interrupted."


class Parser(argparse.ArgumentParser):
    """An argument parser that answers bad input with one sentence, and names what was probably meant."""

    usual: frozenset[str] = frozenset()
    """Flags that `--help` shows; none named: all."""

    def __init__(self, *words: Any, **settings: Any) -> None:
        super().__init__(*words, **settings)
        self.set_defaults(take_rest=self.take_rest)

    def show_first(self, usual: Iterable[str], examples: Sequence[str]) -> None:
        """Have `--help` show these flags and examples; `--help-all` shows all flags."""
        self.usual = frozenset({"--help", "--help-all", *usual})
        self.add_argument("--help-all", action=_HelpAll, nargs=0, help="show all flags and exit")
        lines = "\n".join(f"  $ xlabench {example}" for example in examples)
        self.formatter_class = argparse.RawDescriptionHelpFormatter
        self.description = textwrap.fill(self.description or "", _WIDTH)
        self.epilog = f"Examples:\n{lines}\n\n{EPILOG}"

    def format_help(self) -> str:
        """Return the help text: of a long verb, its usual flags only."""
        if not self.usual:
            return self.format_help_all()
        known = [each for each in self._actions if each.option_strings]
        hidden = [each for each in known if not self.usual.intersection(each.option_strings)]
        texts = [each.help for each in hidden]
        files = [
            f"[{each.metavar} ...]" if each.nargs else str(each.metavar) for each in self._actions if each not in known
        ]
        usage, self.usage = self.usage, " ".join([self.prog, "[FLAG ...]", *files])
        for each in hidden:
            each.help = argparse.SUPPRESS
        text = self.format_help_all()
        for each, shown in zip(hidden, texts, strict=True):
            each.help = shown
        self.usage = usage
        return text

    def format_help_all(self) -> str:
        """Return the help text with every flag."""
        return super().format_help()

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(EXIT_USAGE, f"{self.prog}: {self._hinted(message)} (see {self.prog} --help)\n")

    def take_rest(self, parsed: argparse.Namespace, rest: Sequence[str]) -> None:
        """Add the words that argparse left over to the files of a verb that takes some, as they may follow its flags.

        A left-over flag, or a word of a verb without files, ends the command.
        """
        files = getattr(parsed, "files_are", "")
        if rest and (not files or any(word.startswith("-") for word in rest)):
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        if rest:
            setattr(parsed, files, [*getattr(parsed, files), *rest])

    def _hinted(self, message: str) -> str:
        """Return argparse's message with the names close to the one that it refuses, in place of all names."""
        if choice := _INVALID.search(message):
            hint = _hint(choice["word"], re.findall(r"[\w-]+", choice["known"]))
            return message.replace(f" (choose from {choice['known']})", "") + hint if hint else message
        flag = _UNKNOWN_FLAG.search(message)
        return message + _hint(flag["word"], self._option_string_actions) if flag else message


class _HelpAll(argparse.Action):
    """Print the help text with every flag."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        del namespace, values, option
        sys.stdout.write(getattr(parser, "format_help_all", parser.format_help)())
        parser.exit()


def _hint(word: str, known: Iterable[str]) -> str:
    found = did_you_mean(word, known)
    return f".{found}" if found else ""


def verb(verbs: Verbs, name: str, do: Callable[..., int], summary: str, details: str = "") -> Parser:
    """Add a verb; `do` answers it with an exit code. `xlabench --help` shows the summary only; without one, nothing."""
    shown: dict[str, Any] = {"help": summary} if summary else {}
    parser = verbs.add_parser(name, **shown, description=f"{summary} {details}".strip(), epilog=EPILOG)
    parser.set_defaults(verb=do)
    parser.add_argument(
        "--home",
        type=Path,
        metavar="DIR",
        help="folder of runs and store (default: $XLABENCH_HOME, else ./xlabench-data)",
    )
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
    parser.add_argument(
        "--database", type=Path, metavar="DIR", help="folder of the store (default: `store` in the home)"
    )


def store_of(parsed: argparse.Namespace) -> Path:
    """Return the store's folder."""
    return parsed.database or home_of(parsed) / "store"
