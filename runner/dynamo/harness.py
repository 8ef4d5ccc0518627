"""The command lines of torchbench.py, huggingface.py and timm_models.py: translate, measure, write what they write."""

from __future__ import annotations

import argparse
import csv
import io
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from runner.backends import xla_of
from runner.environments import machine
from runner.environments.machine import Machine
from runner.peer_cli import table
from runner.peer_cli.table import PeerParser, TranslatedCommand
from runner.plan import Plan, plan_view, values
from runner.plan.local_request import make_entry
from runner.plan.plan_file import read_models_file
from runner.schedule.run_folder import RunFolder, open_folder
from store import harness_csv
from store.errors import UsageError
from store.harness_csv import Options, Pair, Row, speedups
from store.record import Record
from store.run_file import read_records


def apply(path: Path, made: Plan) -> Plan:
    """Return the plan with the file's batch sizes; a model that it does not name keeps its own.

    Raises:
        UsageError: a line is neither `NAME,N` nor `NAME N`.
    """
    sizes = {line.name: line.batch_size for line in read_models_file(path) if line.batch_size}
    entries = []
    for entry in made.entries:
        size = sizes.get(entry.config.model_name)
        if size is None:
            entries.append(entry)
            continue
        config = msgspec.structs.replace(entry.config, batch_size=size)
        entries.append(make_entry(config, entry.environment, entry.skip_reason, entry.notes))
    return replace(made, entries=tuple(entries))


_DESCRIPTION = "Accept the command line of the TorchDynamo harness; docs/harness-torchdynamo-flags.md lists its flags."
_ACCURACY_BATCH = {"huggingface": 1, "torchbench": 4, "timm_models": 8}
"""What the harness checks with unless --batch-size is given."""
EAGER: Pair = (None, None)
LAZY: Pair = ("PJRT", None)


@dataclass(frozen=True, kw_only=True)
class HarnessSides:
    """What is measured, against what."""

    backend: Pair
    baseline: Pair


flags_table = partial(table.load, Path(__file__).with_suffix(".yaml"))


def parser(program: str) -> PeerParser:
    """Return a parser of their command line."""
    return flags_table().parser(program, _DESCRIPTION)


def run(suite: str, words: Sequence[str], program: str, command: str) -> int:
    """Measure one suite and write the harness's CSV; return the exit code."""
    program = f"{program} {suite}"
    parsed = parser(program).parse_args(list(words))
    _refuse_contradictions(parsed)
    here = machine.detect()
    both = sides(parsed)
    translated = table.work(translate(suite, parsed, both, here), program=program)
    wanted = {both.backend} if parsed.accuracy else {both.backend, both.baseline}
    translated = translated.only(lambda config: (config.xla, config.dynamo) in wanted)
    if parsed.batch_size_file:
        translated = replace(translated, plan=apply(Path(parsed.batch_size_file), translated.plan))
    _refuse_nothing(translated, both.backend)
    csv = Csv(
        path=csv_path(parsed),
        append=bool(parsed.only or parsed.retain_output),
        kind="accuracy" if parsed.accuracy else "xla" if parsed.xla else "performance",
        options=Options(
            backend=both.backend,
            baseline=both.baseline,
            tag=parsed.tag,
            prior=speedups(Path(parsed.baseline).read_text()) if parsed.baseline else None,
            warm_peak=parsed.use_warm_peak_memory or parsed.dashboard,
        ),
        quiet=parsed.quiet,
        explain=parsed.explain or parsed.stats,
        graph_breaks=parsed.explain or parsed.print_graph_breaks or parsed.log_graph_breaks,
    )
    folder = open_folder(table.home(), None, translated.new_run(command))
    say(plan_view.headline(translated.plan, folder.path, resumed=folder.resumed))
    try:
        result = table.measure(translated, folder)
    finally:
        csv.write(folder)
    say(result.sentence())
    return 0


