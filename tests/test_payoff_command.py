"""`xlabench run --without-fallback`: the whole way with real parts, from the flag to the number."""

from pathlib import Path

import pytest

from tests.command import index_rows, xlabench
from tests.tiers import first_of

pytestmark = pytest.mark.slow

ONE = ("--only", "dummy/dummy_nonzero", "--test", "eval", "--accelerator", "cpu", "--xla", "PJRT", "--dynamo", "None")
FEW = ("--processes", "2", "--repeat", "6", "--rounds", "3")


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A home with one run, and what the command said."""
    home = tmp_path_factory.mktemp("paid")
    done = xlabench("run", *ONE, *FEW, "--without-fallback", "nonzero", "--home", home)
    return home, done.stdout


def test_both_sides_are_measured_verified_and_compared(paid: tuple[Path, str]) -> None:
    home, said = paid
    assert "lower nonzero → dummy/dummy_nonzero eval openxla+lazytensor " in said
    assert "by PyTorch/XLA's opt-in lowering" in said
    [row] = index_rows(home, "SELECT * FROM payoffs")
    assert (row["payoff_reason"], row["verification_code"], row["replicas_ran_n"]) == (None, "PASS", 2)
    assert 0 < row["payoff_low"] <= row["payoff"] <= row["payoff_high"]
    assert (row["replaced_calls_per_iteration"], row["newly_called"]) == (1.0, [])
    records = index_rows(home, "SELECT purpose, variant, count(*) AS n FROM records GROUP BY ALL ORDER BY variant")
    assert [(each["purpose"], each["n"]) for each in records] == [("payoff", 2), ("payoff", 2)]


def test_none_of_it_is_a_result(paid: tuple[Path, str]) -> None:
    home, _ = paid
    for view in ("results", "history", "runs", "fallback_ops"):
        assert index_rows(home, f"SELECT count(*) AS n FROM {view}") == [{"n": 0}], view


@pytest.mark.thorough
@pytest.mark.parametrize("test", first_of(["eval", "train"]))
def test_a_program_that_dynamo_cannot_compile_without_the_op_is_an_outcome(tmp_path: Path, test: str) -> None:
    """PyTorch/XLA's nonzero on request has a size that its bridge cannot read: no payoff, and the words of why."""
    chosen = ("--only", "dummy/dummy_nonzero", "--test", test, "--accelerator", "cpu", "--xla", "PJRT")
    few = ("--dynamo", "openxla", "--processes", "1", "--repeat", "2", "--rounds", "1")
    done = xlabench("run", *chosen, *few, "--without-fallback", "nonzero", "--home", tmp_path)
    start = f"lower nonzero → dummy/dummy_nonzero {test} openxla+dynamo: no payoff measured: without the op: "
    assert f"{start}compile_error: " in done.stdout
    [row] = index_rows(tmp_path, "SELECT payoff, gain, payoff_reason FROM payoffs")
    assert (row["payoff"], row["gain"]) == (None, None)
    assert row["payoff_reason"].startswith("without the op: compile_error: ")


def test_an_op_that_nothing_stands_in_for_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    """Which ops torch has something for, tests/runner/test_replaceable.py asks it itself."""
    done = xlabench("run", *ONE, "--without-fallback", "_local_scalar_dense", "--home", tmp_path, code=2)
    assert "_local_scalar_dense reads a value on the host, so there is nothing to lower" in done.stderr
    assert not (tmp_path / "runs").exists()
