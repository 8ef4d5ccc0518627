"""The command line of PyTorch/XLA's `benchmarks/experiment_runner.py`."""

from __future__ import annotations

import argparse
import json
import logging
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from runner import plan
from runner.backends import xla_of
from runner.environments import machine
from runner.environments.machine import Machine
from runner.peer_cli import table
from runner.peer_cli.table import PeerParser, TranslatedCommand
from runner.plan import Plan, plan_view, values
from runner.schedule.run_folder import RunFolder, open_folder
from store import patterns
from store.errors import UsageError
from store.record import PlanEntry, RunFile
from store.run_file import RESULTS, RUN_FILE, read_run_file, write_run_file
from store.writer import ResultsWriter

KEYS = ("accelerator", "xla", "xla_flags", "dynamo", "torch_xla2", "test", "enable_functionalization")
"""Keys of an experiment configuration in their order; `batch_size` is optional."""

Choices = dict[str, list[Any]]


def choices(parsed: argparse.Namespace, here: Machine) -> Choices:
    """Return the values of each key: those on the command line, in their order, else the defaults."""
    accelerators = ["cpu", "tpu"] if "tpu" in here.accelerators else ["cpu"]
    selected: Choices = {
        "accelerator": _unique(parsed.accelerator) or accelerators,
        "xla": _unique(parsed.xla) or [None, "PJRT"],
        "xla_flags": _unique(parsed.xla_flags) or [None],
        "dynamo": _unique(parsed.dynamo) or [None, "inductor", "openxla"],
        "torch_xla2": _unique(parsed.torch_xla2) or [None],
        "test": _unique(parsed.test) or ["eval", "train"],
        "enable_functionalization": [parsed.enable_functionalization],
    }
    if "XRT" in selected["xla"]:
        raise UsageError("--xla XRT is not supported: XRT was removed from PyTorch/XLA; use PJRT")
    return selected


def listed(selected: Choices, here: Machine) -> list[dict[str, Any]]:
    """Return the configurations in their order, invalid and unavailable ones left out as there."""
    every = (dict(zip(KEYS, values, strict=True)) for values in product(*(selected[key] for key in KEYS)))
    return [config for config in every if available(config, here)]


def available(config: dict[str, Any], here: Machine) -> bool:
    """Say whether their runner would run it: eager and inductor anywhere but on a TPU, XLA on what it knows here."""
    accelerator, xla, dynamo = config["accelerator"], config["xla"], config["dynamo"]
    if dynamo is not None and (config["torch_xla2"] or xla_of(dynamo) != xla):
        return False
    if xla is None:
        return bool(accelerator != "tpu")
    if accelerator in ("cuda", "xpu"):
        return False
    return bool(config["torch_xla2"]) or ("torch_xla" in here.packages and accelerator in here.accelerators)


def exactly(parsed: argparse.Namespace) -> tuple[Choices, str, int | None]:
    """Return the one configuration, model and batch size of --experiment-config and --model-config.

    Raises:
        UsageError: one of the two is missing, is no JSON object, or lacks a key.
    """
    if parsed.experiment_config is None or parsed.model_config is None:
        raise UsageError("--experiment-config and --model-config require each other; pass both")
    config = _object("--experiment-config", parsed.experiment_config, KEYS)
    model = _object("--model-config", parsed.model_config, ("model_name",))
    if config["xla"] == "XRT":
        raise UsageError("--experiment-config: XRT was removed from PyTorch/XLA; use PJRT")
    config["accelerator"] = str(config["accelerator"]).lower()
    return {key: [config[key]] for key in KEYS}, str(model["model_name"]), config.get("batch_size")


def _unique(texts: list[str] | None) -> list[str | None]:
    return [values.none_or(value) for value in dict.fromkeys(texts or ())]


def _object(flag: str, text: str, keys: tuple[str, ...]) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{flag} is not valid JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise UsageError(f"{flag} is not a JSON object")
    missing = [key for key in keys if key not in parsed]
    if missing:
        raise UsageError(f"{flag} lacks {', '.join(missing)}")
    return parsed


def open_growing(directory: Path, new: RunFile, *, resume: bool = True, timestamp: float | None = None) -> RunFolder:
    """Open the folder's run, its plan enlarged by the new one's; only the latter's experiments are measured.

    Raises:
        PlanMismatch: the run there has other settings or versions, or was measured on another machine.
    """
    if not resume or not (directory / RUN_FILE).exists():
        begun = new.timestamp if timestamp is None else timestamp
        return open_folder(directory, directory, msgspec.structs.replace(new, timestamp=begun), resume=resume)
    old = read_run_file(directory).plan
    folder = open_folder(directory, directory, _with_plan(new, old))
    planned_before = {entry.key for entry in old}
    more = [entry for entry in new.plan if entry.key not in planned_before]
    if more:
        with ResultsWriter(folder.results):
            write_run_file(directory, _with_plan(folder.file, [*old, *more]))
    return replace(folder, file=msgspec.structs.replace(folder.file, plan=new.plan))


def _with_plan(file: RunFile, entries: list[PlanEntry]) -> RunFile:
    return msgspec.structs.replace(file, plan=entries, plan_id=Plan(entries=tuple(entries)).plan_id)


