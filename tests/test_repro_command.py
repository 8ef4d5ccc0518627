"""`xlabench repro`: real scripts in processes of their own, one of each kind, and what becomes of those that fail."""

import re
from pathlib import Path

import pytest

from store import query
from store.ingest import ingest
from store.repro.find import faults
from tests import warm
from tests.command import xlabench

PLANTED = Path(__file__).parent / "data" / "repro"
"""A measured run of suite dummy under inductor's own test switch: its ReLU computes something else."""


@pytest.fixture
def review(review_store, tmp_path):
    """A home over the store of tests/data/review."""
    return ("--database", review_store, "--home", tmp_path)


@pytest.fixture
def planted(tmp_path):
    """A home over the store of the planted fault."""
    ingest([PLANTED], tmp_path / "store")
    return ("--home", tmp_path)


def test_faults_are_listed_with_ids(review, review_store):
    done = xlabench("repro", *review)
    nonzero = _faults(review_store, op="nonzero")[0]
    [line] = [line for line in done.stdout.splitlines() if line.startswith(nonzero.fault_id)]
    assert "fallback op" in line
    assert str(nonzero.results_n) in line
    assert done.stdout.rstrip().endswith("20 rows")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--signature", "nothing"), "There is no fault 'nothing'"),
        (("--signature", ""), "There is no fault ''"),
        (("--op", ""), "No result has the fallback op ''"),
        (("",), "The store has no record ''"),
        (("--op", "relu"), "No result has the fallback op 'relu'"),
        (("none-such",), "The store has no record 'none-such'"),
        (("--all", "--run", "none-such"), "The store has no run 'none-such'"),
        (("--all", "--python", "/no/python"), "no such interpreter"),
        (("--all", "--time-limit", "-1"), "not a number above 0"),
        (("--output", "scripts"), "--output and --model are for scripts: pass RECORD, --op, --signature or --all"),
        (("--model", "mymodel.py"), "--output and --model are for scripts: pass RECORD, --op, --signature or --all"),
        (("--all", "--op", "nonzero"), "exclude each other; use one."),
    ],
)
def test_bad_words_are_answered_with_a_sentence(review, words, says):
    assert says in xlabench("repro", *words, *review, code=2).stderr


def test_what_takes_too_long_could_not_run_and_is_no_repro(review, review_store, tmp_path):
    found = _graph_break(review_store)
    done = xlabench("repro", "--signature", found.fault_id, "--time-limit", "0.1", *review, code=3)
    assert "could not run (" in done.stdout
    [draft] = (tmp_path / "repros").glob("*.md")
    assert "No script shows the fault" in draft.read_text()
    assert [path.suffixes for path in (tmp_path / "repros").glob("*.py")] == [[".attempt", ".py"]]


@pytest.mark.slow
def test_a_fallback_op_is_shown_by_one_call(review, tmp_path):
    """The process that looks for the call is forked, with torch_xla imported; the script is a whole interpreter."""
    done = warm.run("xlabench", ["repro", "--op", "aten::nonzero", *review], imports="torch_xla")
    assert done.returncode == 0, done.stderr
    assert "shows the fault" in done.stdout
    [script] = (tmp_path / "repros").glob("*.py")
    assert "torch.ops.aten.nonzero.default(values[0])" in script.read_text()
    [draft] = (tmp_path / "repros").glob("*.md")
    assert "counter aten::nonzero: 1\nSHOWN" in draft.read_text()
    assert re.search(r"VERSIONS: python .*, torch \d.*, torch_xla \d", draft.read_text())


@pytest.mark.thorough
@pytest.mark.slow
def test_a_graph_break_is_shown_by_a_small_function(review, review_store, tmp_path):
    done = xlabench("repro", "--signature", _graph_break(review_store).fault_id, *review)
    assert "shows the fault" in done.stdout
    [script] = (tmp_path / "repros").glob("*.py")
    assert "def call(*values)" in script.read_text()
    [draft] = (tmp_path / "repros").glob("*.md")
    assert "1 times: Dynamic shape operator" in draft.read_text()


@pytest.mark.thorough
@pytest.mark.slow
def test_a_failure_to_compile_is_shown_by_its_model(review, review_store, tmp_path, monkeypatch):
    """The model is one of a user's suite, so the script builds it through xlabench."""
    monkeypatch.setenv("XLABENCH_SUITES", "tests.troubled_suite:SUITE")
    [fault] = [
        each
        for each in _faults(review_store)
        if each.models == ["troubled/op_without_shape_function"] and each.backends == ["inductor"]
    ]
    done = xlabench("repro", "--signature", fault.fault_id, *review)
    assert "shows the fault" in done.stdout
    [draft] = (tmp_path / "repros").glob("*.md")
    assert "TorchRuntimeError: Dynamo failed to run FX node with fake tensors" in draft.read_text()


@pytest.mark.slow
@pytest.mark.thorough
def test_a_wrong_answer_is_shown_down_to_the_tensor(planted, tmp_path):
    [fault] = _faults(tmp_path / "store")
    assert fault.kind == "wrong_answer"
    done = xlabench("repro", fault.record_id, *planted)
    assert "shows the fault" in done.stdout
    found = fault.record["verification"]
    [draft] = (tmp_path / "repros").glob("*.md")
    assert f"first tensor that differs: {found['first_failed']}, tolerance {found['tolerance']:g}" in draft.read_text()


def _faults(store, **which):
    with query.connect(query.current_snapshot(store)) as con:
        return faults(con, **which)


def _graph_break(store):
    return next(each for each in _faults(store) if each.kind == "graph_break" and "aten.nonzero" in each.signature)
