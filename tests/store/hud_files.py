"""Files as the TorchDynamo harness writes them, for tests."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PERFORMANCE = (
    "dev,name,batch_size,speedup,abs_latency,compilation_latency,compression_ratio,eager_peak_mem,dynamo_peak_mem,"
    "calls_captured,unique_graphs,fallbacks_to_eager,graph_breaks,unique_graph_breaks,autograd_captures,"
    "autograd_compiles,cudagraph_skips"
)
ACCURACY = "dev,name,batch_size,accuracy," + PERFORMANCE.partition("dynamo_peak_mem,")[2] + ",compilation_latency"
FAILED = "0,0.000000,0.000000" + ",0" * 12


def performance(model: str, speedup: float, latency: float, *further: float, batch_size: int = 8) -> str:
    """Return a line; `further` are compilation, compression and the two peaks, 0 where left out."""
    numbers = [speedup, latency, *further, *[0.0] * (4 - len(further))]
    return f"cuda,{model},{batch_size}," + ",".join(f"{number:.6f}" for number in numbers) + ",100,2,0,1,1,0,0,0"


def failed(model: str) -> str:
    """Return the line of a performance run that failed."""
    return f"cuda,{model},{FAILED}"


def accuracy(model: str, status: str, batch_size: int = 4) -> str:
    """Return a line of an accuracy run."""
    return f"cuda,{model},{batch_size},{status},100,2,0,1,1,0,0,0,12.500000"


def write(
    folder: Path,
    rows: Iterable[str] = (),
    answers: Iterable[str] | Mapping[str, str] = (),
    *,
    backend: str = "inductor",
    suite: str = "torchbench",
    dtype: str = "amp",
    mode: str = "training",
    device: str = "cuda",
) -> Path:
    """Write the performance and the accuracy file of one backend; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    answers = [accuracy(*item) for item in answers.items()] if isinstance(answers, dict) else list(answers)
    stem = f"{backend}_{suite}_{dtype}_{mode}_{device}"
    for kind, header, lines in (("performance", PERFORMANCE, list(rows)), ("accuracy", ACCURACY, answers)):
        if lines:
            (folder / f"{stem}_{kind}.csv").write_text("\n".join([header, *lines]) + "\n")
    return folder


def metric(model: str, name: str, value: float | str, **changes: Any) -> dict[str, Any]:
    """Return an object of the JSON format, as the harness writes it."""
    values = {"benchmark_values": [value]}
    return {
        "benchmark": {
            "name": "TorchInductor",
            "mode": changes.get("mode", "training"),
            "dtype": "amp",
            "extra_info": {"device": "cuda", "quantization": None, "batch_size": changes.get("batch_size", 8)},
        },
        "model": {
            "name": model,
            "type": "OSS model",
            "backend": changes.get("backend", "inductor"),
            "origins": ["torchbench"],
        },
        "metric": {"name": name, **({"extra_info": values} if isinstance(value, str) else values)},
        **changes.get("further", {}),
    }


def write_json(path: Path, objects: Iterable[dict[str, Any]]) -> Path:
    """Write objects one a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in objects))
    return path