def link_results(directory: Path, basename: str) -> None:
    """Let the results be found under a name of the user's choice, too.

    Raises:
        UsageError: the name is a path, or another file has it.
    """
    if basename == RESULTS:
        return
    link = directory / basename
    if Path(basename).name != basename:
        raise UsageError(
            f"--output-basename {basename}: the name must not contain a folder; use --output-dirname for that"
        )
    if link.exists() and not (link.is_symlink() and link.resolve() == (directory / RESULTS).resolve()):
        raise UsageError(f"--output-basename {basename}: {link} is another file; choose another name")
    if not link.is_symlink():
        link.symlink_to(RESULTS)


PROGRAM = "python -m runner"
_DESCRIPTION = (
    "Accept the command line of PyTorch/XLA's experiment_runner.py and measure under its protocol (preset `peer`). "
    "docs/other-harnesses.md lists its flags; `xlabench run` has more."
)
_ONLY_BY_NAME = {"dummy": ("dummy_nonzero",)}
"""Models that their suite of the same name does not have: planned where a filter names them."""

# Their lines are read by scripts: same logger name, same format.
_log = logging.getLogger("__main__")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parsed = parser().parse_args(words)
    logging.basicConfig(level=parsed.log_level.upper(), force=True)
    return table.main(PROGRAM, lambda: _run(parsed, shlex.join(["python", "-m", "runner", *words])))


flags_table = partial(table.load, Path(__file__).with_suffix(".yaml"))


def parser() -> PeerParser:
    """Return a parser of their command line."""
    return flags_table().parser(PROGRAM, _DESCRIPTION)


def translate(parsed: argparse.Namespace, selected: Choices, model: str | None) -> list[str]:
    """Return the flags of `xlabench run` that do the same."""
    words = ["--preset=peer", *flags_table().words(parsed)]
    for key in ("accelerator", "xla", "dynamo", "test"):
        words += [f"--{key}={value}" for value in selected[key]]
    if selected["xla_flags"] != [None]:
        words += [f"--xla-flags={value}" for value in selected["xla_flags"]]
    words += [f"--torch-xla2={value}" for value in selected["torch_xla2"] if value is not None]
    words += ["--enable-functionalization"] if selected["enable_functionalization"] == [True] else []
    # Theirs is `high` unless --disable-tf32 lets --matmul-precision speak.
    precision = str(parsed.matmul_precision or "highest") if parsed.disable_tf32 else "high"
    words.append(f"--matmul-precision={precision}")
    words += ["--verify-only"] if parsed.verify else []
    return words + ([f"--only={parsed.suite_name}/{model}"] if model is not None else [])


def _run(parsed: argparse.Namespace, command: str) -> int:
    here = machine.detect()
    model, batch_size = None, parsed.batch_size
    if parsed.experiment_config is None and parsed.model_config is None:
        selected = choices(parsed, here)
    else:
        selected, model, batch_size = exactly(parsed)
        parsed.batch_size = parsed.batch_size if batch_size is None else batch_size
    words = translate(parsed, selected, model)
    _log.debug("Equivalent command: %s", shlex.join(["xlabench", "run", *words]))
    translated = table.work(words, program=PROGRAM)
    models = _models(translated, here, parsed, model)
    _announce(models, listed(selected, here))
    if parsed.dry_run:
        return 0
    return _measure(translated.only(lambda config: config.model_name in models), parsed, command)


def _models(translated: TranslatedCommand, here: Machine, parsed: argparse.Namespace, model: str | None) -> list[str]:
    """Return the selected models, also where no experiment of theirs can run."""
    plain = translated.request.changed(accelerator=("cpu",), xla=(None,), dynamo=(None,), test=("eval",), torch_xla2=())
    names = [entry.config.model_name for entry in plan.make_plan(plain, here).entries]
    extra = _ONLY_BY_NAME.get(parsed.suite_name, ()) if model is None else ()
    hidden = {name for name in extra if not _named(name, parsed.filter or (), parsed.suite_name)}
    return [name for name in dict.fromkeys(names) if name not in hidden]


def _named(name: str, filters: Sequence[str], usual: str) -> bool:
    """Say whether a filter means this model and not the one that every filter of its suite finds."""
    wanted = [patterns.compiled(text) for text in filters]
    return any(pattern.search(name) and not pattern.search(usual) for pattern in wanted)


def _announce(models: list[str], configs: list[dict[str, Any]]) -> None:
    """Write their lines."""
    _log.info("Number of selected experiment configs: %d", len(configs))
    _log.info("Number of selected model configs: %d", len(models))
    for model in models:
        for config in configs:
            _log.info(
                "Run with --model-config=%s --experiment-config=%s",
                json.dumps({"model_name": model}),
                json.dumps(config),
            )


def _measure(work: TranslatedCommand, parsed: argparse.Namespace, command: str) -> int:
    if not work.plan.entries:
        if set(work.request.accelerators) == {"cuda"} and None not in work.request.selection.xla:
            raise UsageError("PyTorch/XLA no longer supports CUDA; pass --accelerator=cpu or tpu, or --xla=None.")
        raise UsageError("No experiment is selected; relax --filter, --exclude, --xla or --dynamo.")
    directory = Path(parsed.output_dirname)
    folder = open_growing(directory, work.new_run(command), resume=not parsed.no_resume, timestamp=parsed.timestamp)
    link_results(directory, parsed.output_basename)
    _log.info(plan_view.headline(work.plan, folder.path, resumed=folder.resumed))
    _log.info(table.measure(work, folder).sentence())
    return 0
