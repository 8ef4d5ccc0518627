"""Every verdict of a verification, by real processes that really answer wrongly, fail or die."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from runner import processes
from tests import warm

pytestmark = [pytest.mark.slow, pytest.mark.faults]

ROOT = Path(__file__).resolve().parents[2]
LAZY = ("--xla", "PJRT", "--dynamo", "None")
EAGER = ("--xla", "None", "--dynamo", "None")
BRIDGE = ("--xla", "PJRT", "--dynamo", "openxla")


def run(folder: Path, names: tuple[str, ...], *words: str) -> subprocess.CompletedProcess[str]:
    """Run the faulty models of these names."""
    command = ["run", "--suite-name", "wrong", "--accelerator", "cpu", "--processes", "1", "--no-ingest"]
    command += ["--filter", f"^({'|'.join(names)})$", "--home", str(folder), "--output-dirname", str(folder / "run")]
    environment = {**os.environ, "XLABENCH_SUITES": "tests.faults.verification_suite:SUITE", "PYTHONPATH": str(ROOT)}
    return warm.run("xlabench", [*command, *words], env=environment)


def measured(folder: Path, names: tuple[str, ...], *words: str) -> dict[str, dict]:
    """Run the faulty models of these names; return records by model."""
    done = run(folder, names, *words)
    assert done.returncode == 0, done.stderr
    assert processes.tagged(json.loads((folder / "run" / "run.json").read_text())["run"]["run_id"]) == []
    lines = (folder / "run" / "results.jsonl").read_text().splitlines()
    return {line["model"]["model_name"]: line for line in map(json.loads, lines)}


@pytest.fixture(scope="module")
def lazy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """Eval on XLA, verified and not timed."""
    names = ("right", "wrong_on_xla", "wrong_where_small", "random_eager", "eager_raises", "xla_raises", "constant")
    folder = tmp_path_factory.mktemp("lazy")
    return measured(folder, (*names, "dies_on_xla"), "--verify-only", "--test", "eval", *LAZY)


@pytest.mark.parametrize(
    ("model", "code", "decided_by", "first_failed"),
    [
        ("right", "PASS", "allclose", None),
        ("wrong_on_xla", "FAIL", "rmse", "output.second"),
        ("wrong_where_small", "FAIL", "rmse", "output"),
        ("random_eager", "NONDETERMINISTIC_EAGER_RUN", "bitwise", "output"),
        ("eager_raises", "EAGER_FAILED", "exception", None),
        ("xla_raises", "EXCEPTION_RAISED", "exception", None),
        ("dies_on_xla", "VERIFIER_DIDNT_RUN", "crashed", None),
        ("constant", "VERIFIER_SKIPPED", "unjudged", None),
    ],
)
def test_verdict(lazy: dict[str, dict], model: str, code: str, decided_by: str, first_failed: str | None) -> None:
    """The peer's code stands in its own key; how it came about, beside it."""
    record, found = lazy[model], lazy[model]["verification"]
    assert (record["verification_code"], found["code"]) == (code, code)
    assert model == "right" or found["decided_by"] == decided_by
    assert found["first_failed"] == first_failed


def test_verified_only_is_neither_timed_nor_failed(lazy: dict[str, dict]) -> None:
    """Whatever the verdict: nothing was timed, so there is no time and no failure to time."""
    for record in lazy.values():
        assert (record["status"], record["metrics"], record["error"]) == ("verify_only", {}, None)


def test_a_right_answer_is_trusted_because_a_wrong_one_is_noticed(lazy: dict[str, dict]) -> None:
    """The negative control."""
    assert lazy["right"]["verification"]["control"] == "noticed"
    assert lazy["right"]["warnings"] == []


def test_a_constant_is_no_evidence(lazy: dict[str, dict]) -> None:
    """It is right, and says nothing."""
    found = lazy["constant"]["verification"]
    assert (found["judged"], found["unjudged"], found["control"]) == (0, ["output: constant"], None)


def test_small_values_are_compared_relatively(lazy: dict[str, dict]) -> None:
    """Twice 1e-9 is within any absolute tolerance of 1e-9."""
    found = lazy["wrong_where_small"]["verification"]
    assert found["max_abs_error"] < found["tolerance"] / 1000
    assert any("output: judged more strictly" in note for note in found["notes"])


def test_the_error_of_a_run_is_kept(lazy: dict[str, dict]) -> None:
    """With the phase `verify`; a death has its signal."""
    assert lazy["eager_raises"]["verification"]["error"]["message"] == "this step always fails"
    assert lazy["xla_raises"]["verification"]["error"]["phase"] == "verify"
    assert lazy["dies_on_xla"]["verification"]["error"]["type"] == "SIGSEGV"


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """Train on XLA, timed and verified."""
    names = ("wrong_gradient_on_xla", "normalised", "wrong_later")
    folder = tmp_path_factory.mktemp("timed")
    found = measured(folder, names, "--verify", "--test", "train", "--repeat", "6", *LAZY)
    assert not list(folder.rglob("*.pt"))
    return found


