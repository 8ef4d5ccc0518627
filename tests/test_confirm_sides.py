"""What a confirmation would measure, from records whose plans are known; nothing is measured here."""

from pathlib import Path

import pytest

from store import query
from store.compare import compare, resolve, to_confirm
from store.errors import UsageError
from store.ingest import ingest
from tests.command import xlabench
from tests.packed import pack_results
from tests.store.factory import make_environment, make_record, write_lines, write_run
from tests.tiers import first_of
from xlabench import confirm


def run(folder: Path, run_id: str, *, environments=("default",), s=0.01, python="3.11.2", **changes) -> Path:
    """Write a run of one experiment in each environment."""
    described = [make_environment(name=name, python=python) for name in environments]
    records = [
        make_record(per_iter=[s] * 8, environment=each, run_id=run_id, label=run_id, **changes) for each in described
    ]
    return write_run(folder, records)


def confirmed_sides(tmp_path: Path, old: str, new: str):
    """Return the comparison, its suspected cells and both runs' files."""
    report = ingest([tmp_path], tmp_path / "store")
    with query.connect(report.snapshot) as con:
        found = compare(con, resolve(con, old), resolve(con, new))
        return found, to_confirm(found, "suspected"), confirm.files_of(con, found)


def test_the_environments_of_two_runs_are_called_old_and_new(tmp_path):
    """Though both runs called theirs alike: the experiment is one, in one group, twice."""
    run(tmp_path / "a", "day-1")
    run(tmp_path / "b", "day-2", s=0.02, timestamp=1.8e9)
    found, cells, files = confirmed_sides(tmp_path, "day-1", "day-2")
    names = confirm._names(found, cells)
    assert names == {("default", "default"): ("old", "new")}
    ((old, new),) = confirm._entries(files, names, cells)
    assert (old.environment, new.environment) == ("old", "new")
    assert (old.experiment_id, old.group) == (new.experiment_id, new.group)


@pytest.mark.parametrize("suffix", first_of([".gz", ".zst"]))
def test_runs_whose_results_are_packed_can_be_measured_again(tmp_path, suffix):
    for name, day, s in (("a", "day-1", 0.01), ("b", "day-2", 0.02)):
        pack_results(run(tmp_path / name, day, s=s, timestamp=1.7e9 + 1e6 * s), suffix)
    found, cells, files = confirmed_sides(tmp_path, "day-1", "day-2")
    assert len(cells) == 1
    ((old, new),) = confirm._entries(files, confirm._names(found, cells), cells)
    assert (old.environment, new.environment) == ("old", "new")


def test_several_environments_keep_their_names_behind_their_side(tmp_path):
    run(tmp_path / "a", "day-1", environments=("x", "y"))
    run(tmp_path / "b", "day-2", environments=("x", "y"), s=0.02, timestamp=1.8e9)
    found, cells, _ = confirmed_sides(tmp_path, "day-1", "day-2")
    assert confirm._names(found, cells) == {("x", "x"): ("old-x", "new-x"), ("y", "y"): ("old-y", "new-y")}


def test_backends_are_measured_in_the_environment_that_they_had(tmp_path):
    eager, inductor = make_record(per_iter=[0.01] * 8, backend="eager"), make_record(per_iter=[0.02] * 8)
    write_run(tmp_path / "a", [eager, inductor])
    found, cells, files = confirmed_sides(tmp_path, "eager", "inductor")
    names = confirm._names(found, cells)
    assert names == {("default", "default"): ("default", "default")}
    ((old, new),) = confirm._entries(files, names, cells)
    assert (old.experiment_id, new.experiment_id) == (eager.experiment_id, inductor.experiment_id)


def test_without_a_plan_nothing_can_be_measured_again(tmp_path):
    run(tmp_path / "a", "day-1")
    records = [make_record(per_iter=[0.02] * 8, run_id="day-2", label="day-2", timestamp=1.8e9)]
    write_lines(tmp_path / "b" / "results.jsonl", records)
    with pytest.raises(UsageError, match=r"Run day-2 cannot be measured again: .*run\.json does not exist"):
        confirmed_sides(tmp_path, "day-1", "day-2")


def test_an_interpreter_that_is_another_by_now_is_refused_before_anything_is_measured(tmp_path):
    """The runs do not say where theirs was; what is called default here has another version."""
    run(tmp_path / "runs" / "a", "day-1", suite="dummy", python="3.0.1")
    run(tmp_path / "runs" / "b", "day-2", suite="dummy", python="3.0.1", s=0.02, timestamp=1.8e9)
    ingest([tmp_path / "runs"], tmp_path / "store")
    done = xlabench("compare", "--home", tmp_path, "day-1", "day-2", "--confirm", code=2)
    assert "Environment old (default of run day-1): python was 3.0.1 and is now " in done.stderr
    assert "pass --env old=PYTHON" in done.stderr
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["a", "b"]


def test_models_of_torchbench_need_their_checkout(tmp_path, monkeypatch):
    """The same sentence as of a run, before any interpreter is asked."""
    monkeypatch.setenv("TORCHBENCH_DIR", str(tmp_path / "nothing"))
    run(tmp_path / "runs" / "a", "day-1")
    run(tmp_path / "runs" / "b", "day-2", s=0.02, timestamp=1.8e9)
    ingest([tmp_path / "runs"], tmp_path / "store")
    done = xlabench("compare", "--home", tmp_path, "day-1", "day-2", "--confirm", code=2)
    assert "Suite torchbench needs a checkout of github.com/pytorch/benchmark" in done.stderr
    assert done.stderr.count("\n") == 1
