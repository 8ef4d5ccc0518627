"""What all verbs share: the parser that answers bad input with a sentence, flags of several verbs, exit codes."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from store.errors import UsageError, did_you_mean
from store.places import DEFAULT_HOME, command_with_places, with_places

if TYPE_CHECKING:
    from store.query import Connection
    from store.report import Report
    from store.report.table import Cell, Table

# As text: only in types does the class take a parameter.
Verbs: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001 - argparse has no public name for it

_CHOICE = re.compile(
    r"argument (?P<name>\S+): invalid choice: '?(?P<word>[^']*?)'? \(choose from (?P<known>.*)\)", re.DOTALL
)
_UNKNOWN_FLAG = re.compile(r"--[\w-]+")
_UNRECOGNIZED, _REQUIRED = "unrecognized arguments: ", "the following arguments are required: "
_SENTENCES = {
    r"(\S+): not allowed with argument (\S+)": r"\1 and \2 exclude each other; use one.",
    r"(\S+): expected (?:one|at least one) argument": r"\1 requires a value.",
    r"(\S+): expected (\d+) arguments": r"\1 requires \2 values.",
    r"(\S+): invalid int value: (.*)": r"\1: \2 is not a whole number.",
    r"(\S+): ignored explicit argument (.*)": r"\1 takes no value; remove \2.",
}
"""Pattern of what argparse says about an argument → the sentence that replaces it."""
_FEW = 6
"""Up to so many choices are all named in an error, unless one alone is close to what was typed."""
EXIT_DONE, EXIT_FINDINGS, EXIT_USAGE, EXIT_PARTIAL, EXIT_INTERRUPTED = 0, 1, 2, 3, 130
_WIDTH = 80


EPILOG = "Exit codes: 0 success, 1 problem found, 2 usage error, 3 partial result, 130 interrupted."


class Parser(argparse.ArgumentParser):
    """An argument parser that answers bad input with one sentence, and names what was probably meant."""

    usual: frozenset[str] = frozenset()
    """Flags that `--help` shows; empty: all flags."""

    def __init__(self, *words: Any, **settings: Any) -> None:
        super().__init__(*words, **settings)
        self.set_defaults(add_left_over_words=self.add_left_over_words)

    def show_first(self, usual: Iterable[str], examples: Sequence[str]) -> None:
        """Have `--help` show these flags and examples; `--help-all` shows all flags."""
        self.usual = frozenset({"--help", "--help-all", *usual})
        self.add_argument("--help-all", action=_HelpAll, nargs=0, help="show all flags and exit")
        lines = "\n".join(f"  $ xlabench {example}" for example in examples)
        self.formatter_class = argparse.RawDescriptionHelpFormatter
        self.description = textwrap.fill(self.description or "", _WIDTH)
        self.epilog = f"Examples:\n{lines}\n\n{EPILOG}"

    def describe(self, flag: str, text: str) -> None:
        """Replace the help of a flag, where this verb has another default than others."""
        self._option_string_actions[flag].help = text

    def format_help(self) -> str:
        """Return the help text: of a long verb, its usual flags only."""
        if not self.usual:
            return self.format_help_all()
        flags = [action for action in self._actions if action.option_strings]
        hidden = [flag for flag in flags if not self.usual.intersection(flag.option_strings)]
        texts = [flag.help for flag in hidden]
        arguments = [action for action in self._actions if not action.option_strings]
        words = [f"[{action.metavar} ...]" if action.nargs else str(action.metavar) for action in arguments]
        usage, self.usage = self.usage, " ".join([self.prog, "[FLAG ...]", *words])
        for flag in hidden:
            flag.help = argparse.SUPPRESS
        help_text = self.format_help_all()
        for flag, text in zip(hidden, texts, strict=True):
            flag.help = text
        self.usage = usage
        return help_text

    def format_help_all(self) -> str:
        return super().format_help()

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(EXIT_USAGE, f"{self.prog}: {self._sentence(message)} See `{self.prog} --help`.\n")

    def add_left_over_words(self, parsed: argparse.Namespace, rest: Sequence[str]) -> None:
        """Add the words that argparse left over to the files of a verb that takes some, as they may follow its flags.

        A left-over flag, or a word of a verb without files, ends the command.
        """
        files = getattr(parsed, "files_are", "")
        if not all(map(str.strip, rest)):
            self.error("an argument is empty")
        if rest and (not files or any(word.startswith("-") for word in rest)):
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        if rest:
            setattr(parsed, files, [*getattr(parsed, files), *rest])

    def _sentence(self, message: str) -> str:
        """Return argparse's message as a sentence, with the names close to one that it refuses."""
        if choice := _CHOICE.match(message):
            return self._unknown_choice(choice["name"], choice["word"], re.findall(r"[\w-]+", choice["known"]))
        if message.startswith(_UNRECOGNIZED):
            words = message.removeprefix(_UNRECOGNIZED)
            flag = _UNKNOWN_FLAG.search(words)
            if flag is None:
                return f"The argument {words!r} is unexpected. Remove it."
            public = [name for name, action in self._option_string_actions.items() if action.help != argparse.SUPPRESS]
            return f"There is no flag {flag[0]}.{did_you_mean(flag[0], public)}"
        if message.startswith(_REQUIRED):
            return f"An argument is missing: {message.removeprefix(_REQUIRED)}."
        sentence = message.removeprefix("argument ")
        for pattern, template in _SENTENCES.items():
            if match := re.fullmatch(pattern, sentence):
                return match.expand(template)
        return sentence if sentence.endswith(".") else f"{sentence}."

    def _unknown_choice(self, name: str, word: str, known: Sequence[str]) -> str:
        if name == "VERB":
            hint = did_you_mean(word, (*known, "--help", "--version"))
            return f"There is no verb {word!r}.{hint or ' Put flags such as --home after the verb.'}"
        hint = did_you_mean(word, known)
        if not hint or (len(known) <= _FEW and " or " in hint):
            hint = f" Choose one of {', '.join(known)}."
        return f"There is no action {word!r}.{hint}" if "|" in name else f"{name} {word} is not valid.{hint}"


