"""PyTorch/XLA's lazy tensors, timed as results are, pass the timing proof, which is kept."""

import io
from pathlib import Path

import pytest
from real_processes import LINEAR, NEEDS
from runner_makers import entry, facts, settings

from runner.proof import judge
from runner.schedule.examine import Proofs
from runner.schedule.groups import Group, Member
from runner.schedule.pool import Pool
from runner.schedule.progress import ProgressView
from runner.schedule.scheduler import Scheduler
from store.record import Record, Test

pytestmark = NEEDS
TRIES = 3


def proved(pool: Pool, folder: Path, test: Test) -> Record:
    """Measure lazy tensors with a proof that is taken now."""
    of = entry("openxla+lazytensor", test=test, **LINEAR)
    written: list[Record] = []
    Scheduler(
        facts={"default": facts(settings=settings(repeat=5, prove="again"))},
        pools={"default": pool},
        folder=folder,
        write=written.append,
        progress=ProgressView(stream=io.StringIO(), members=[Member(of)]),
        proofs=Proofs(folder=folder / "proofs"),
    ).measure(Group(name=of.group, entries=(of,), attempt=1))
    [record] = written
    return record


def test_lazy_tensors_have_their_outputs_when_the_clock_stops(pool: Pool, tmp_path: Path) -> None:
    """They return before their work is done; what their times say beside other programs is the long form's matter."""
    record = proved(pool, tmp_path, "eval")
    if record.status == "never_steady":
        pytest.skip("the machine is too busy for a steady state")
    assert record.proof is not None
    assert (record.proof.outputs_equal, record.proof.verdict in ("passed", "unknown")) == (True, True)


@pytest.mark.thorough
@pytest.mark.parametrize("test", ["eval", "train"])
def test_lazy_tensors_pass_as_they_are_timed(pool: Pool, tmp_path: Path, test: Test) -> None:
    """The clock stops after their work; on a busy machine it takes some tries."""
    for _ in range(TRIES):
        record = proved(pool, tmp_path, test)
        if record.proof is not None:
            assert (record.proof.outputs_equal, record.proof.verdict in ("passed", "unknown")) == (True, True)
            if record.proof.verdict == "passed":
                break
    else:
        pytest.skip("the machine is too busy for times that prove something")
    assert (record.proof.verdict, record.status, record.proof.outputs_equal) == ("passed", "ok", True), record.proof
    [file] = judge.read_proofs(tmp_path / "proofs")
    assert (file.backend, file.test, file.proof) == ("openxla+lazytensor", test, record.proof)
