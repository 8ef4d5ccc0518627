"""Write run folders of any size whose records have the form and the variety of measured ones, about 1.7 kB each.

`python tests/performance/store_parts/records.py HOME N [--runs R] [--seed S]`
"""

import argparse
import random
import sys
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from collections.abc import Iterator

from store.identity import backend_name, digest, experiment_id, record_id, variant
from store.record import Environment, ExperimentConfig, PlanEntry, Run, RunFile

SUITES = ("torchbench", "huggingface", "timm_models")
TESTS = ("eval", "train")
BACKENDS = ((None, None, 1.0), (None, "inductor", 0.6), ("PJRT", None, 0.8), ("PJRT", "openxla", 0.7))
"""`xla`, `dynamo`, and the time of a step as a share of eager's."""
REPLICAS = (1, 1, 3)
"""Processes of a cell: every third one has three."""
STEADY_N = (6, 8, 10)
START = 1_750_000_000.0
DAY = 86_400.0
FAILURES = (
    ("skipped", "load", "skip_list", "{model} is on the skip list of {backend}"),
    ("oom", "warmup", "OutOfMemoryError", "tried to allocate {number} MiB (GPU 0; {number} MiB free)"),
    ("compile_error", "compile", "Unsupported", "data dependent shape in {model}\n  at 0x7f{number:x}, line {number}"),
    ("crashed", "measure", "signal", "killed by signal 11"),
    ("timeout", "measure", "timeout", "no result within 300 s"),
)
OPS = ("nonzero", "_local_scalar_dense", "upsample_bicubic2d", "_unique2", "masked_select", "grid_sampler_3d")


class Cell(NamedTuple):
    """A planned experiment and the parts of its records that never change."""

    entry: PlanEntry
    head: str
    base_s: float
    number: int


def write(path: Path, n: int, *, runs: int = 1, seed: int = 0) -> list[Path]:
    """Write `n` records as `runs` run folders under `path`/runs; returns the folders. Equal arguments, equal bytes."""
    folders = []
    for number in range(runs):
        count = n // runs + (number < n % runs)
        folders.append(_write_run(Path(path) / "runs" / f"run-{number:05}", count, number, seed))
    return folders


PEER_KEYS = ("model", "experiment", "repeat", "iterations_per_run", "metrics", "timestamp")


def write_as_peer(path: Path, n: int, *, runs: int = 1, seed: int = 0) -> list[Path]:
    """Write the records of `write` without what the peer's runner does not write; returns the files."""
    files = []
    for folder in write(path, n, runs=runs, seed=seed):
        (folder / "run.json").unlink()
        file = folder / "results.jsonl"
        records = map(msgspec.json.decode, file.read_bytes().splitlines())
        file.write_bytes(msgspec.json.Encoder().encode_lines({key: each[key] for key in PEER_KEYS} for each in records))
        files.append(file)
    return files


def _write_run(folder: Path, count: int, number: int, seed: int) -> Path:
    rng = random.Random(f"{seed}-{number}")
    run = Run(
        run_id=digest(["run", seed, number]), label=f"nightly-{number % 4}", command="xlabench run --label nightly"
    )
    environment = _environment(number)
    cells = _cells(count)
    folder.mkdir(parents=True, exist_ok=True)
    started = START + number * DAY
    with (folder / "results.jsonl").open("w", encoding="utf-8") as file:
        for index, line in enumerate(_lines(cells, run, environment, started, rng)):
            if index == count:
                break
            file.write(line)
    plan = [cell.entry for cell in cells]
    run_file = RunFile(
        run=run,
        timestamp=started,
        environments=[environment],
        settings={"repeat": 10, "processes": 1},
        plan=plan,
        plan_id=digest([entry.experiment_id for entry in plan]),
    )
    (folder / "run.json").write_bytes(msgspec.json.encode(run_file))
    return folder


def _environment(number: int) -> Environment:
    return Environment(
        name="default",
        python="3.11.7",
        torch=f"2.{8 + number // 20}.{number // 5 % 4}",
        torch_xla=f"2.{8 + number // 20}.0",
        host="bench-1",
        machine_id="c0ffee00c0ffee00c0ff",
        cpu="Example CPU @ 2.60GHz",
        cores=8,
        accelerator="Example CPU @ 2.60GHz",
        threads=8,
    )


_made: list[Cell] = []


def _cells(count: int) -> list[Cell]:
    """Return as many cells as `count` records need; the same ones in every run."""
    needed, records = 0, 0
    while records < count:
        records += REPLICAS[needed % len(REPLICAS)]
        needed += 1
    _made.extend(_cell(number) for number in range(len(_made), needed))
    return _made[:needed]


def _cell(number: int) -> Cell:
    group, (xla, dynamo, factor) = number // len(BACKENDS), BACKENDS[number % len(BACKENDS)]
    test, index = TESTS[group % len(TESTS)], group // len(TESTS)
    suite, model = SUITES[index % len(SUITES)], f"model_{index // len(SUITES):04}"
    config = ExperimentConfig(
        suite_name=suite, model_name=model, test=test, accelerator="cpu", xla=xla, dynamo=dynamo, batch_size=8
    )
    entry = PlanEntry(
        experiment_id=experiment_id(config),
        config=config,
        variant=variant(config),
        backend=backend_name(xla, dynamo),
        environment="default",
        group=digest([suite, model, test]),
    )
    experiment = {
        "accelerator": "cpu",
        "accelerator_model": "Example CPU @ 2.60GHz",
        "xla": xla,
        "xla_flags": None,
        "dynamo": dynamo,
        "test": test,
        "batch_size": 8,
        "requested_batch_size": 8,
        "dtype": "float32",
        "matmul_precision": "highest",
        "weights": "random",
    }
    head = _json({"model": {"suite_name": suite, "model_name": model}, "experiment": experiment})[:-1]
    return Cell(entry, head, 0.004 * (1 + index % 50) * (1 + (test == "train")) * factor, number)


