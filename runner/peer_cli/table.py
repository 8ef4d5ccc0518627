"""A harness's flags as data: each becomes flags of ours, is honoured in code, has no effect, or is refused."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from runner import errors, flags, plan
from runner.home import settings_file
from runner.plan import LocalRequest, Plan, interpreters, protocol
from runner.plan.interpreters import Interpreter
from runner.schedule import execute
from runner.schedule.execute import ExecutionResult
from runner.schedule.run_folder import RunFolder, new_run
from runner.settings import Settings
from store.errors import UsageError, XlabenchError
from store.record import ExperimentConfig, RunFile

_EXIT_USAGE = 2
_TYPES = {"text": str, "int": int, "float": float}


class PeerFlag(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One flag of theirs; exactly one of `gives`, `honoured`, `ignored` and `refused` is set."""

    names: tuple[str, ...]
    takes: Literal["text", "int", "float"] | None = None
    """Type of its value; None for a switch."""
    many: bool = False
    """It may be given more than once."""
    several: bool = False
    """Each occurrence takes one value or more."""
    default: str | int | float | None = None
    choices: tuple[str | int, ...] = ()
    group: str | None = None
    """Name of a group of flags, of which at most one may be given."""
    required: bool = False
    gives: str | None = None
    """Flags of ours, `{}` for its value."""
    honoured: str | None = None
    ignored: str | None = None
    refused: str | None = None

    def __post_init__(self) -> None:
        effects = [self.gives, self.honoured, self.ignored, self.refused]
        if sum(effect is not None for effect in effects) != 1:
            raise ValueError(f"{self.names[0]} needs exactly one of gives, honoured, ignored, refused")

    @property
    def dest(self) -> str:
        return self.names[0].lstrip("-").replace("-", "_")

    @property
    def effect(self) -> str:
        """Describe its effect in Markdown."""
        if self.gives is not None:
            return f"`{self.gives.replace('={}', '')}`"
        if self.refused is not None:
            return f"refused: {self.refused}"
        return self.honoured or f"no effect: {self.ignored}"