class _HelpAll(argparse.Action):
    """Print the help text with every flag."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        del namespace, values, option
        sys.stdout.write(getattr(parser, "format_help_all", parser.format_help)())
        parser.exit()


def verb(verbs: Verbs, name: str, do: Callable[..., int], summary: str, details: str = "") -> Parser:
    """Add a verb; `do` answers it with an exit code. `xlabench --help` shows the summary only; without one, nothing."""
    shown: dict[str, Any] = {"help": summary} if summary else {}
    parser = verbs.add_parser(name, **shown, description=f"{summary} {details}".strip(), epilog=EPILOG)
    parser.set_defaults(verb=do)
    _add_home(parser, None)
    return parser


def add_actions(parser: Parser, names: str) -> Verbs:
    """Let a verb have actions; its usage shows `names`."""
    return parser.add_subparsers(dest="action", required=True, metavar=names, parser_class=Parser)


def action(actions: Verbs, name: str, do: Callable[..., int], summary: str) -> Parser:
    """Add an action of a verb; `do` answers it with an exit code. `--home` may stand before the action or behind it."""
    parser = actions.add_parser(name, help=summary, description=f"{summary[:1].upper()}{summary[1:]}.", epilog=EPILOG)
    parser.set_defaults(verb=do)
    _add_home(parser, argparse.SUPPRESS)
    return parser


def _add_home(parser: Parser, default: str | None) -> None:
    text = "folder of runs and store (default: $XLABENCH_HOME, else ./xlabench-data)"
    parser.add_argument("--home", type=path, metavar="DIR", default=default, help=text)


def add_many(group: argparse._ActionsContainer, *names: str, **how: Any) -> None:
    """Add a flag that may be repeated; it gives a list."""
    group.add_argument(*names, action="append", default=[], **how)


def add_format(parser: Parser, *forms: str) -> None:
    """Add the flag of the output's format; `text` is the usual one."""
    parser.add_argument("--format", choices=["text", *forms], default="text", help="output format (default: text)")


