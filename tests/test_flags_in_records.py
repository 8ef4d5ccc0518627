"""What a flag asks for stands in the record of a real run, and has its effect."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from store.stats.median import half_width
from tests.command import ROOT, xlabench
from tests.faults.faulty_suite import FAILS_WHERE
from tests.tiers import first_of

pytestmark = pytest.mark.slow

MODEL = ("--suite-name", "dummy", "--only", "dummy", "--accelerator", "cpu", "--repeat", "6")
BACKEND = ("--xla", "None", "--dynamo", "None")
EAGER = (*MODEL, *BACKEND)
BRIDGE = (*MODEL, "--xla", "PJRT", "--dynamo", "openxla", "--test", "eval")
INDUCTOR = (*MODEL, "--xla", "None", "--dynamo", "inductor", "--test", "eval", "--collect-dynamo-counters")


def run(home: Path, *words: str, code: int = 0) -> list[dict[str, Any]]:
    """Run to the end and return the records."""
    folder = home / "run"
    xlabench("run", *words, "--home", home, "--output-dirname", folder, "--no-ingest", code=code)
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def outputs(home: Path, record: dict[str, Any]) -> Any:
    """Load what `--save-output` has left."""
    return torch.load(home / "run" / record["outputs_file"])


def test_how_a_train_step_is_made_stands_in_its_record(tmp_path: Path) -> None:
    words = ("--test", "train", "--with-optimizer", "Adam", "--loss", "sum", "--batch-size", "3", "--threads", "1")
    words += ("--matmul-precision", "medium", "--iterations-per-run", "2", "--label", "mine", "--disable-tf32")
    words += ("--card", "0")
    [record] = run(tmp_path, *EAGER, *words)
    asked = {key: record["experiment"][key] for key in ("optimizer", "loss", "resolved_loss", "batch_size")}
    assert asked == {"optimizer": "Adam", "loss": "sum", "resolved_loss": "sum", "batch_size": 3}
    assert (record["experiment"]["matmul_precision"], record["experiment"]["disable_tf32"]) == ("medium", True)
    assert record["experiment"]["device_index"] == 0
    assert (record["environment"]["threads"], record["run"]["label"], record["iterations_per_run"]) == (1, "mine", 2)
    assert record["metrics"]["total_time"][-1] == pytest.approx(2 * record["metrics"]["per_iter_time"][-1])


def test_without_an_optimizer_whatever_the_preset_says(tmp_path: Path) -> None:
    """The peer's preset steps one; its records count exactly `--repeat` blocks."""
    [record] = run(tmp_path, *EAGER, "--test", "train", "--preset", "peer", "--no-optimizer")
    assert record["experiment"]["optimizer"] is None
    assert len(record["metrics"]["total_time"]) == 6


def test_a_seed_and_a_dtype_change_what_is_computed(tmp_path: Path) -> None:
    """Equal seeds give equal outputs; another seed does not; bfloat16 gives bfloat16."""
    half = (*EAGER, "--test", "eval", "--save-output", "--dtype", "bfloat16", "--repeat", "2")
    [first], [second] = (run(tmp_path / name, *half) for name in ("a", "b"))
    [other] = run(tmp_path / "c", *half, "--seed", "7")
    assert torch.equal(outputs(tmp_path / "a", first), outputs(tmp_path / "b", second))
    assert not torch.equal(outputs(tmp_path / "a", first), outputs(tmp_path / "c", other))
    assert outputs(tmp_path / "a", first).dtype == outputs(tmp_path / "c", other).dtype == torch.bfloat16


def steady(record: dict[str, Any]) -> int:
    count: int = record["measurement"]["blocks"]["kind"].count("steady")
    return count


@pytest.mark.parametrize("interleave", first_of(["processes", "rounds", "off"]))
def test_blocks_are_taken_until_the_time_budget_is_spent(tmp_path: Path, interleave: str) -> None:
    """No median of such short blocks is known to ± 0.001 %: each process goes on for its second, and says so."""
    words = ("--xla", "None", "--xla", "PJRT", "--dynamo", "None", "--test", "eval", "--interleave", interleave)
    words += ("--until-stable", "0.001%", "--time-budget", "1")
    records = run(tmp_path, *MODEL, *words)
    assert [record["status"] for record in records] == ["ok"] * 2
    for record in records:
        until = record["measurement"]["until"]
        assert (until["rule"], until["target"], until["budget_s"], until["stable"]) == ("stable", 1e-5, 1, False)
        assert until["spent_s"] >= 1
        assert until["half_width"] > 1e-5
        assert steady(record) > record["measurement"]["repeat"] == 6
        assert "not_stable" in [finding["code"] for finding in record["findings"]]
        assert "--until-stable 0.001%" in record["reproduce"]
        assert "--time-budget 1" in record["reproduce"]
        rounds = max(record["measurement"]["blocks"]["round"])
        assert (rounds >= 5) == (interleave == "processes")


