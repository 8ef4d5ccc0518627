"""Records as the peer's runner writes them, for tests."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

DYNAMO = {
    "eager": (None, None),
    "inductor": (None, "inductor"),
    "openxla+dynamo": ("PJRT", "openxla"),
    "openxla+lazytensor": ("PJRT", None),
}


def peer_record(
    model: str = "BERT_pytorch",
    backend: str = "inductor",
    test: str = "eval",
    total_time: Sequence[float] | None = (15.0, 0.5, 0.4, 0.25, 0.25),
    *,
    batch_size: int | None = 16,
    timestamp: float = 1_699_000_000.25,
    accelerator_model: str = "One of Example GPU, ",
    **metrics: Any,
) -> dict[str, Any]:
    """Return one record; `total_time` None leaves the times out."""
    xla, dynamo = DYNAMO[backend]
    times = {} if total_time is None else {"total_time": list(total_time), "per_iter_time": list(total_time)}
    return {
        "model": {"suite_name": "torchbench", "model_name": model},
        "experiment": {
            "experiment_name": "run_all",
            "accelerator": "cuda",
            "accelerator_model": accelerator_model,
            "xla": xla,
            "xla_flags": None,
            "dynamo": dynamo,
            "test": test,
            "batch_size": batch_size,
        },
        "repeat": len(times.get("total_time", ())),
        "iterations_per_run": 1,
        "metrics": times | metrics,
        "outputs_file": None,
        "timestamp": timestamp,
    }


def write_peer(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    """Write a peer's file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path
