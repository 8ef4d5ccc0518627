"""Records of every kind, for properties of exports."""

import shutil
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from store.record import FallbackOp, GraphBreak
from tests.store import hud_files
from tests.store.factory import BACKENDS, make_environment, make_record, write_run
from tests.store.peer_records import peer_record, write_peer

SECONDS = st.floats(1e-6, 1e3)
NAMES = st.sampled_from(["dcgan", "resnet18", 'we"ird, näme', "a/b"])
STATUSES = st.sampled_from(["ok", "ok", "ok", "oom", "skipped", "never_steady", "verify_only", "timeout", "crashed"])
CODES = st.sampled_from(["PASS", "FAIL", "VERIFIER_SKIPPED", "VERIFIER_DIDNT_RUN", "EAGER_FAILED"])
COUNTED = {"stats": {"calls_captured": 7, "unique_graphs": 2}, "frames": {"total": 3, "ok": 2}, "graph_break": {"x": 2}}


@st.composite
def own_record(draw: st.DrawFn, run_id: str, number: int) -> Any:
    """Return a record of ours; `number` keeps the models of a run apart."""
    metrics: dict[str, Any] = {"setup_peak_memory_bytes": [draw(st.floats(1e6, 1e12))]}
    if draw(st.booleans()):
        metrics["dynamo_counters"] = [COUNTED]
    return make_record(
        model=f"{draw(NAMES)}-{number}",
        backend=draw(st.sampled_from([*BACKENDS, "aot_eager"])),
        test=draw(st.sampled_from(["eval", "train"])),
        per_iter=draw(st.lists(SECONDS, min_size=6, max_size=8)),
        status=draw(STATUSES),
        message=draw(st.text(max_size=20)),
        run_id=run_id,
        batch_size=draw(st.none() | st.integers(1, 512)),
        verification_code=draw(CODES),
        replica=draw(st.integers(0, 1)),
        attempt=draw(st.integers(1, 2)),
        purpose=draw(st.sampled_from(["benchmark", "benchmark", "calibration"])),
        metrics=metrics,
        environment=make_environment(draw(st.sampled_from(["default", "nightly"]))),
        fallback_ops=[FallbackOp(op="nonzero", klass="no_lowering", calls_per_iteration=1.0, calls_compile=2)],
        graph_breaks=[GraphBreak(reason=draw(st.text(max_size=9)), count=2)],
        randomize_input=draw(st.booleans()),
        cudagraphs=draw(st.booleans()),
    )


@st.composite
def peers_record(draw: st.DrawFn) -> dict[str, Any]:
    """Return a record of the peer's runner, failed ones and short ones, too."""
    failed = draw(st.booleans())
    return peer_record(
        draw(NAMES),
        draw(st.sampled_from([*BACKENDS])),
        draw(st.sampled_from(["eval", "train"])),
        None if failed else draw(st.lists(SECONDS, min_size=1, max_size=6)),
        batch_size=draw(st.none() | st.integers(1, 64)),
        timestamp=draw(st.sampled_from([1_699_000_000.25, 1_700_000_000.5])),
        **({"error": draw(st.sampled_from(["SKIP", "Traceback\nboom"]))} if failed else {}),
    )


NUMBER = st.floats(0.01, 1e4)


@st.composite
def hud_lines(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Return lines of a performance and an accuracy file, each model once."""
    rows, answers = [], []
    for number in range(draw(st.integers(1, 4))):
        name = f"model_{number}"
        if draw(st.booleans()):
            rows.append(hud_files.performance(name, *(draw(NUMBER) for _ in range(6))))
        else:
            rows.append(hud_files.failed(name))
        if draw(st.booleans()):
            answers.append(hud_files.accuracy(name, draw(st.sampled_from(["pass", "OOM", "timeout", "fail_accuracy"]))))
    return rows, answers


@st.composite
def everything(draw: st.DrawFn, *, least_peers: int = 0) -> dict[str, Any]:
    """Return the content of a store: two runs of ours, the peer's lines (some twice), files of the harness."""
    runs = {
        run: [draw(own_record(run, number)) for number in range(draw(st.integers(1, 5)))]
        for run in ("run-1", "../run 2")
    }
    peers = draw(st.lists(peers_record(), min_size=least_peers, max_size=4))
    return {"runs": runs, "peers": [*peers, *peers[:1]], "hud": draw(hud_lines())}


def telling() -> dict[str, Any]:
    """Return the content of a store in which every kind of each of these stands once."""
    own: list[dict[str, Any]] = [
        {"metrics": {"dynamo_counters": [COUNTED]}, "graph_breaks": [GraphBreak(reason='a "b"\nc', count=2)]},
        {"model": 'we"ird, näme', "replica": 0, "batch_size": None, "verification_code": "FAIL"},
        {"model": 'we"ird, näme', "replica": 1, "batch_size": None, "verification_code": "FAIL"},
        {"model": "a/b", "backend": "eager", "test": "train", "verification_code": "PASS"},
        {"model": "a/b", "test": "train", "verification_code": "PASS", "cudagraphs": True},
        {"model": "oom", "status": "oom", "message": "no röom\n\t", "attempt": 2},
        {"model": "left out", "status": "skipped", "message": ""},
        {"model": "looked at", "status": "verify_only", "verification_code": "EAGER_FAILED", "randomize_input": True},
        {"model": "other", "backend": "aot_eager", "environment": make_environment("nightly")},
        {"model": "noise", "purpose": "calibration"},
    ]
    falls = [FallbackOp(op="nonzero", klass="no_lowering", calls_per_iteration=1.0, calls_compile=2)]
    runs = {
        run: [make_record(run_id=run, **{"fallback_ops": falls, **facts}) for facts in each]
        for run, each in (("run-1", own), ("../run 2", own[:2]))
    }
    peers = [
        peer_record(),
        peer_record("dcgan", "eager", "train", None, error="Traceback\nboom"),
        peer_record("short", total_time=[1.0, 0.5], batch_size=None),
        peer_record(timestamp=1_700_000_000.5),
    ]
    rows = [hud_files.performance("model_0", 1.2345678, 10.0, 3.0, 0.9, 2.0, 1.0), hud_files.failed("model_1")]
    answers = [hud_files.accuracy("model_0", "pass"), hud_files.accuracy("model_1", "OOM")]
    return {"runs": runs, "peers": [*peers, *peers[:1]], "hud": (rows, answers)}


def write(folder: Path, drawn: dict[str, Any]) -> list[Path]:
    """Write it below an emptied folder; returns what to ingest."""
    shutil.rmtree(folder, ignore_errors=True)
    paths = [write_run(folder / f"run-{number}", records) for number, records in enumerate(drawn["runs"].values())]
    if drawn["peers"]:
        paths.append(write_peer(folder / "peer.jsonl", drawn["peers"]))
    return [*paths, hud_files.write(folder / "nightly", *drawn["hud"])]
