"""Make the record of an experiment from what happened to it."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from runner.flags import command_line, request_words, spaced
from runner.messages import ProcessReport
from runner.plan import protocol
from runner.plan.protocol import protocol_of
from runner.plan.request import Configuration, RunRequest, Selection
from runner.schedule.examine import Extras
from runner.schedule.outcome import Arrangement, Outcome, RunFacts, of_experiment
from runner.settings import OwnModel, Settings
from runner.suites.operators import document
from store import advice
from store.identity import experiment_id, record_id
from store.record import (
    SKIP,
    Blocks,
    Environment,
    Error,
    Experiment,
    ExperimentConfig,
    FallbackOp,
    Measurement,
    ModelRef,
    PlanEntry,
    Purpose,
    Record,
)


def experiment_of(entry: PlanEntry, facts: RunFacts, outcome: Outcome) -> Experiment:
    """Return the peer's description of the experiment: its configuration, and what the model made of the request."""
    config, loaded = entry.config, outcome.loaded
    names = set(Experiment.__struct_fields__).intersection(ExperimentConfig.__struct_fields__)
    resolved = {
        "accelerator_model": facts.accelerators.get(config.accelerator),
        "device_index": facts.settings.device_index,
        "xla_flags": " ".join(config.xla_flags) or None,
        "batch_size": loaded.batch_size if loaded else config.batch_size,
        "requested_batch_size": config.batch_size,
        "resolved_loss": loaded.loss if loaded else None,
        "weights": loaded.weights if loaded else config.weights,
        "without_fallback": list(config.without_fallback),
    }
    return Experiment(**{name: getattr(config, name) for name in names} | resolved)


def make_record(
    entry: PlanEntry,
    facts: RunFacts,
    outcome: Outcome,
    *,
    attempt: int = 1,
    replica: int = 0,
    twin: bool = False,
    extras: Extras | None = None,
    how: Arrangement | None = None,
) -> Record:
    """Build the record; metrics hold numeric lists only, and `error` on failure, as the peer's readers expect.

    A twin is the same experiment measured a second time in the same replica and attempt. In a calibration both
    are its subject: of two neighbouring replicas it is the second.
    """
    if facts.settings.purpose == "calibration":
        replica, twin = 2 * replica + int(twin), False
    report, extras, how = outcome.report, extras or Extras(), how or Arrangement()
    metrics: dict[str, Any] = dict(report.metrics if report else extras.verify_metrics)
    for answer in extras.instrumented:
        metrics |= answer.metrics
    if outcome.error is not None:
        metrics["error"] = f"{outcome.error.type}: {outcome.error.message}"
    warnings = [
        *entry.notes,
        *([f"measured in spite of the suite's table (--no-skip): {entry.in_spite_of}"] if entry.in_spite_of else ()),
        *(outcome.loaded.warnings if outcome.loaded else ()),
        *(report.warnings if report else ()),
        *how.warnings,
    ]

    def identify(purpose: Purpose) -> str:
        return record_id(facts.run.run_id, *entry.key, purpose, replica, attempt)

    code = "VERIFIER_DIDNT_RUN" if outcome.error else "VERIFIER_SKIPPED"
    original, replaces = identify(facts.settings.purpose), bool(entry.config.without_fallback)
    record_findings = of_experiment(outcome) + extras.findings()
    experiment = experiment_of(entry, facts, outcome)
    experiment.outputs_file = extras.outputs_file()
    record = Record(
        model=ModelRef(suite_name=entry.config.suite_name, model_name=entry.config.model_name),
        experiment=experiment,
        repeat=facts.settings.repeat,
        iterations_per_run=facts.settings.iterations_per_run,
        metrics=metrics,
        timestamp=facts.timestamp,
        verification_code=code if extras.verification is None else extras.verification.code,
        verification=extras.verification,
        proof=extras.proof,
        record_id=identify("calibration") if twin else original,
        experiment_id=entry.experiment_id,
        variant=entry.variant,
        run=facts.run,
        purpose="calibration" if twin else facts.settings.purpose,
        twin_of=original if twin else None,
        replica=replica,
        attempt=attempt,
        status=outcome.status,
        error=outcome.error,
        environment=_environment(facts, outcome),
        measurement=_measurement(entry, facts.settings, outcome, how),
        fallback_ops=_fallback_ops(report, extras),
        instead_of=experiment_id(msgspec.structs.replace(entry.config, without_fallback=())) if replaces else None,
        replacements=report.replacements if report else [],
        graph_breaks=report.graph_breaks if report else [],
        graphs=(report.graphs if report else []) + [graph for answer in extras.instrumented for graph in answer.graphs],
        artifacts=extras.artifacts,
        outputs_file=experiment.outputs_file,
        warnings=warnings + [advice.sentence(finding) for finding in record_findings] + extras.all_warnings(),
        findings=record_findings,
        machine=outcome.machine,
        used_by=entry.used_by,
        finished_at=time.time(),
        reproduce=reproduce(entry, facts.settings, facts.python, facts.torchbench_dir),
    )
    own = facts.own.get(entry.config.model_name)
    return record if own is None else without_source(record, own)