def sides(parsed: argparse.Namespace) -> HarnessSides:
    """Return the (xla, dynamo) of the backend and of its baseline.

    Raises:
        UsageError: no backend is named.
    """
    baseline = LAZY if parsed.trace_on_xla or parsed.use_xla_baseline else EAGER
    if parsed.xla:
        return HarnessSides(backend=LAZY, baseline=EAGER)
    name = "inductor" if parsed.inductor else "eager" if parsed.overhead else parsed.backend
    if parsed.speedup_ts or parsed.torchscript_jit_trace:
        name = "torchscript"
    if name is None:
        raise UsageError("no backend is selected; pass --inductor, --backend NAME or --xla")
    try:
        values.dynamo(name)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"--backend {name}: {error}") from None
    backend = (xla_of(name), name)
    if parsed.trace_on_xla and backend[0] is None:
        raise UsageError(f"--trace-on-xla is not supported with {name}, which compiles for the host device")
    return HarnessSides(backend=backend, baseline=baseline)


def translate(suite: str, parsed: argparse.Namespace, both: HarnessSides, here: Machine) -> list[str]:
    """Return the flags of `xlabench run` that do the same; the plan is then cut to the two sides."""
    # Their CSV has one row per model, of one process.
    words = ["--preset=hud", "--processes=1", f"--suite-name={suite}", *flags_table().words(parsed)]
    pairs = [both.backend] if parsed.accuracy else [both.baseline, both.backend]
    words.append("--test=train" if parsed.training else "--test=eval")
    if not parsed.only:  # a model that is named is in every part
        words += [f"--total-partitions={parsed.total_partitions}", f"--partition-id={parsed.partition_id}"]
    words += dict.fromkeys(f"--xla={xla}" for xla, _ in pairs)
    words += dict.fromkeys(f"--dynamo={dynamo}" for _, dynamo in pairs)
    words += [f"--accelerator={device}" for device in parsed.devices or [usual_device(here)]]
    words += [f"--only={suite}/{name}" for name in _only(parsed, suite)]
    words += [f"--exclude=^{re.escape(name)}$" for name in parsed.exclude_exact or ()]
    words += _precision(parsed)
    words += ["--dynamic-shapes"] if parsed.dynamic_shapes or parsed.dynamic_batch_only else []
    words += ["--freezing"] if parsed.freezing and not parsed.training else []
    batch_size = parsed.batch_size or (_ACCURACY_BATCH.get(suite) if parsed.accuracy else None)
    words += [f"--batch-size={batch_size}"] if batch_size else []
    if parsed.xla_tolerance is not None and both.backend[0] is not None:
        words.append(f"--tolerance={parsed.xla_tolerance}")
    return [*words, "--collect-dynamo-counters", *(["--verify-only"] if parsed.accuracy else [])]


def usual_device(here: Machine) -> str:
    """Return the accelerator that the harness takes where none is named."""
    return next((name for name in ("cuda", "xpu") if name in here.accelerators), "cpu")


def csv_path(parsed: argparse.Namespace) -> Path | None:
    """Return where the harness would write, in the current folder instead of torch's; None: nowhere."""
    if parsed.disable_output:
        return None
    backend = "eager" if parsed.overhead else parsed.backend
    usual = "overheads.csv" if parsed.overhead else "inductor.csv" if parsed.inductor else "xla.csv"
    if parsed.speedup_ts or parsed.torchscript_jit_trace:
        usual = "baseline_ts.csv" if parsed.speedup_ts else "torchscript_jit_trace.csv"
    if backend and not parsed.overhead:
        usual = f"{'accuracy' if parsed.accuracy else 'speedup'}_{backend}.csv"
    return Path(parsed.output_directory or ".") / (parsed.output or usual)


def _precision(parsed: argparse.Namespace) -> list[str]:
    """Return float32 where no dtype is given, as there; autocast's own dtype belongs to --amp."""
    if parsed.amp:
        return [f"--amp-dtype={parsed.amp_dtype}"] if parsed.amp_dtype else []
    return [] if parsed.float16 or parsed.bfloat16 else ["--dtype=float32"]


def _only(parsed: argparse.Namespace, suite: str) -> list[str]:
    if parsed.only:
        if ":" in parsed.only:
            raise UsageError(
                "--only path:…,class:… is not supported: add the model in a suite of your own (XLABENCH_SUITES), "
                "see docs/extend-runner.md"
            )
        return [str(parsed.only)]
    chosen = os.environ.get("TORCHBENCH_ONLY_MODELS", "") if suite == "torchbench" else ""
    return [name.strip() for name in chosen.split(",") if name.strip()]


