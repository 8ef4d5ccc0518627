"""The command line of PARAM's `run_benchmark`: plan, measure, write the output in its form."""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from runner.param import library
from runner.param.library import pair_of
from runner.peer_cli import table
from runner.peer_cli.table import PeerParser, TranslatedCommand
from runner.plan import plan_view
from runner.schedule.run_folder import RunFolder, open_folder
from runner.suites.operators import batch, suite
from runner.suites.operators.expand import Case
from store.errors import UsageError
from store.record import Record, Test
from store.run_file import read_records

PROGRAM = "python -m runner.suites.operators"
_DESCRIPTION = "Accept the command line of PARAM's run_benchmark; docs/param.md lists its flags."
EXIT_PARTIAL = 3
_DEVICES = ("cpu", "cuda", "xpu", "tpu")

_log = logging.getLogger("operators")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parsed = parser().parse_args(words)
    logging.basicConfig(format="[%(asctime)s] %(process)d [%(levelname)s]: %(message)s", force=True)
    return table.main(PROGRAM, lambda: _run(parsed, shlex.join([*shlex.split(PROGRAM), *words])))


flags_table = partial(table.load, Path(__file__).with_suffix(".yaml"))


def parser() -> PeerParser:
    """Return a parser of their command line."""
    return flags_table().parser(PROGRAM, _DESCRIPTION)


def _run(parsed: argparse.Namespace, command: str) -> int:
    parsed.output_prefix = parsed.out_file_name or parsed.output_prefix
    parsed.log_level = "DEBUG" if parsed.verbose else parsed.log_level
    level = logging.getLevelNamesMapping().get(parsed.log_level.upper())
    if level is None:
        raise UsageError(f"--log-level {parsed.log_level}: choose DEBUG, INFO, WARNING or ERROR")
    _log.setLevel(level)
    if parsed.version:
        try:
            sys.stdout.write(f"xlabench {version('xlabench')}\n")
        except PackageNotFoundError:
            sys.stdout.write("xlabench from a checkout\n")
        return 0
    if parsed.config is None:
        raise UsageError("A configuration is required; pass -c FILE.")
    return _measure(parsed, command)


def _measure(parsed: argparse.Namespace, command: str) -> int:
    began = datetime.now(UTC)
    try:
        backends = [pair_of(name) for name in _backends(parsed)]
    except ValueError as error:
        raise UsageError(f"--backend: {error}") from None
    tools = batch.wanted(parsed)
    words = translate(parsed)
    how = {"discrete": parsed.exec_mode == "discrete", "clear_cache": "--cuda-l2-cache=off" in words}
    chosen = selected(suite.cases([parsed.config]), parsed.resume_id, parsed.stop_id)
    cases = [case.timed(**how) for case in chosen]
    _log.debug("Equivalent command: %s", shlex.join(["xlabench", "run", *words]))
    translated = table.work(words, program=PROGRAM)
    translated = _narrowed(translated, cases, backends, backward=parsed.backward)
    folder = open_folder(table.home(), None, translated.new_run(command), resume=False)
    _log.info(plan_view.headline(translated.plan, folder.path, resumed=False))
    result = table.measure(translated, folder)
    _write(parsed, folder, cases, began)
    _log.info(result.sentence())
    for tool in tools:
        tool.run(cases, parsed, _log)
    return EXIT_PARTIAL if result.failed else 0


def _backends(parsed: argparse.Namespace) -> list[str]:
    return list(dict.fromkeys(parsed.backend or ["inductor" if parsed.pt2_model else "eager"]))


def selected(cases: Sequence[Case], first: str | None, stop: str | None) -> list[Case]:
    """Return the cases from `first` on, those from `stop` on left out; None: all.

    Raises:
        UsageError: no case has the id.
    """
    ids = [case.param_id for case in cases]
    for flag, wanted in (("--resume-id", first), ("--stop_id", stop)):
        if wanted is not None and wanted not in ids:
            raise UsageError(f"{flag} {wanted}: there is no such case; the cases are {ids[0]} to {ids[-1]}")
    begin = 0 if first is None else ids.index(first)
    end = len(ids) if stop is None else ids.index(stop)
    if begin >= end:
        raise UsageError(f"--resume-id {first} is after --stop_id {stop}: nothing is left to measure")
    return list(cases[begin:end])