def _fallback_ops(report: ProcessReport | None, extras: Extras) -> list[FallbackOp]:
    """Join what the timed process counted with what the instrumented one found out about each op."""
    times = {
        op: {"time_s": seconds, "profiled_iteration_s": answer.profiled_iteration_s}
        for answer in extras.instrumented
        for op, seconds in answer.fallback_times.items()
    }
    return [msgspec.structs.replace(op, **times.get(op.op, {})) for op in (report.fallback_ops if report else ())]


def skipped(entry: PlanEntry, facts: RunFacts) -> Record:
    """Build the record of an experiment that this machine or model cannot run; a skip is a record with its reason."""
    error = Error(phase="load", type="Skipped", message=entry.skip_reason or "")
    record = make_record(entry, facts, Outcome(status="skipped", error=error))
    record.metrics = {"error": SKIP}
    record.verification_code = "VERIFIER_SKIPPED"
    return record


def _environment(facts: RunFacts, outcome: Outcome) -> Environment:
    loaded, hello = outcome.loaded, facts.hello
    return msgspec.structs.replace(
        facts.environment,
        threads=loaded.threads if loaded else facts.environment.threads,
        variables=loaded.variables if loaded else {},
        toolchain_probe_s=hello.probe_s if hello else None,
        server_import_s=hello.import_s if hello else None,
    )


def _measurement(entry: PlanEntry, settings: Settings, outcome: Outcome, how: Arrangement) -> Measurement:
    report = outcome.report
    return Measurement(
        protocol=settings.preset,
        order=how.order,
        block=how.block,
        together=how.together,
        processes=settings.replicas,
        looks=settings.looks,
        repeat=settings.repeat,
        until=report.until if report else None,
        warmup_min=settings.warmup_min,
        warmup_max=settings.warmup_max,
        steady_blocks=settings.steady_blocks,
        cache=entry.config.cache,
        start=settings.start,
        quiet=outcome.quiet,
        blocks=report.blocks if report else Blocks(),
    )


# The command that repeats one experiment, for readers who doubt its record.


def reproduce(
    entry: PlanEntry, settings: Settings, python: str = sys.executable, torchbench_dir: Path | None = None
) -> str:
    """Return the command as one types it."""
    config = entry.config
    request = RunRequest(
        selection=_selection(entry),
        configuration=_configuration(config, settings.preset),
        protocol=protocol_of(settings),
    )
    words = []
    if config.source is not None:
        words = [config.model_name, *(f"--input={text}" for text in config.source.inputs)]
    words += spaced(request_words(request))
    if (entry.environment, python) != ("default", sys.executable):
        words += ["--env", f"{entry.environment}={python}"]
    if torchbench_dir is not None and config.suite_name == "torchbench":
        words += ["--torchbench-dir", str(torchbench_dir.absolute())]
    words += ["--no-verify"] if config.source and settings.verify == "off" else []
    return command_line(["run", *words])