def _refuse_contradictions(parsed: argparse.Namespace) -> None:
    if parsed.amp_dtype and not parsed.amp:
        raise UsageError("--amp-dtype requires --amp")
    if parsed.accuracy and parsed.baseline:
        raise UsageError("--baseline compares speedups and requires --performance")
    if not 0 <= parsed.partition_id < parsed.total_partitions:
        raise UsageError(
            f"--partition-id {parsed.partition_id}: it must be at least 0 and less than {parsed.total_partitions}"
        )


def _refuse_nothing(translated: TranslatedCommand, backend: Pair) -> None:
    """Say why the backend can measure nothing: no such model, no such device, no such package."""
    own = [entry for entry in translated.plan.entries if (entry.config.xla, entry.config.dynamo) == backend]
    if not own and backend[0] is not None and set(translated.request.accelerators) == {"cuda"}:
        raise UsageError("PyTorch/XLA no longer supports CUDA; pass -dcpu")
    if not own:
        raise UsageError("No model is selected; relax --filter, --exclude or --only.")
    if not any(entry.runnable for entry in own):
        [(reason, _)] = Counter(entry.skip_reason for entry in own).most_common(1)
        raise UsageError(f"Nothing can be measured: {reason}.")


# Output in the harness's form: a line per model, the CSV, and the CSV of graph breaks.


Kind = Literal["performance", "accuracy", "xla"]


@dataclass(frozen=True, kw_only=True)
class Csv:
    """Where a command writes its rows, and what it prints."""

    path: Path | None
    append: bool
    kind: Kind
    options: Options
    quiet: bool = False
    explain: bool = False
    graph_breaks: bool = False

    def write(self, folder: RunFolder) -> None:
        """Write what the run has measured so far; an interrupted one leaves the rows that it has."""
        planned = {entry.experiment_id for entry in folder.file.plan}
        records = [record for record in read_records(folder.results) if record.experiment_id in planned]
        rows = self.rows(records)
        if not self.quiet:
            statuses = {record.model.model_name: str(record.status) for record in self._own(records)}
            for row in rows:
                say(self.line(row, records[0].experiment.test, statuses.get(str(row["name"]))))
        if self.explain:
            self._explain(records)
        if self.path is None:
            return
        before = self.path.read_text() if self.append and self.path.exists() else ""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(harness_csv.text(rows, before))
        if self.graph_breaks:
            self.path.with_name(f"{self.path.stem}_graph_breaks.csv").write_text(_graph_breaks(self._own(records)))

    def rows(self, records: Iterable[Record]) -> list[Row]:
        make = {
            "performance": harness_csv.performance,
            "accuracy": harness_csv.accuracy,
            "xla": harness_csv.against_xla,
        }[self.kind]
        return make(records, self.options)

    def line(self, row: Row, test: str, status: str | None) -> str:
        """Return what the harness prints of a model: its name, then the speedup, or why there is none."""
        head = f"{row['dev']:4} {test:5} {row['name']:34}"
        if "accuracy" in row:
            return f"{head} {row['accuracy']}"
        if not row["speedup"]:
            return f"{head} {'failed' if status in (None, 'ok') else status}"
        if "time_xla" in row:
            times = f"{float(row['time_baseline']) * 1e3:.4f} ms, {float(row['time_xla']) * 1e3:.4f} ms"
        else:
            latency = float(row["abs_latency"])
            times = f"{latency * float(row['speedup']):.4f} ms, {latency:.4f} ms"
        return f"{head} {times}, {float(row['speedup']):.3f}x"

    def _own(self, records: Iterable[Record]) -> list[Record]:
        return [
            record for record in records if (record.experiment.xla, record.experiment.dynamo) == self.options.backend
        ]

    def _explain(self, records: Iterable[Record]) -> None:
        for record in self._own(records):
            counters = harness_csv.counters(record)
            breaks = f"{counters['graph_breaks']} graph breaks ({counters['unique_graph_breaks']} unique)"
            say(
                f"{record.model.model_name}: Dynamo produced {counters['unique_graphs']} graphs "
                f"covering {counters['calls_captured']} ops with {breaks}"
            )


def say(text: str) -> None:
    """Print one line."""
    sys.stdout.write(f"{text}\n")


def _graph_breaks(records: Iterable[Record]) -> str:
    """Return their `…_graph_breaks.csv`: a line per break; dynamo's counters hold no stack."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["model", "reason", "user_stack"])
    for record in records:
        for graph_break in record.graph_breaks:
            writer.writerows([[record.model.model_name, graph_break.reason, ""]] * graph_break.count)
    return out.getvalue()
