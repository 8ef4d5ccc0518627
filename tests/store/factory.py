"""Realistic records, runs and a demonstration store for tests."""

import functools
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from store.identity import backend_name, digest, experiment_id, record_id, variant
from store.record import (
    Blocks,
    Environment,
    Error,
    Experiment,
    ExperimentConfig,
    FallbackOp,
    Graph,
    GraphBreak,
    Measurement,
    ModelRef,
    PlanEntry,
    Record,
    Replacement,
    Run,
    RunFile,
)

BACKENDS: dict[str, tuple[str | None, str | None]] = {
    "eager": (None, None),
    "inductor": (None, "inductor"),
    "openxla+lazytensor": ("PJRT", None),
    "openxla+dynamo": ("PJRT", "openxla"),
}
MODELS = ("BERT_pytorch", "alexnet", "dcgan", "resnet18", "resnet50", "vgg16")
RUN_START = 1_760_000_000.0
DAY = 86_400.0
MACHINE = "c0ffee00c0ffee00c0ff"


def make_config(
    *,
    model: str = "resnet18",
    backend: str = "inductor",
    test: str = "eval",
    suite: str = "torchbench",
    **changes: Any,
) -> ExperimentConfig:
    """Return a requested configuration; an unknown backend is a dynamo backend of that name."""
    xla, dynamo = BACKENDS.get(backend, (None, backend))
    settings: dict[str, Any] = {"accelerator": "cpu", **changes}
    return ExperimentConfig(suite_name=suite, model_name=model, test=test, xla=xla, dynamo=dynamo, **settings)


def make_environment(name: str = "default", **changes: Any) -> Environment:
    """Return an environment with every fact known."""
    facts: dict[str, Any] = {
        "python": "3.11.2",
        "torch": "2.9.1",
        "torch_xla": "2.9.0",
        "host": "bench-1",
        "machine_id": MACHINE,
        "cpu": "Example CPU",
        "cores": 8,
        "memory_bytes": 32 * 2**30,
        "accelerator": "Example CPU",
        "threads": 4,
        **changes,
    }
    return Environment(name=name, **facts)


def make_record(
    *,
    model: str = "resnet18",
    backend: str = "inductor",
    test: str = "eval",
    per_iter: Sequence[float | None] = (0.010,) * 8,
    status: str = "ok",
    run_id: str = "run-1",
    suite: str = "torchbench",
    first: float = 1.0,
    warmup: Sequence[float] = (0.012,),
    batch_size: int | None = 8,
    requested_batch_size: int | None = None,
    iterations_per_run: int = 1,
    verification_code: str = "VERIFIER_SKIPPED",
    message: str | None = None,
    phase: str = "measure",
    timestamp: float = RUN_START,
    environment: Environment | None = None,
    replica: int = 0,
    attempt: int = 1,
    purpose: str = "benchmark",
    twin_of: str | None = None,
    metrics: dict[str, Any] | None = None,
    fallback_ops: Iterable[FallbackOp] = (),
    graph_breaks: Iterable[GraphBreak] = (),
    graphs: Iterable[Graph] = (),
    start: str = "fork",
    label: str = "nightly",
    replacements: Iterable[Replacement] = (),
    order: str = "sequence",
    **config_changes: Any,
) -> Record:
    """Return one record; `per_iter` are the steady seconds per iteration, preceded by `first` and `warmup`."""
    config = make_config(
        model=model, backend=backend, test=test, suite=suite, batch_size=requested_batch_size, **config_changes
    )
    env = environment or make_environment()
    experiment = experiment_id(config)
    measured = status in ("ok", "never_steady", "disturbed", "invalid")
    times = [first, *warmup, *per_iter] if measured else []
    steady = {"never_steady": "warmup", "disturbed": "disturbed"}.get(status, "steady")
    kinds = ["first"] + ["warmup"] * len(warmup) + [steady] * len(per_iter) if measured else []
    return Record(
        model=ModelRef(suite_name=suite, model_name=model),
        experiment=_experiment(config, env, batch_size),
        repeat=len(times),
        iterations_per_run=iterations_per_run,
        metrics=_metrics(times, iterations_per_run, config, status, message) | (metrics or {}),
        timestamp=timestamp,
        verification_code=verification_code,
        record_id=record_id(run_id, experiment, env.name, purpose + (twin_of or ""), replica, attempt),
        experiment_id=experiment,
        variant=variant(config),
        run=Run(run_id=run_id, label=label, command="xlabench run"),
        purpose=purpose,
        twin_of=twin_of,
        replica=replica,
        attempt=attempt,
        status=status,
        error=_error(status, phase, message),
        environment=env,
        measurement=Measurement(
            start=start,
            order=order,
            blocks=Blocks(
                kind=kinds,
                compiles=[1 if kind == "first" else 0 for kind in kinds],
                executions=[1] * len(kinds),
                round=list(range(len(kinds))),
            ),
        ),
        fallback_ops=list(fallback_ops),
        instead_of=experiment_id(msgspec.structs.replace(config, without_fallback=()))
        if config.without_fallback
        else None,
        replacements=list(replacements),
        graph_breaks=list(graph_breaks),
        graphs=list(graphs),
        finished_at=timestamp + 60.0 * attempt,
        reproduce=f"xlabench run --filter '^{model}$' --backend {backend} --test {test}",
    )