def translate(parsed: argparse.Namespace) -> list[str]:
    """Return the flags of `xlabench run` that do the same; the plan is then cut to cases, backends and tests."""
    accelerator, index = device_of(parsed.device)
    if parsed.warmup < 0 or parsed.iteration < 1:
        raise UsageError(f"-w {parsed.warmup} -i {parsed.iteration}: the minimum is no warm-up and one iteration")
    words = ["--suite-name=operators", *flags_table().words(parsed), f"--accelerator={accelerator}"]
    words += ["--preset=peer", "--processes=1", f"--repeat={parsed.warmup + parsed.iteration}"]
    # Their protocol: one thread, float32 as it is, no optimizer.
    words += ["--threads=1", "--matmul-precision=highest", "--enable-functionalization", "--no-optimizer"]
    words += [f"--device-index={index}"] if index is not None else []
    cuda = accelerator == "cuda"
    mode = "continuous" if parsed.exec_mode == "continuous_events" and not cuda else parsed.exec_mode
    return [*words, f"--exec-mode={mode}", *([f"--cuda-l2-cache={parsed.cuda_l2_cache}"] if cuda else [])]


def device_of(text: str) -> tuple[str, int | None]:
    """Return the accelerator and the index of `cpu`, `cuda`, `cuda:1`.

    Raises:
        UsageError: it is none.
    """
    name, colon, index = text.partition(":")
    if name not in _DEVICES or (colon and not index.isdecimal()):
        raise UsageError(f"--device {text}: use one of {', '.join(_DEVICES)}, optionally with an index such as cuda:1")
    return name, int(index) if colon else None


def _narrowed(
    translated: TranslatedCommand, cases: Sequence[Case], backends: Sequence[Any], *, backward: bool
) -> TranslatedCommand:
    """Return the experiments of these cases and backends, each case in the requested test."""
    tests = {case.name: "train" if backward and not case.no_backward else "eval" for case in cases}
    chosen = translated.only(
        lambda config: (config.xla, config.dynamo) in backends and tests.get(config.model_name) == config.test
    )
    entries = chosen.plan.entries
    reasons = dict.fromkeys(entry.skip_reason for entry in entries if entry.skip_reason)
    if not any(entry.runnable for entry in entries):
        raise UsageError(f"Nothing can be measured: {'; '.join(map(str, reasons))}.")
    for reason in reasons:
        _log.warning("left out: %s", reason)
    return chosen


def _write(parsed: argparse.Namespace, folder: RunFolder, cases: Sequence[Case], began: datetime) -> None:
    """Write a file per backend."""
    records = list(read_records(folder.results))
    for name in _backends(parsed):
        lines = list(
            _lines([record for record in records if record.variant.split(" ")[0] == name], cases, parsed.warmup)
        )
        path = _path(parsed, name, began)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if parsed.append else "w", encoding="utf-8") as stream:
            library.write_param_output(stream, _options(parsed, name), folder.file.environments[0], began, lines)
        _log.info("Benchmark result: %s", path)


def _lines(records: Sequence[Record], cases: Sequence[Case], warmup: int) -> Iterator[dict[str, Any]]:
    """Yield a line per case that has times, in their order; say what has none."""
    by_name = {record.model.model_name: record for record in records}
    for case in cases:
        record = by_name.get(case.name)
        if record is not None and record.metrics.get("total_time"):
            test: Test = "train" if record.experiment.test == "train" else "eval"
            yield library.param_line(case, record.metrics, test, warmup, record.experiment.accelerator)
        elif record is not None and record.error is not None:
            _log.error("%s: %s in %s: %s", case.param_id, record.status, record.error.phase, record.error.message)


def _path(parsed: argparse.Namespace, backend: str, began: datetime) -> Path:
    """Return the file of a backend; the first one's is called as theirs."""
    first = backend == _backends(parsed)[0]
    suffix = "" if first else f"_{backend.replace('+', '_')}"
    return Path(f"{parsed.output_prefix}_{os.getpid()}_{int(began.timestamp())}{suffix}.json")


def _options(parsed: argparse.Namespace, backend: str) -> dict[str, Any]:
    """Return the `run_options` of the output's first line, under their names."""
    return {
        "device": parsed.device,
        "pass_type": "backward" if parsed.backward else "forward",
        "warmup": parsed.warmup,
        "iteration": parsed.iteration,
        "op_exec_mode": parsed.exec_mode,
        "cuda_l2_cache": parsed.cuda_l2_cache == "on",
        "time_unit": "millisecond",
        "out_file_prefix": parsed.output_prefix,
        "resume_op_run_id": parsed.resume_id,
        "stop_op_run_id": parsed.stop_id,
        "backend": backend,
    }