def filled(text: str) -> str:
    """Read a value that may not be empty, as that of an unset variable of a script is."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the value is empty")
    return text


def path(text: str) -> Path:
    """Read a path; an empty one would be the folder in which the command runs."""
    return Path(filled(text))


def add_who(parser: Parser) -> None:
    """Add the flag of the name that is stored with what a user does."""
    parser.add_argument("--who", metavar="NAME", help="name stored with the action (default: the current user)")


def add_limit(parser: Parser, things: str) -> None:
    """Add the flag that bounds a list."""
    from runner import flag

    text = f"maximum number of {things} (default: 50)"
    parser.add_argument("--limit", type=flag.positive, default=50, metavar="N", help=text)


def say(text: str, code: int) -> int:
    """Print one sentence on stderr; return the code."""
    print(f"xlabench: {text}", file=sys.stderr)
    return code


def report_with_places(report: Report, form: str, home: Path, store: Path) -> Report:
    """Return a report for the terminal (`text`), whose commands name a home and a store that are not the default.

    Other formats are passed on, and so contain no path of this machine.
    """
    if form != "text":
        return report
    notes, answer = (tuple(with_places(text, home, store) for text in texts) for texts in (report.notes, report.answer))
    steps = tuple(
        msgspec.structs.replace(step, command=command_with_places(step.command, home, store)) for step in report.steps
    )
    tables = tuple(_table_with_places(table, home, store) for table in report.read)
    return msgspec.structs.replace(report, notes=notes, answer=answer, steps=steps, people=tables)


def _table_with_places(table: Table, home: Path, store: Path) -> Table:
    """Return a table with the places in the commands of its cells."""
    from store.report.table import COMMANDS

    def placed(title: str, cell: Cell) -> Cell:
        if not isinstance(cell, str):
            return cell
        return (command_with_places if title in COMMANDS else with_places)(cell, home, store)

    titles = [column.title for column in table.columns]
    rows = (tuple(map(placed, titles, row)) for row in table.rows)
    return msgspec.structs.replace(table, rows=tuple(rows))


def places_of(parsed: argparse.Namespace | None) -> tuple[Path, Path]:
    """Return the home and the store that the flags and variables of a command name, usable or not."""
    home = Path(getattr(parsed, "home", None) or os.environ.get("XLABENCH_HOME") or DEFAULT_HOME)
    return home, getattr(parsed, "database", None) or home / "store"


def run_until_signal(work: Callable[[], int]) -> int:
    """Run work that a signal may end at any time without harm; return its exit code.

    It runs in a thread, because DuckDB's queries swallow signals in the main thread. After Ctrl-C the process ends at
    once, whatever the thread is doing.
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
    """Return the folder of runs and store.

    Raises:
        UsageError: it is a file.
    """
    home, _ = places_of(parsed)
    if home.is_file():
        raise UsageError(f"The home {home} is a file. Name a folder with --home or $XLABENCH_HOME.")
    return home


def existing_home_of(parsed: argparse.Namespace) -> Path:
    """Return the folder of runs and store of a command that only reads it.

    Raises:
        UsageError: there is none; its name may be mistyped.
    """
    home = home_of(parsed)
    if not home.is_dir():
        raise UsageError(f"There is no home {home}: name it with --home or $XLABENCH_HOME.")
    return home


def print_placed(parsed: argparse.Namespace, text: str) -> None:
    """Print a text; its commands, unless it is JSON, name the home and the store."""
    is_json = getattr(parsed, "format", "text") == "json"
    sys.stdout.write(text if is_json else with_places(text, *places_of(parsed)))
    sys.stdout.flush()


def state_of(parsed: argparse.Namespace) -> Path:
    """Return the database of what people typed."""
    from store.state import FILE_NAME

    return home_of(parsed) / FILE_NAME


@contextlib.contextmanager
def index_of(store: Path) -> Iterator[Connection]:
    """Open the newest snapshot of a store.

    Raises:
        NoSnapshot: there is none.
    """
    from store.choose import newest_snapshot
    from store.query import connect

    with connect(newest_snapshot(store)) as con:
        yield con


def add_database(parser: argparse.ArgumentParser) -> None:
    """Add the flag that names the store."""
    parser.add_argument(
        "--database", type=path, metavar="DIR", help="folder of the store (default: `store` in the home)"
    )


def store_of(parsed: argparse.Namespace) -> Path:
    """Return the store's folder.

    Raises:
        UsageError: it is a file, which a run would notice only after its first records.
    """
    store: Path = parsed.database or home_of(parsed) / "store"
    if store.is_file():
        raise UsageError(f"The store {store} is a file. Name a folder with --database.")
    return store