def later(**facts: Any) -> Any:
    """Return a record's maker that takes the run's facts later, as fixture `stored_runs` gives them."""
    return functools.partial(make_record, **facts)


def _experiment(config: ExperimentConfig, env: Environment, batch_size: int | None) -> Experiment:
    names = set(Experiment.__struct_fields__).intersection(ExperimentConfig.__struct_fields__)
    resolved = {
        "accelerator_model": env.accelerator,
        "xla_flags": " ".join(config.xla_flags) or None,
        "batch_size": batch_size,
        "requested_batch_size": config.batch_size,
        "without_fallback": list(config.without_fallback),
    }
    return Experiment(**{name: getattr(config, name) for name in names} | resolved)


def _metrics(
    times: list[float | None], iterations: int, config: ExperimentConfig, status: str, message: str | None
) -> dict[str, Any]:
    if status == "verify_only":
        return {}
    if not times:
        return {"error": "SKIP" if status == "skipped" else message or status}
    totals = [None if time is None else time * iterations for time in times]
    metrics: dict[str, Any] = {"total_time": totals, "per_iter_time": times, "load_time_s": [0.5]}
    metrics["peak_memory_bytes"] = [200 * 2**20]
    if config.dynamo:
        metrics["dynamo_compile_time_s"] = [0.7]
        metrics["graphs_number"] = [2]
    if config.xla:
        metrics["trace_per_iter_time"] = [None if time is None else time / 10 for time in times]
        metrics["xla_CompileTime_time_s"] = [0.6] + [0.0] * (len(times) - 1)
        metrics["runtime_start_s"] = [0.3]
    return metrics


def _error(status: str, phase: str, message: str | None) -> Error | None:
    if status in ("ok", "never_steady", "disturbed", "verify_only"):
        return None
    return Error(phase=phase, type=status, message=message or f"example of {status}")


def plan_for(records: Iterable[Record], extra: Iterable[ExperimentConfig] = ()) -> list[PlanEntry]:
    """Return the plan that would have led to these records, and `extra` experiments without a record."""
    entries = {}
    for record in records:
        if record.purpose == "benchmark" and record.twin_of is None:
            entry = _entry(_config_of(record), record.environment.name, _skip_reason(record))
            entries[entry.experiment_id, entry.environment] = entry
    for config in extra:
        entry = _entry(config, "default", None)
        entries.setdefault((entry.experiment_id, entry.environment), entry)
    return list(entries.values())


def _skip_reason(record: Record) -> str | None:
    return record.error.message if record.status == "skipped" and record.error else None


def _config_of(record: Record) -> ExperimentConfig:
    values = msgspec.to_builtins(record.experiment)
    values.update(suite_name=record.model.suite_name, model_name=record.model.model_name)
    values["batch_size"] = record.experiment.requested_batch_size
    values.pop("xla_flags")
    return msgspec.convert({key: value for key, value in values.items() if value is not None}, ExperimentConfig)


def _entry(config: ExperimentConfig, environment: str, skip_reason: str | None) -> PlanEntry:
    group = digest([config.suite_name, config.model_name, config.test, config.dtype, config.batch_size])
    return PlanEntry(
        experiment_id=experiment_id(config),
        config=config,
        variant=variant(config),
        backend=backend_name(config.xla, config.dynamo),
        environment=environment,
        group=group,
        skip_reason=skip_reason,
    )