def _lines(cells: list[Cell], run: Run, environment: Environment, started: float, rng: random.Random) -> Iterator[str]:
    constant = f',"timestamp":{started},"schema_version":1,"run":{_json(run)},"purpose":"benchmark","attempt":1'
    facts = _json({name: value for name, value in msgspec.to_builtins(environment).items() if value})
    for cell in cells:
        failed = rng.random() < 0.06
        for replica in range(REPLICAS[cell.number % len(REPLICAS)]):
            entry = cell.entry
            identity = record_id(run.run_id, entry.experiment_id, "default", "benchmark", replica, 1)
            body = _failure(cell, rng) if failed else _success(cell, rng, replica)
            yield (
                f'{cell.head}{constant},"record_id":"{identity}","experiment_id":"{entry.experiment_id}",'
                f'"variant":"{entry.variant}","replica":{replica},"environment":{facts},{body},'
                f'"finished_at":{started + 3 * cell.number + rng.random()},'
                f'"reproduce":"xlabench run --only {entry.config.suite_name}/{entry.config.model_name}"}}\n'
            )


def _failure(cell: Cell, rng: random.Random) -> str:
    status, phase, kind, text = rng.choice(FAILURES)
    message = text.format(model=cell.entry.config.model_name, backend=cell.entry.backend, number=rng.randrange(9999))
    error = {"phase": phase, "type": kind, "message": message}
    metrics = {"error": "SKIP" if status == "skipped" else message}
    return f'"repeat":0,"iterations_per_run":1,"metrics":{_json(metrics)},"status":"{status}","error":{_json(error)}'


def _success(cell: Cell, rng: random.Random, replica: int) -> str:
    """Return what a record says that ran; a drift over replicas, noise of about a percent, slower first blocks."""
    config = cell.entry.config
    base = cell.base_s * (1 + 0.003 * rng.gauss(0, 1))
    steady = [round(base * (1 + 0.01 * abs(rng.gauss(0, 1))), 9) for _ in range(STEADY_N[cell.number % len(STEADY_N)])]
    times = [round(base + 0.4 + rng.random(), 9), round(base * 1.3, 9), *steady]
    kinds = ["first", "warmup"] + ["steady"] * len(steady)
    metrics: dict[str, Any] = {"total_time": times, "per_iter_time": times}
    metrics["load_time_s"], metrics["peak_memory_bytes"] = [round(rng.random(), 6)], [rng.randrange(2**28, 2**32)]
    if config.dynamo:
        metrics["dynamo_compile_time_s"], metrics["graphs_number"] = (
            [round(0.3 + rng.random(), 6)],
            [1 + cell.number % 3],
        )
    if config.xla:
        metrics["xla_CompileTime_time_s"] = [round(0.3 + rng.random(), 6)] + [0.0] * (len(times) - 1)
    blocks = {"kind": kinds, "compiles": [1] + [0] * (len(times) - 1), "round": list(range(len(times)))}
    measurement = {"protocol": "xlabench", "order": "interleaved", "cache": "cold", "start": "fork", "blocks": blocks}
    return (
        f'"repeat":{len(times)},"iterations_per_run":1,"metrics":{_json(metrics)},"verification_code":"PASS",'
        f'"status":"ok","measurement":{_json(measurement)}{_extras(cell, rng, replica)}'
    )


def _extras(cell: Cell, rng: random.Random, replica: int) -> str:
    """Return fallback ops, graph breaks, graphs and warnings, which few records have; of replica 0 only."""
    if replica:
        return ""
    text, config = "", cell.entry.config
    if config.xla and cell.number % 5 == 0:
        ops = [
            {"op": OPS[(cell.number + k) % len(OPS)], "klass": "no_lowering", "calls_per_iteration": 1.0 + k}
            | {"calls_compile": 1 + k, "time_s": round(rng.random() / 1000, 7)}
            for k in range(1 + cell.number % 3)
        ]
        text += f',"fallback_ops":{_json(ops)}'
    if config.dynamo and cell.number % 7 == 0:
        text += f',"graph_breaks":{_json([{"reason": "call to print", "count": 1 + cell.number % 4}])}'
    if config.dynamo and cell.number % 3 == 0:
        histogram = {"add": 4 + cell.number % 9, "convolution": 3, "dot": 7}
        graph = {"kind": "fx", "fingerprint": digest(cell.number), "ops": 20, "op_histogram": histogram, "fusions": 3}
        text += f',"graphs":{_json([graph])}'
    if cell.number % 11 == 0:
        text += ',"warnings":["other processes used 12 % of the CPUs"]'
        text += (
            f',"findings":{_json([{"code": "busy_machine", "text": "other processes", "next_step": "measure again"}])}'
        )
    return text


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def main() -> None:
    """Write what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("n", type=int)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parsed = parser.parse_args()
    write(parsed.home, parsed.n, runs=parsed.runs, seed=parsed.seed)


if __name__ == "__main__":
    main()
