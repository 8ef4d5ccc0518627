"""Run what another harness's command line asks for: our flags → plan → run folder → records. No store is touched."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from runner import errors, flags, plan
from runner.home import settings_file
from runner.peer_cli.table import Parser
from runner.plan import interpreters, protocol
from runner.schedule import execute, run_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.plan import LocalRequest, Plan
    from runner.plan.interpreters import Interpreter
    from runner.schedule.execute import Result
    from runner.schedule.run_folder import RunFolder, RunIdentity
    from runner.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Work:
    """A command line in our words, and the plan that it expands to here."""

    request: LocalRequest
    settings: Settings
    plan: Plan
    interpreters: tuple[Interpreter, ...]

    def identity(self, command: str) -> RunIdentity:
        """Return what a run of this work is, as `run.json` says it."""
        return run_folder.RunIdentity(
            plan=self.plan,
            environments=tuple(each.description for each in self.interpreters),
            settings=self.settings,
            label=plan.label(self.plan),
            command=command,
        )


def work(words: Sequence[str], *, program: str) -> Work:
    """Parse flags of `xlabench run` and plan them.

    Raises:
        UsageError: flags that contradict each other, or a suite that is not there.
    """
    parser = Parser(prog=program)
    flags.add_plan_flags(parser)
    flags.add_measure_flags(parser)
    parsed = parser.parse_args(list(words))
    request = settings_file.with_limits(flags.read(parsed), home(), settings_file.read(home()))
    found = interpreters.look(request, {})
    made = interpreters.make_plan(request, found)
    for reason in made.missing_suites.values():
        raise errors.UsageError(reason)
    # Readers of these command lines' files expect each experiment once.
    settings = msgspec.structs.replace(protocol.settings(request), twins=0)
    return Work(request=request, settings=settings, plan=made, interpreters=found)


def measure(work: Work, folder: RunFolder) -> Result:
    """Measure what the folder's run still lacks, missing packages named first."""
    for sentence in plan.missing_packages(work.plan, work.request):
        sys.stderr.write(f"{sentence}\n")
    machines = {each.name: each.machine for each in work.interpreters}
    return execute.execute(folder, machines, torchbench_dir=work.request.context.torchbench_dir)


def home() -> Path:
    """Return the home of runs whose command line has no word for it."""
    return Path(os.environ.get("XLABENCH_HOME") or "xlabench-data")


def only(made: Plan, keep: Callable[[str, str | None, str | None], bool]) -> Plan:
    """Return the plan's entries whose (model, xla, dynamo) are kept."""
    entries = [each for each in made.entries if keep(each.config.model_name, each.config.xla, each.config.dynamo)]
    return replace(made, entries=tuple(entries))


def main(program: str, verb: Callable[[], int]) -> int:
    """Run a command; answer an error of ours with its sentence and its exit code."""
    try:
        return verb()
    except KeyboardInterrupt:
        return _say(program, "Interrupted.", errors.Interrupted.exit_code)
    except BrokenPipeError:
        # The reader of a pipe has seen enough; Python would complain while it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.filename is None:
            raise
        text = f"{error.filename}: {error.strerror}. Check the path and its permissions."
        return _say(program, text, errors.UsageError.exit_code)
    except Exception as error:
        code = getattr(error, "exit_code", None)
        if code is None:
            raise
        return _say(program, str(error), int(code))


def _say(program: str, text: str, code: int) -> int:
    sys.stderr.write(f"{program}: {text}\n")
    return code