def write_lines(path: Path, records: Iterable[Record]) -> None:
    """Write records as a results.jsonl, without the writer under test."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))


def write_run(
    directory: Path,
    records: Sequence[Record],
    planned: Iterable[ExperimentConfig] = (),
    *,
    timestamp: float = RUN_START,
) -> Path:
    """Write a run folder: run.json with a plan of the records and of `planned`, and results.jsonl."""
    write_lines(directory / "results.jsonl", records)
    plan = plan_for(records, planned)
    environments = {record.environment.name: record.environment for record in records}
    run_file = RunFile(
        run=records[0].run if records else Run(run_id=directory.name, label=directory.name, command="xlabench run"),
        timestamp=records[0].timestamp if records else timestamp,
        environments=list(environments.values()) or [make_environment()],
        settings={"repeat": 8},
        plan=plan,
        plan_id=digest([entry.experiment_id for entry in plan]),
    )
    (directory / "run.json").write_bytes(msgspec.json.format(msgspec.json.encode(run_file), indent=1))
    return directory


_FACTOR = {"eager": 1.0, "inductor": 0.6, "openxla+lazytensor": 0.8, "openxla+dynamo": 0.7}
_BASE_S = {"eval": 0.010, "train": 0.030}
_TROUBLE = {
    ("dcgan", "openxla+dynamo", "train"): ("oom", "warmup", "out of memory: tried to allocate 2.0 GiB"),
    ("resnet50", "openxla+lazytensor", "train"): ("timeout", "measure", "no result within 300 s"),
    ("vgg16", "openxla+dynamo", "eval"): ("skipped", "load", "vgg16 is on the skip list of openxla"),
    ("alexnet", "inductor", "train"): ("never_steady", "measure", None),
    ("resnet50", "openxla+dynamo", "eval"): ("compile_error", "compile", "unsupported: data dependent shape"),
    ("vgg16", "openxla+lazytensor", "train"): ("crashed", "measure", "killed by signal 11"),
}
_NOT_RUN = {("vgg16", "openxla+dynamo", "train"), ("vgg16", "eager", "train")}


def demo_records(run_id: str, timestamp: float, scale: float, label: str) -> list[Record]:
    """Return the records of one demonstration run; `scale` makes a run slower or faster as a whole."""
    records = []
    for (index, model), backend, test in itertools.product(enumerate(MODELS), BACKENDS, _BASE_S):
        if (model, backend, test) in _NOT_RUN:
            continue
        status, phase, message = _TROUBLE.get((model, backend, test), ("ok", "measure", None))
        base = _BASE_S[test] * (1 + index / 2) * _FACTOR[backend] * scale
        records.append(
            make_record(
                model=model,
                backend=backend,
                test=test,
                per_iter=[base * (1 + 0.01 * (step % 4)) for step in range(10)],
                status=status,
                phase=phase,
                message=message,
                run_id=run_id,
                first=base + 0.5 + index / 10,
                timestamp=timestamp,
                label=label,
                verification_code="PASS" if status == "ok" else "VERIFIER_DIDNT_RUN",
                fallback_ops=_demo_fallbacks(backend, index) if status == "ok" else (),
                graph_breaks=[GraphBreak(reason="call to print", count=2)]
                if backend == "inductor" and index % 2
                else (),
            )
        )
    return records


def _demo_fallbacks(backend: str, index: int) -> list[FallbackOp]:
    if not backend.startswith("openxla") or index % 2:
        return []
    return [
        FallbackOp(op="nonzero", klass="opt_in_lowering", calls_per_iteration=2.0, calls_compile=4, time_s=0.0004),
        FallbackOp(op="_local_scalar_dense", klass="host_read", calls_per_iteration=1.0, calls_compile=1),
        FallbackOp(op="upsample_bicubic2d", klass="no_lowering", calls_per_iteration=0.5, calls_compile=3),
    ]


def demo_runs(home: Path) -> list[Path]:
    """Write two runs of six models, four backends and two tests under `home/runs`."""
    missing = [make_config(model=model, backend=backend, test=test) for model, backend, test in sorted(_NOT_RUN)]
    days = (("11111111-aaaa", RUN_START, 1.0), ("22222222-bbbb", RUN_START + DAY, 0.9))
    return [
        write_run(home / "runs" / run_id, demo_records(run_id, start, scale, "nightly"), missing)
        for run_id, start, scale in days
    ]


def demo_store(directory: Path) -> Path:
    """Write the demonstration runs under `directory` and ingest them; returns the store folder."""
    from store.ingest import ingest

    demo_runs(directory)
    ingest([directory], directory / "store")
    return directory / "store"
