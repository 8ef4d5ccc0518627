"""The command line of PyTorch/XLA's `benchmarks/experiment_runner.py`."""

from __future__ import annotations

import json
import logging
import shlex
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner import plan
from runner.environments import machine
from runner.errors import UsageError
from runner.peer_cli import compose, configs, growing, table
from runner.plan import plan_view
from store import patterns

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from runner.environments.machine import Machine
    from runner.peer_cli.compose import Work
    from runner.peer_cli.table import Parser, Table

PROGRAM = "python -m runner"
_DESCRIPTION = (
    "Takes the command line of PyTorch/XLA's experiment_runner.py and measures under its protocol (preset `peer`). "
    "docs/runner.md has the table of its flags; `xlabench run` has more."
)
_ONLY_BY_NAME = {"dummy": ("dummy_nonzero",)}
"""Models that their suite of the same name does not have: planned where a filter names them."""

# Their lines are read by scripts: same logger name, same format.
_log = logging.getLogger("__main__")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parsed = parser().parse_args(given)
    logging.basicConfig(level=parsed.log_level.upper(), force=True)
    return compose.main(PROGRAM, lambda: _run(parsed, shlex.join(["python", "-m", "runner", *given])))


@cache
def flags_table() -> Table:
    """Return what becomes of each of their flags."""
    return table.load(Path(__file__).with_suffix(".yaml"))


def parser() -> Parser:
    """Return a parser of their command line."""
    return flags_table().parser(PROGRAM, _DESCRIPTION)


def translate(parsed: argparse.Namespace, given: configs.Choices, model: str | None) -> list[str]:
    """Return the flags of `xlabench run` that do the same."""
    words = ["--preset=peer", *flags_table().words(parsed), *configs.words(given)]
    words.append(f"--matmul-precision={_precision(parsed)}")
    words += ["--verify-only"] if parsed.verify else []
    return words + ([f"--only={parsed.suite_name}/{model}"] if model is not None else [])


def _precision(parsed: argparse.Namespace) -> str:
    """Return their precision: `high` unless --disable-tf32 lets --matmul-precision speak."""
    return str(parsed.matmul_precision or "highest") if parsed.disable_tf32 else "high"


def _run(parsed: argparse.Namespace, command: str) -> int:
    here = machine.detect()
    model, batch_size = None, parsed.batch_size
    if parsed.experiment_config is None and parsed.model_config is None:
        given = configs.choices(parsed, here)
    else:
        given, model, batch_size = configs.exactly(parsed)
        parsed.batch_size = parsed.batch_size if batch_size is None else batch_size
    words = translate(parsed, given, model)
    _log.debug("The same in xlabench's words: %s", shlex.join(["xlabench", "run", *words]))
    asked = compose.work(words, program=PROGRAM)
    models = _models(asked, here, parsed, model)
    _announce(models, configs.listed(given, here))
    if parsed.dry_run:
        return 0
    return _measure(replace(asked, plan=compose.only(asked.plan, lambda name, *_: name in models)), parsed, command)


def _models(asked: Work, here: Machine, parsed: argparse.Namespace, model: str | None) -> list[str]:
    """Return the selected models, also where no experiment of theirs can run."""
    plain = asked.request.changed(accelerator=("cpu",), xla=(None,), dynamo=(None,), test=("eval",), torch_xla2=())
    found = [entry.config.model_name for entry in plan.make_plan(plain, here).entries]
    extra = _ONLY_BY_NAME.get(parsed.suite_name, ()) if model is None else ()
    hidden = {name for name in extra if not _named(name, parsed.filter or (), parsed.suite_name)}
    return [name for name in dict.fromkeys(found) if name not in hidden]


def _named(name: str, filters: Sequence[str], usual: str) -> bool:
    """Say whether a filter means this model and not the one that every filter of its suite finds."""
    wanted = [patterns.compiled(text) for text in filters]
    return any(each.search(name) and not each.search(usual) for each in wanted)


def _announce(models: list[str], found: list[dict[str, Any]]) -> None:
    """Write their lines."""
    _log.info("Number of selected experiment configs: %d", len(found))
    _log.info("Number of selected model configs: %d", len(models))
    for model in models:
        for config in found:
            _log.info(
                "Run with --model-config=%s --experiment-config=%s",
                json.dumps({"model_name": model}),
                json.dumps(config),
            )


def _measure(work: Work, parsed: argparse.Namespace, command: str) -> int:
    if not work.plan.entries:
        if set(work.request.accelerators) == {"cuda"} and None not in work.request.selection.xla:
            raise UsageError("PyTorch/XLA no longer supports CUDA; pass --accelerator=cpu or tpu, or --xla=None.")
        raise UsageError("No experiment is selected; relax --filter, --exclude, --xla or --dynamo.")
    directory = Path(parsed.output_dirname)
    folder = growing.open_growing(
        directory, work.identity(command), resume=not parsed.no_resume, timestamp=parsed.timestamp
    )
    growing.link_results(directory, parsed.output_basename)
    _log.info("%s; %s in %s", plan_view.summary(work.plan), "resuming" if folder.resumed else "new run", folder.path)
    _log.info(compose.measure(work, folder).sentence())
    return 0