class PeerFlags(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All flags of one program; of each group in `required` one must be given."""

    required: tuple[str, ...] = ()
    flags: tuple[PeerFlag, ...]

    def parser(self, program: str, description: str) -> PeerParser:
        """Return a parser of theirs: unambiguous prefixes and joined short flags work as they do there."""
        parser = PeerParser(prog=program, description=description)
        groups: dict[str, Any] = {}
        for flag in self.flags:
            holder: Any = parser
            if flag.group is not None:
                if flag.group not in groups:
                    wanted = flag.group in self.required
                    groups[flag.group] = parser.add_mutually_exclusive_group(required=wanted)
                holder = groups[flag.group]
            holder.add_argument(*flag.names, dest=flag.dest, **_keywords(flag))
        return parser

    def words(self, parsed: argparse.Namespace) -> list[str]:
        """Return our flags for all of theirs that have some."""
        words: list[str] = []
        for flag in self.flags:
            if flag.gives is None:
                continue
            value = getattr(parsed, flag.dest)
            if flag.takes is None:
                words += flag.gives.split() if value else []
            else:
                values = value if flag.many or flag.several else [value]
                words += [flag.gives.format(word) for word in values or () if word is not None]
        return words

    def markdown(self) -> str:
        """Return what documents say: a row for each effect, and lists of the flags without effect and the refused."""
        rows: dict[str, list[str]] = {}
        for flag in self.flags:
            if flag.gives is not None or flag.honoured is not None:
                effect = "the same flag" if flag.effect == f"`{flag.names[0]}`" else flag.effect
                rows.setdefault(effect, []).extend(flag.names)
        lines = [
            "| theirs | here |",
            "|---|---|",
            *(f"| {_code(names)} | {effect} |" for effect, names in rows.items()),
        ]
        ignored = [name for flag in self.flags if flag.ignored is not None for name in flag.names]
        refused = [name for flag in self.flags if flag.refused is not None for name in flag.names]
        if ignored:
            lines += ["", f"Accepted, but without effect here (`--help` says why): {_code(ignored)}."]
        if refused:
            lines += ["", f"Refused, with the reason and often a replacement: {_code(refused)}."]
        return "\n".join(lines) + "\n"


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


class PeerParser(argparse.ArgumentParser):
    """Answers bad input with one sentence."""

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(_EXIT_USAGE, f"{self.prog}: {message} (see {self.prog} --help)\n")


class _Refuse(argparse.Action):
    """Say why a flag of theirs cannot be honoured."""

    def __init__(self, *, reason: str, **keywords: Any) -> None:
        super().__init__(nargs="?", **keywords)
        self._reason = reason

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        del namespace, values
        parser.error(f"{option} is not supported: {self._reason}")


@cache
def load(path: Path) -> PeerFlags:
    """Read a table; a mistake in it is an error of ours, not of the user."""
    return msgspec.convert(yaml.safe_load(path.read_text()), PeerFlags)


def _keywords(flag: PeerFlag) -> dict[str, Any]:
    text = flag.effect.replace("%", "%%")
    if flag.refused is not None:
        return {"action": _Refuse, "reason": flag.refused, "help": argparse.SUPPRESS}
    if flag.takes is None:
        return {"action": "store_true", "help": text}
    keywords: dict[str, Any] = {"type": _TYPES[flag.takes], "default": flag.default, "help": text}
    if flag.choices:
        keywords["choices"] = flag.choices
    else:
        keywords["metavar"] = flag.takes.upper()
    if flag.required:
        keywords["required"] = True
    if flag.many:
        keywords["action"] = "append"
    if flag.several:
        keywords |= {"action": "extend", "nargs": "+"}
    return keywords


@dataclass(frozen=True, kw_only=True)
class TranslatedCommand:
    """A command line in our words, and the plan that it expands to here."""

    request: LocalRequest
    settings: Settings
    plan: Plan
    interpreters: tuple[Interpreter, ...]

    def only(self, keep: Callable[[ExperimentConfig], bool]) -> TranslatedCommand:
        """Return the command with those experiments alone that are kept."""
        entries = tuple(entry for entry in self.plan.entries if keep(entry.config))
        return replace(self, plan=replace(self.plan, entries=entries))

    def new_run(self, command: str) -> RunFile:
        """Return what a run of this work is, as `run.json` says it."""
        return new_run(self.plan, self.interpreters, self.settings, label=plan.label(self.plan), command=command)


def work(words: Sequence[str], *, program: str) -> TranslatedCommand:
    """Parse flags of `xlabench run` and plan them.

    Raises:
        UsageError: flags that contradict each other, or a suite that is not there.
    """
    parser = PeerParser(prog=program)
    flags.add_plan_flags(parser)
    flags.add_measure_flags(parser)
    parsed = parser.parse_args(list(words))
    request = settings_file.with_limits(flags.read(parsed), home(), settings_file.read(home()))
    described = interpreters.with_sources(interpreters.requested(request, {}), request)
    made = interpreters.make_plan(request, described)
    for reason in made.missing_suites.values():
        raise UsageError(reason)
    # Readers of these command lines' files expect each experiment once.
    settings = msgspec.structs.replace(protocol.settings(request), twins=0)
    return TranslatedCommand(request=request, settings=settings, plan=made, interpreters=described)


def measure(work: TranslatedCommand, folder: RunFolder) -> ExecutionResult:
    """Measure what the folder's run still lacks, missing packages named first."""
    for sentence in plan.missing_packages(work.plan, work.request):
        sys.stderr.write(f"{sentence}\n")
    return execute.execute(folder, work.interpreters, torchbench_dir=work.request.context.torchbench_dir)


def home() -> Path:
    """Return the home of runs whose command line has no word for it."""
    return Path(os.environ.get("XLABENCH_HOME") or "xlabench-data")


def main(program: str, verb: Callable[[], int]) -> int:
    """Run a command; answer an error of ours with its sentence and its exit code."""
    try:
        return verb()
    except KeyboardInterrupt:
        return _fail(program, "Interrupted.", errors.Interrupted.exit_code)
    except BrokenPipeError:
        # The reader of a pipe has seen enough; Python would complain while it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.filename is None:
            raise
        text = f"{error.filename}: {error.strerror}. Check the path and its permissions."
        return _fail(program, text, UsageError.exit_code)
    except XlabenchError as error:
        return _fail(program, str(error), error.exit_code)


def _fail(program: str, text: str, code: int) -> int:
    sys.stderr.write(f"{program}: {text}\n")
    return code