def test_a_wrong_gradient_is_found_beside_the_timing(timed: dict[str, dict]) -> None:
    """One record carries the times of one process and the verdict of another."""
    record = timed["wrong_gradient_on_xla"]
    assert (record["status"], record["verification_code"]) == ("ok", "FAIL")
    assert record["measurement"]["blocks"]["kind"].count("steady") == 6
    assert record["verification"]["first_failed"] == "grad.linear.weight"
    logs = {Path(artifact["path"]).name for artifact in record["artifacts"]}
    assert logs == {"attempt-1-timed.log", "attempt-1-verify.log"}


def test_a_known_deviation_is_no_failure(timed: dict[str, dict]) -> None:
    (note,) = (note for note in timed["normalised"]["verification"]["notes"] if "known" in note)
    assert timed["normalised"]["verification_code"] == "PASS"
    assert note.startswith("buffer.norm.running_var: outside the tolerance, but known: PyTorch/XLA updates")


def test_the_timed_process_itself_is_checked(timed: dict[str, dict]) -> None:
    """What goes wrong after more iterations than verification has is found in the results that it leaves."""
    record = timed["wrong_later"]
    found = record["verification"]
    assert (record["status"], record["verification_code"], found["timed_results"]) == ("ok", "FAIL", "differ")
    assert found["first_failed"] == "timed process: loss"


def test_the_times_survive_a_death_with_other_inputs_and_are_not_verified(tmp_path: Path) -> None:
    """The iteration with other inputs follows the last timed block, in the same process."""
    words = ("--verify", "--test", "eval", "--repeat", "6", *EAGER)
    record = measured(tmp_path, ("dies_on_other_inputs",), *words)["dies_on_other_inputs"]
    assert (record["status"], record["error"]) == ("ok", None)
    assert record["measurement"]["blocks"]["kind"].count("steady") == 6
    assert record["verification_code"] == "VERIFIER_DIDNT_RUN"
    assert record["verification"]["error"]["type"] == "SIGSEGV"
    assert not list(tmp_path.rglob("*.pt*"))


@pytest.mark.thorough
def test_a_verification_without_an_end_didnt_run(tmp_path: Path) -> None:
    """Its process tree is killed; the record says after how long."""
    record = measured(tmp_path, ("hangs",), "--verify-only", "--test", "eval", "--subprocess-timeout", "6", *EAGER)[
        "hangs"
    ]
    found = record["verification"]
    assert (record["verification_code"], found["decided_by"]) == ("VERIFIER_DIDNT_RUN", "timeout")
    assert "after 6 s" in found["error"]["message"]


def test_under_a_compiler(tmp_path: Path) -> None:
    """A wrong answer is found; eager in disguise is right, and noted. This compiler needs no C++."""
    names = ("wrong_when_compiled", "disguised")
    records = measured(tmp_path, names, "--verify-only", "--test", "eval", *BRIDGE)
    assert [records[name]["verification_code"] for name in names] == ["FAIL", "PASS"]
    assert any("captured no graph" in note for note in records["disguised"]["verification"]["notes"])


@pytest.mark.thorough
def test_dropout_that_is_taken_out_leaves_no_copy_behind(tmp_path: Path) -> None:
    """PyTorch/XLA's dynamo bridge mixes up a tensor, its copy and what follows them; docs/verification.md has more.

    Dropout that drops nothing from the start is such a copy when it is timed, too: there the verdict stays.
    """
    records = measured(tmp_path, ("dropped", "copied"), "--verify-only", "--test", "train", *BRIDGE)
    assert (records["dropped"]["verification_code"], records["copied"]["verification_code"]) == (
        "PASS",
        "EXCEPTION_RAISED",
    )
    assert "only for scalar outputs" in records["copied"]["verification"]["error"]["message"]


@pytest.mark.thorough
def test_a_tolerance_that_allows_everything_is_tightened(tmp_path: Path) -> None:
    """`--tolerance` goes before the tables; `--verify-iterations` counts in the record."""
    words = ("--verify-only", "--test", "eval", "--tolerance", "5", "--verify-iterations", "2", *LAZY)
    found = measured(tmp_path, ("wrong_on_xla",), *words)["wrong_on_xla"]["verification"]
    assert (found["code"], found["tolerance"], found["iterations"]) == ("FAIL", 5.0, 2)


@pytest.mark.thorough
def test_cosine_sees_a_factor(tmp_path: Path) -> None:
    """The direction alone would not."""
    name = "wrong_where_small"
    found = measured(tmp_path, (name,), "--verify-only", "--test", "eval", "--cosine", *LAZY)[name]["verification"]
    assert (found["code"], found["decided_by"]) == ("FAIL", "cosine")
    assert found["cosine"] > 0.99
