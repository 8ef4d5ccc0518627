"""Measurements on an NVIDIA GPU, by the command. All are skipped where there is none."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from runner.accelerators import ACCELERATORS
from tests.command import ROOT, xlabench

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not ACCELERATORS["cuda"].models(), reason="nvidia-smi names no GPU"),
]

TENSOR = {"type": "tensor", "dtype": "float", "shape": [1024, 1024]}
MATRIX_PRODUCT = {
    "torch.mm": {
        "input_data_generator": "PyTorch:DefaultDataGenerator",
        "config": [{"input": [{"args": [TENSOR, TENSOR], "kwargs": {}}]}],
    }
}
TOO_BIG = """
import torch


class TooBig(torch.nn.Module):
    def forward(self, values):
        return torch.empty(10**12, device=values.device).sum() + values.sum()


def example_inputs():
    return (torch.rand(8),)
"""
BUSY = """
import torch

values = torch.rand(4096, 4096, device="cuda")
print("ready", flush=True)
while True:
    for _ in range(20):
        values @ values
    torch.cuda.synchronize()
"""


def run(home: Path, *words: str | Path, code: int = 0) -> list[dict[str, Any]]:
    """Measure on the GPU; return the records."""
    folder = home / "runs" / "one"
    place = ("--home", home, "--output-dirname", folder, "--no-wait-quiet", "--repeat", "6")
    xlabench("run", "--accelerator", "cuda", *place, *words, code=code)
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def test_compilers_are_measured_and_give_what_eager_gives(tmp_path: Path) -> None:
    """By forked processes, which CUDA is kept from where anything asked for it before."""
    backends = [word for name in ("eager", "inductor", "cudagraphs") for word in ("--backend", name)]
    records = run(tmp_path, "--only", "dummy/dummy", *backends, "--verify")
    said = {(record["variant"], record["experiment"]["test"]): record for record in records}
    assert len(said) == 6
    for record in said.values():
        assert (record["status"], record["verification_code"]) == ("ok", "PASS"), record["error"]
        assert record["measurement"]["start"] == "fork"
        assert record["experiment"]["accelerator_model"] == ACCELERATORS["cuda"].models()[0]
        assert record["metrics"]["peak_memory_bytes"][0] > 0


@pytest.mark.parametrize("how", [("--exec-mode", "continuous_events"), ("--cuda-l2-cache", "off")])
def test_operators_are_timed_by_events_and_without_what_the_cache_holds(tmp_path: Path, how: tuple[str, str]) -> None:
    words = ("--suite-name", "operators", "--config", json.dumps(MATRIX_PRODUCT), "--backend", "eager", *how)
    records = run(tmp_path, *words, "--test", "eval")
    assert [record["status"] for record in records] == ["ok"]
    assert all(1e-6 < seconds < 1e-2 for seconds in records[0]["metrics"]["per_iter_time"][-6:])


def test_profiles_have_device_time_and_the_allocator_its_history(tmp_path: Path) -> None:
    profiles = ("--dump-pytorch-profiles", "--profile-cuda-cpu", "--profile-cuda-cpu-individual-ops")
    words = ("--only", "dummy/dummy", "--backend", "inductor", "--test", "eval", *profiles, "--memory-snapshot")
    [record] = run(tmp_path, *words)
    metrics = record["metrics"]
    assert all(0 < seconds < 0.1 for seconds in metrics["per_iter_cuda_time_s"])
    assert metrics["inductor_ops"][0]["aten::mm"]["self_cuda_time_s"] > 0
    kinds = {artifact["kind"] for artifact in record["artifacts"] if artifact["bytes"]}
    assert {"chrome_trace", "memory_snapshot"} <= kinds


def test_a_full_device_is_said_to_be_out_of_memory(tmp_path: Path) -> None:
    (tmp_path / "toobig.py").write_text(TOO_BIG)
    words = (tmp_path / "toobig.py", "--backend", "eager", "--test", "eval", "--no-verify")
    assert {record["status"] for record in run(tmp_path, *words, code=3)} == {"oom"}


def test_inductor_with_the_graphs_of_the_huds_preset_is_the_baseline(tmp_path: Path) -> None:
    backends = ("--backend", "eager", "--backend", "inductor")
    records = run(tmp_path, "--only", "huggingface/BertTiny", "--preset", "hud", "--test", "eval", *backends)
    assert {record["variant"] for record in records} == {"eager", "inductor cudagraphs"}
    report = json.loads(xlabench("report", "--home", tmp_path, "--format", "json").stdout)
    assert "Speedup over inductor" in report["title"]
    assert not any("was not measured" in sentence for sentence in report["answer"])


def test_a_gpu_that_another_program_uses_gives_no_result(tmp_path: Path) -> None:
    """On an H200 in full use by another program, a model took 2.3 times as long; most turns passed as quiet."""
    pytest.importorskip("pynvml", reason="who else uses a GPU is known with the extra `cuda`")
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, cwd=ROOT) as busy:
        try:
            assert busy.stdout is not None
            assert busy.stdout.readline() == b"ready\n"
            time.sleep(2)  # NVML's samples come a second late
            [record] = run(tmp_path, "--only", "dummy/dummy", "--backend", "eager", "--test", "eval", code=3)
        finally:
            busy.send_signal(signal.SIGKILL)
    assert record["status"] == "disturbed"
    assert "other processes on the GPU" in record["error"]["message"]
