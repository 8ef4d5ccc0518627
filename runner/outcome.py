"""Make the record of an experiment from what happened to it."""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from runner import presets
from runner.messages import Settings
from store.identity import record_id
from store.record import (
    SKIP,
    Artifact,
    Blocks,
    Environment,
    Error,
    Experiment,
    ExperimentConfig,
    Measurement,
    ModelRef,
    PlanEntry,
    Record,
    Run,
    Status,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.messages import Hello, Loaded, Report
    from store.record import Accelerator

_SHORT_BLOCK_S = 0.001
_FEW_BLOCKS = 5
_WIDE_SPREAD = 0.10
_FAR_OFF = 0.5


@dataclass(kw_only=True)
class Outcome:
    """How one measuring process ended, and what it told before."""

    status: Status
    error: Error | None = None
    loaded: Loaded | None = None
    report: Report | None = None


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What all records of a run share."""

    run: Run
    timestamp: float
    environment: Environment
    settings: Settings
    accelerators: Mapping[Accelerator, str]
    hello: Hello | None = None


def experiment_of(entry: PlanEntry, facts: RunFacts, outcome: Outcome) -> Experiment:
    """Return the peer's description of the experiment, with what the model made of the request."""
    config = entry.config
    loaded = outcome.loaded
    return Experiment(
        accelerator=config.accelerator,
        accelerator_model=facts.accelerators.get(config.accelerator),
        xla=config.xla,
        xla_flags=" ".join(config.xla_flags) or None,
        dynamo=config.dynamo,
        torch_xla2=config.torch_xla2,
        test=config.test,
        batch_size=loaded.batch_size if loaded else config.batch_size,
        enable_functionalization=config.enable_functionalization,
        keep_model_data_on_cuda=config.keep_model_data_on_cuda,
        requested_batch_size=config.batch_size,
        dtype=config.dtype,
        optimizer=config.optimizer,
        loss=config.loss,
        resolved_loss=loaded.loss if loaded else None,
        matmul_precision=config.matmul_precision,
        compile_mode=config.compile_mode,
        cudagraphs=config.cudagraphs,
        dynamic_shapes=config.dynamic_shapes,
        fullgraph=config.fullgraph,
        overrides=config.overrides,
    )


def make_record(
    entry: PlanEntry, facts: RunFacts, outcome: Outcome, *, attempt: int = 1, artifacts: tuple[Artifact, ...] = ()
) -> Record:
    """Build the record; metrics hold numeric lists only, and `error` on failure, as the peer's readers expect."""
    report = outcome.report
    metrics: dict[str, Any] = dict(report.metrics) if report else {}
    if outcome.error is not None:
        metrics["error"] = f"{outcome.error.type}: {outcome.error.message}"
    warnings = [*(outcome.loaded.warnings if outcome.loaded else ()), *(report.warnings if report else ())]
    return Record(
        model=ModelRef(suite_name=entry.config.suite_name, model_name=entry.config.model_name),
        experiment=experiment_of(entry, facts, outcome),
        repeat=facts.settings.repeat,
        iterations_per_run=facts.settings.iterations_per_run,
        metrics=metrics,
        timestamp=facts.timestamp,
        verification_code="VERIFIER_DIDNT_RUN" if outcome.error else "VERIFIER_SKIPPED",
        record_id=record_id(facts.run.run_id, entry.experiment_id, entry.environment, "benchmark", 0, attempt),
        experiment_id=entry.experiment_id,
        variant=entry.variant,
        run=facts.run,
        attempt=attempt,
        status=outcome.status,
        error=outcome.error,
        environment=_environment(facts, outcome),
        measurement=_measurement(entry, facts.settings, report),
        fallback_ops=report.fallback_ops if report else [],
        graph_breaks=report.graph_breaks if report else [],
        artifacts=list(artifacts),
        warnings=warnings + quality_warnings(report),
        finished_at=time.time(),
        reproduce=reproduce(entry, facts.settings),
    )


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


def _measurement(entry: PlanEntry, settings: Settings, report: Report | None) -> Measurement:
    blocks = Blocks()
    if report is not None:
        blocks = Blocks(
            kind=report.kinds,  # type: ignore[arg-type]  # checked when the record is written
            compiles=report.compiles,
            executions=report.executions,
            round=report.rounds,
        )
    return Measurement(
        protocol=settings.preset,
        block=1,
        processes=settings.processes,
        repeat=settings.repeat,
        warmup_min=settings.warmup_min,
        warmup_max=settings.warmup_max,
        steady_blocks=settings.steady_blocks,
        cache=entry.config.cache,
        start=settings.start,  # type: ignore[arg-type]
        blocks=blocks,
    )


def quality_warnings(report: Report | None) -> list[str]:
    """Warn as pyperf does: few samples, a wide spread, blocks too short for the clock."""
    if report is None:
        return []
    times = [t for t, kind in zip(report.metrics["total_time"], report.kinds, strict=True) if kind == "steady"]
    if not times:
        return []
    times.sort()
    middle = times[len(times) // 2]
    found = []
    if len(times) < _FEW_BLOCKS:
        found.append(f"only {len(times)} steady blocks: raise --repeat to at least {_FEW_BLOCKS}")
    low, high = times[len(times) // 4], times[math.ceil(3 * len(times) / 4) - 1]
    if high - low >= _WIDE_SPREAD * middle:
        spread = (high - low) / middle
        found.append(
            f"the middle half of the steady blocks spreads over {spread:.0%} of the median: the machine is noisy"
        )
    far = sum(abs(time - middle) >= _FAR_OFF * middle for time in times)
    if far:
        off = f"{far} of {len(times)} steady blocks lie {_FAR_OFF:.0%} or more off the median"
        found.append(f"{off}: something interfered")
    if middle < _SHORT_BLOCK_S:
        found.append(f"a steady block takes {middle * 1e3:.3g} ms: raise --iterations-per-run")
    return found


def reproduce(entry: PlanEntry, settings: Settings) -> str:
    """Return the command that measures this experiment again."""
    config = entry.config
    name = re.escape(config.model_name).replace(r"\-", "-")
    words = ["xlabench run", f"--suite-name {config.suite_name}", f"--filter '^{name}$'"]
    words += [f"--accelerator {config.accelerator}", f"--xla {config.xla}", f"--dynamo {config.dynamo}"]
    words += [f"--test {config.test}"]
    if config.batch_size is not None:
        words.append(f"--batch-size {config.batch_size}")
    words += [f"--preset {settings.preset}", f"--repeat {settings.repeat}"]
    words.append(f"--iterations-per-run {settings.iterations_per_run}")
    if settings.threads:
        words.append(f"--threads {settings.threads}")
    words += _configuration_words(config, settings.preset)
    usual = Settings()
    if settings.seed != usual.seed:
        words.append(f"--seed {settings.seed}")
    if settings.warmup_max != usual.warmup_max:
        words.append(f"--warmup-max {settings.warmup_max}")
    if settings.timeout_s != usual.timeout_s:
        words.append(f"--subprocess-timeout {settings.timeout_s:.0f}")
    if settings.start != usual.start:
        words.append(f"--start {settings.start}")
    return " ".join(words)


def _configuration_words(config: ExperimentConfig, preset: str) -> list[str]:
    """Return the flags for what differs from the preset."""
    fixed = presets.requested(preset, config.suite_name, config.model_name, config.test, config.accelerator)
    plain = ExperimentConfig(
        suite_name=config.suite_name, model_name=config.model_name, test=config.test, accelerator=config.accelerator
    )
    words = []
    for name in presets.CONFIGURABLE:
        value = getattr(config, name)
        if value != fixed.get(name, getattr(plain, name)):
            flag = "--" + name.replace("_", "-")
            words.append(flag if value is True else f"{flag} {value}")
    return words
