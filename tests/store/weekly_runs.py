"""Two weeks of a nightly run with everything that a review has to tell, for tests."""

import json
from pathlib import Path
from typing import Any

from store.record import FallbackOp, Graph, GraphBreak, Record
from tests.store.factory import BACKENDS, DAY, RUN_START, make_environment, make_record, write_run

MODELS = ("BERT_pytorch", "alexnet", "dcgan", "resnet18", "resnet50", "vgg16")
LAST, BETWEEN, NOW = "last-run-0", "mid-run-01", "now-run-02"
OLD_GIT, NEW_GIT = "a" * 40, "b" * 40
HOSTILE = "no <b>room</b> | for 3 tensors\n`of` [size](javascript:alert(1)) 7"
_BASE_S = {"eval": 0.010, "train": 0.030}
_FACTOR = {"eager": 1.0, "inductor": 0.6, "openxla+lazytensor": 0.8, "openxla+dynamo": 0.7}
ENVIRONMENTS = {
    LAST: make_environment(torch="2.8.0", torch_xla="2.8.0", torch_xla_git=OLD_GIT, transformers="4.57.0"),
    BETWEEN: make_environment(torch="2.8.0", torch_xla="2.8.0", torch_xla_git=OLD_GIT, transformers="4.57.0"),
    NOW: make_environment(torch="2.9.1", torch_xla="2.9.0", torch_xla_git=NEW_GIT, transformers="4.57.0"),
}
STARTED = {LAST: RUN_START, BETWEEN: RUN_START + 4 * DAY, NOW: RUN_START + 7 * DAY}


def write_weeks(home: Path) -> Path:
    """Write three nightly runs; returns their folder.

    From the first to the last: resnet50 on openxla+dynamo fails, retried in vain; dcgan on openxla+lazytensor fails and
    was not retried; alexnet on openxla+dynamo passes again; vgg16 on inductor needed its retry; alexnet train on eager
    failed in between; BERT_pytorch eval on openxla+dynamo is 1.4 times as slow, resnet18 train on inductor 1.5 times as
    fast; nonzero falls back newly, item no more; resnet18 on inductor breaks its graph; vgg16 is no longer planned for
    openxla+lazytensor, train.
    """
    for run in (LAST, BETWEEN, NOW):
        write_run(home / "runs" / run, [record for each in _configurations(run) for record in _records(run, *each)])
    return home / "runs"


def _configurations(run: str) -> list[tuple[str, str, str]]:
    everything = [(model, backend, test) for model in MODELS for backend in BACKENDS for test in _BASE_S]
    gone = [("vgg16", "openxla+lazytensor", "train")] if run == NOW else []
    return [each for each in everything if each not in gone]


def _records(run: str, model: str, backend: str, test: str) -> list[Record]:
    what = (model, backend)
    retried = run == NOW and model in ("resnet50", "vgg16")  # a group is measured again as a whole
    failed = _failure(run, what, test)
    if failed and what == ("vgg16", "inductor"):
        return [*_group(run, *what, test, **failed), *_group(run, *what, test, attempt=2)]
    return _group(run, *what, test, attempts=2 if retried else 1, **failed)


def _failure(run: str, what: tuple[str, str], test: str) -> dict[str, Any]:
    if run != NOW and what == ("alexnet", "openxla+dynamo"):
        return {"status": "compile_error", "message": "unsupported: data dependent shape"}
    if (run, what, test) == (BETWEEN, ("alexnet", "eager"), "train"):
        return {"status": "run_error", "message": "no such file"}
    now = {
        ("resnet50", "openxla+dynamo"): {"status": "oom", "message": HOSTILE, "phase": "warmup"},
        ("dcgan", "openxla+lazytensor"): {"status": "crashed", "message": "killed by signal 11"},
        ("vgg16", "inductor"): {"status": "timeout", "message": "no result within 300 s"},
    }
    return now.get(what, {}) if run == NOW else {}


def _group(run: str, model: str, backend: str, test: str, *, attempts: int = 1, **changes: Any) -> list[Record]:
    first = changes.pop("attempt", None)
    return [
        make_record(
            model=model,
            backend=backend,
            test=test,
            run_id=run,
            timestamp=STARTED[run],
            environment=ENVIRONMENTS[run],
            replica=replica,
            attempt=first or attempt,
            per_iter=_times(run, model, backend, test, replica),
            verification_code="VERIFIER_DIDNT_RUN" if changes else "PASS",
            **(_found(run, model, backend) if not changes else {}),
            **changes,
        )
        for attempt in range(1, attempts + 1)
        for replica in range(3)
    ]


def _times(run: str, model: str, backend: str, test: str, replica: int) -> list[float]:
    moved = {("BERT_pytorch", "openxla+dynamo", "eval"): 1.4, ("resnet18", "inductor", "train"): 1 / 1.5}
    factor = moved.get((model, backend, test), 1.0) if run == NOW else 1.0
    base = _BASE_S[test] * (1 + MODELS.index(model) / 2) * _FACTOR[backend] * factor
    return [base * (1 + 0.002 * replica + 0.001 * (step % 4)) for step in range(10)]


def _found(run: str, model: str, backend: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if backend.startswith("openxla"):
        op = "nonzero" if run == NOW else "_local_scalar_dense"
        found["fallback_ops"] = [FallbackOp(op=op, klass="no_lowering", calls_per_iteration=1.0, calls_compile=2)]
    if (model, backend, run) == ("resnet18", "inductor", NOW):
        found["graph_breaks"] = [GraphBreak(reason="call to print", count=2)]
        found["graphs"] = [Graph(kind="fx", fingerprint="two", ops=90, op_histogram={"conv": 20}, fusions=None)]
    elif (model, backend) == ("resnet18", "inductor"):
        found["graphs"] = [Graph(kind="fx", fingerprint="one", ops=100, op_histogram={"conv": 20}, fusions=None)]
    return found


def confirming(home: Path, *, run: str = "confirm-03", backend: str = "openxla+dynamo", **changes: Any) -> Path:
    """Write the run that confirms a slower cell: both sides took turns."""
    records = []
    for name, of, factor in (("old", LAST, 1.0), ("new", NOW, 1.4)):
        facts = {key: getattr(ENVIRONMENTS[of], key) for key in ("torch", "torch_xla", "torch_xla_git", "transformers")}
        environment = make_environment(name=name, **{**facts, **changes})
        records += [
            make_record(
                model="BERT_pytorch",
                backend=backend,
                run_id=run,
                label="confirm previous latest",
                timestamp=STARTED[NOW] + 3600,
                environment=environment,
                replica=replica,
                purpose="confirmation",
                per_iter=[0.007 * factor * (1 + 0.002 * replica + 0.001 * (step % 4)) for step in range(10)],
            )
            for replica in range(3)
        ]
    for record in records:
        record.measurement.order = "interleaved"
    folder = write_run(home / "runs" / run, records)
    file = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**file, "settings": {"purpose": "confirmation"}}))
    return folder
