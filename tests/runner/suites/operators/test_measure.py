"""Operators measured for real: every backend, forward and backward, with inner loops and the floor in the record."""

import json
from pathlib import Path

import pytest

from runner.environments.machine import detect
from runner.suites.operators.build import LEAST_BLOCK_S
from tests import warm
from tests.tiers import first_of

torch = pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[4]
BACKENDS = {"eager", "inductor", "openxla+lazytensor", "openxla+dynamo"}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Measure operators through the command; return its records."""
    home = tmp_path_factory.mktemp("home")

    def run(content, *words):
        folder = home / f"run-{len(list(home.iterdir()))}"
        given = f"--accelerator cpu --no-ingest --processes 1 --repeat 4 --rounds 2 --twins 0 --output-dirname {folder}"
        given = [*given.split(), "--home", home, "--config", json.dumps(content)]
        done = warm.run("xlabench", ["run", *given, *words])
        assert done.returncode == 0, done.stdout + done.stderr
        return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]

    return run


def config(op, args, *, build=None, kwargs=None):
    of = {"input": [{"args": args, "kwargs": kwargs or {}}]} | ({} if build is None else {"build": build})
    return {op: {"input_data_generator": "PyTorch:DefaultDataGenerator", "config": [of]}}


def tensor(*shape, **more):
    return {"type": "tensor", "dtype": "float", "shape": list(shape)} | more


def kinds(record):
    return zip(record["metrics"]["total_time"], record["measurement"]["blocks"]["kind"], strict=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "backends"), first_of([(("--xla", "PJRT", "--dynamo", "None"), {"openxla+lazytensor"}), ((), BACKENDS)])
)
def test_each_backend_measures_forward_and_backward_of_every_kind_of_operator(measured, words, backends):
    """A callable and a module; one graph per call, and no block under a millisecond but for luck.

    Under all four it is thorough: tests/runner/suites/operators/test_library.py has the programs of the compilers, and
    what is measured below is eager's.
    """
    if "torch_xla" not in detect().packages:
        pytest.skip("torch_xla is not installed")
    scalar = {"type": "int", "value_range": [2, 900]}
    content = config("torch.mul", [tensor(64, 64), scalar])
    content |= config(
        "torch.nn.Linear", [tensor(8, 16)], build=[{"args": [{"type": "int", "value": n} for n in (16, 4)]}]
    )
    records = measured(content, *words)
    assert len(records) == 2 * 2 * len(backends)
    assert {each["status"] for each in records} == {"ok"}
    for record in records:
        train, xla = record["experiment"]["test"] == "train", record["experiment"]["xla"]
        metrics = record["metrics"]
        assert metrics["empty_sync_s"][0] > 0
        assert {"forward_time", "backward_time"} & set(metrics) == (
            {"forward_time", "backward_time"} if train else set()
        )
        assert record["experiment"]["operator"]["name"] in content
        if xla:
            assert record["measurement"]["blocks"]["executions"][-1] >= 1
        loops = record["measurement"]["blocks"]["inner_loops"] or [1] * len(record["metrics"]["total_time"])
        assert loops[0] == 1
        whole = [time * count for (time, kind), count in zip(kinds(record), loops, strict=True) if kind == "steady"]
        assert max(whole) >= LEAST_BLOCK_S
    drawn = {record["model"]["model_name"]: set() for record in records}
    for record in records:
        drawn[record["model"]["model_name"]] |= {text for text in record["warnings"] if text.startswith("value_range")}
    assert sorted(len(texts) for texts in drawn.values()) == [0, 1]


@pytest.mark.slow
def test_an_in_place_method_is_measured_and_what_torch_refuses_is_a_failed_record(measured):
    content = config("torch.add_", [tensor(16, 16), tensor(16, 16)])
    content |= config("torch.cat", [{"type": "tuple", "value": [tensor(2, 3), tensor(2, 4)]}])
    content |= config("aten::no_such_op", [tensor(2)])
    records = measured(content, "--xla", "None", "--dynamo", "None")
    found = {(each["experiment"]["operator"]["name"], each["experiment"]["test"]): each for each in records}
    assert found["torch.add_", "eval"]["status"] == "ok"
    assert found["torch.add_", "train"]["status"] == "skipped"
    failed = found["torch.cat", "eval"]
    assert (failed["status"], failed["error"]["phase"]) == ("run_error", "warmup")
    assert "Sizes of tensors must match" in failed["error"]["message"]
    unknown = found["aten::no_such_op", "eval"]
    assert (unknown["status"], "has no aten::no_such_op" in unknown["error"]["message"]) == ("load_error", True)