def _selection(entry: PlanEntry) -> Selection:
    config = entry.config
    own = config.source is not None
    axes: dict[str, Any] = {
        "xla": (config.xla,),
        "dynamo": (config.dynamo,),
        "torch_xla2": (config.torch_xla2,) if config.torch_xla2 else (),
    }
    return Selection(
        suite_name=() if own else (config.suite_name,),
        only=() if own else (f"{config.suite_name}/{config.model_name}",),
        config=() if config.operator is None else (document.configuration_text(config.operator, config.model_name),),
        accelerator=(config.accelerator,),
        test=(config.test,),
        no_skip=bool(entry.in_spite_of),
        **axes,
    )


def _configuration(config: ExperimentConfig, preset: str) -> Configuration:
    """Return what differs from the preset."""
    fixed = protocol.requested(preset, config.suite_name, config.model_name, config.test, config.accelerator)
    plain = ExperimentConfig(
        suite_name=config.suite_name, model_name=config.model_name, test=config.test, accelerator=config.accelerator
    )
    fields: dict[str, Any] = {"preset": preset} | {
        name: getattr(config, name)
        for name in protocol.CONFIGURABLE
        # The dtype of an operator is that of the call, and no flag changes it.
        if not (name == "dtype" and config.operator is not None)
        and getattr(config, name) != fixed.get(name, getattr(plain, name))
    }
    overrides = [(*key.partition("."), value) for key, value in config.overrides.items()]
    for library in ("dynamo", "inductor"):
        fields[f"{library}_config"] = tuple((name, value) for of, _, name, value in overrides if of == library)
    if config.operator is not None:
        fields["exec_mode"] = "discrete" if config.operator.discrete else "continuous"
        fields["cuda_l2_cache"] = "off" if config.operator.clear_cache else "on"
    return Configuration(
        batch_size=config.batch_size,
        with_optimizer=config.optimizer if config.optimizer != fixed.get("optimizer") else None,
        no_optimizer=config.optimizer is None and fixed.get("optimizer") is not None,
        xla_flags=(config.xla_flags,) if config.xla_flags else (),
        without_fallback=(config.without_fallback,) if config.without_fallback else (),
        cache=config.cache,
        **fields,
    )


# Records of a user's own model hold no line and no folder of its source, though errors quote both.

_FRAME = re.compile(
    r'^(?P<head>[ \t|]*File ")(?P<path>[^"\n]+)(?P<tail>", line \d+[^\n]*)(?:\n(?! *File ") {4,}\S[^\n]*)+',
    re.MULTILINE,
)
"""A line of a traceback that names a place, with the text of that place and the marks under it."""
_NOT_THEIRS = re.compile(r"/(?:site|dist)-packages/|/lib/python3|/torchinductor|^<frozen")
_OURS = tuple(f"{Path(__file__).resolve().parents[2] / name}/" for name in ("runner", "store", "xlabench"))
SOURCE = "<source>"
"""Stands for lines of a source; the texts by which a script knows a fault end and begin again there."""
_FOLDER = "./own/"
_TEXT_FIELDS = ("error", "metrics", "verification", "graph_breaks", "fallback_ops", "warnings", "findings", "proof")
"""Fields of a record that hold the output of programs."""


def without_source(record: Record, own: OwnModel) -> Record:
    """Return a record with base names in place of paths of the source, and without its lines."""
    path = Path(own.file or own.place)
    folders = {str(path.parent), str(path.resolve().parent)} - {"/", "."} if path.is_absolute() else set()
    fields = msgspec.to_builtins(record)
    texts = _without_lines({name: fields[name] for name in _TEXT_FIELDS}, sorted(folders, key=len, reverse=True))
    return msgspec.convert(fields | texts, Record)


def _without_lines(value: Any, folders: Iterable[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without_lines(field, folders) for key, field in value.items()}
    if isinstance(value, list):
        return [_without_lines(item, folders) for item in value]
    return _text(value, folders) if isinstance(value, str) else value


def _text(text: str, folders: Iterable[str]) -> str:
    text = _FRAME.sub(_frame, text)
    for folder in folders:
        text = text.replace(f"{folder}/", _FOLDER)
    return text


def _frame(match: re.Match[str]) -> str:
    path = match["path"]
    if _NOT_THEIRS.search(path) or path.startswith(_OURS):
        return match[0]
    return f"{match['head']}{_FOLDER}{Path(path).name}{match['tail']}\n    {SOURCE}"