def test_a_median_that_is_known_well_enough_ends_at_the_least_number_of_blocks(tmp_path: Path) -> None:
    """Thirty, unless other programs spread the middle third of those over twice their median."""
    words = ("--repeat", "30", "--iterations-per-run", "10", "--threads", "1", "--until-stable", "99")
    [record] = run(tmp_path, *EAGER, "--test", "eval", *words)
    until = record["measurement"]["until"]
    blocks = zip(record["metrics"]["total_time"], record["measurement"]["blocks"]["kind"], strict=True)
    width = half_width([seconds for seconds, kind in blocks if kind == "steady"][:30])
    assert width is not None
    assert steady(record) == 30 or (steady(record) > 30 and width > 0.99)
    assert (until["stable"], until["budget_s"]) == (True, 60)
    assert 0 < until["half_width"] <= 0.99
    assert 0 < until["spent_s"] < 60
    assert "not_stable" not in [finding["code"] for finding in record["findings"]]


@pytest.fixture
def suite_of_ours(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let runs find a suite of the tests."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return lambda name: monkeypatch.setenv("XLABENCH_SUITES", f"tests.{name}:SUITE")


@pytest.mark.parametrize(
    ("words", "measured"),
    first_of(
        [
            (("--filter-by-tier", "3", "--filter", "in_no"), ["drq", "in_no_tier"]),
            (("--filter-by-tier", "1", "--filter-by-tier", "2", "--exclude-by-tier", "1"), ["alexnet"]),
            (("--filter-by-tier", "2"), ["alexnet"]),
            (("--filter-by-tier", "1", "--filter-by-tier", "3"), ["GPT_3", "drq"]),
            (("--exclude-by-tier", "1", "--exclude-by-tier", "2"), ["drq", "in_no_tier"]),
        ]
    ),
)
def test_a_tier_says_which_models_have_records(
    tmp_path: Path, suite_of_ours: Any, words: tuple[str, ...], measured: list[str]
) -> None:
    """Of any suite; as in the peer's runner a tier is one more pattern beside those of `--filter`."""
    suite_of_ours("tiered_suite")
    asked = ("--suite-name", "tiered", "--accelerator", "cpu", "--test", "eval", "--repeat", "3", *BACKEND)
    records = run(tmp_path, *asked, *words)
    assert [(each["model"]["model_name"], each["status"]) for each in records] == [(name, "ok") for name in measured]


def test_what_failed_is_measured_again_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suite_of_ours: Any
) -> None:
    """What was right is not, and the failure stays in the run as an earlier attempt."""
    suite_of_ours("faults.faulty_suite")
    monkeypatch.setenv(FAILS_WHERE, str(tmp_path / "fails"))
    (tmp_path / "fails").touch()
    words = ("--suite-name", "faulty", "--only", "fine", "--only", "fails_once", "--accelerator", "cpu")
    words += ("--test", "eval", "--repeat", "3", *BACKEND)
    first = [("fine", 1, "ok"), ("fails_once", 1, "run_error")]
    for more, wanted in (((), first), (("--retry-failed",), [*first, ("fails_once", 2, "ok")])):
        found = run(tmp_path, *words, *more)
        assert [(each["model"]["model_name"], each["attempt"], each["status"]) for each in found] == wanted


def test_the_model_is_traced_on_the_xla_device_whatever_stands_before(tmp_path: Path) -> None:
    """Steady blocks run there and bring nothing; kept on the host device it would not be measured at all."""
    [kept] = run(tmp_path / "kept", *BRIDGE, "--keep-model-data-on-cuda", code=3)
    assert (kept["status"], kept["experiment"]["keep_model_data_on_cuda"]) == ("skipped", True)
    assert "keep-model-data-on-cuda was removed from PyTorch/XLA" in kept["error"]["message"]
    [moved] = run(tmp_path / "moved", *BRIDGE, "--keep-model-data-on-cuda", "--trace-on-xla")
    assert (moved["status"], moved["experiment"]["keep_model_data_on_cuda"]) == ("ok", False)
    steady = [index for index, kind in enumerate(moved["measurement"]["blocks"]["kind"]) if kind == "steady"]
    assert {moved["measurement"]["blocks"]["executions"][index] for index in steady} == {1}
    assert {moved["metrics"]["xla_TransferToDevice_number"][index] for index in steady} == {0.0}


@pytest.mark.thorough
def test_cuda_graphs_are_left_alone_where_they_are_off(tmp_path: Path) -> None:
    """As inductor itself counts: under a mode that turns them on it tries, and without CUDA skips each graph."""
    [off] = run(tmp_path / "off", *INDUCTOR, "--disable-cudagraphs")
    [on] = run(tmp_path / "on", *INDUCTOR, "--compile-mode", "reduce-overhead")
    assert (off["variant"], off["experiment"]["cudagraphs"]) == ("inductor", False)
    assert (on["variant"], on["experiment"]["compile_mode"]) == ("inductor mode=reduce-overhead", "reduce-overhead")
    skipped = [each["metrics"]["dynamo_counters"][0]["inductor"].get("cudagraph_skips") for each in (off, on)]
    assert skipped == [None, 1]
