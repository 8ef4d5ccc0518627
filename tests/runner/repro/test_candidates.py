"""Which scripts are tried for a fault: small ones first, and none that could do harm."""

import msgspec
import pytest

from runner.repro.candidates import candidates
from store import query
from store.repro.find import faults
from tests.store import factory

MINIFIED = """
import os
os.environ['TORCHINDUCTOR_CACHE_DIR'] = '/home/someone/cache'
import torch
torch._dynamo.config.debug_dir_root = '/home/someone/minify'
class Repro(torch.nn.Module):
    def forward(self, values):
        return (torch.ops.aten.relu.default(values),)
def load_args(reader):
    buf0 = reader.storage('75', 32768)
    reader.tensor(buf0, (16, 512), is_leaf=True)
mod = Repro()
if __name__ == '__main__':
    from torch._dynamo.repro.after_aot import run_repro
"""


EVIL = '"""\nimport os; os.system("x")\n\\"""'
STILL_COMPILING = "still in phase compile after 20 s (--subprocess-timeout); its process tree was killed"
FAULTS = {
    "raises": {"status": "compile_error", "phase": "compile", "message": "CppCompileError: C++ compile error"},
    "ended": {"status": "timeout", "phase": "compile", "message": STILL_COMPILING},
    "killed": {"status": "oom", "message": "the benchmark process was killed by SIGKILL"},
    "elsewhere": {"suite": "nowhere", "model": "anything", "status": "run_error", "message": "it broke elsewhere"},
    "users": {"suite": "troubled", "model": "wrong_on_xla", "status": "run_error", "message": "it broke in the middle"},
    "evil": {"status": "run_error", "message": f"it broke {EVIL}"},
    "train": {"test": "train", "verification_code": "FAIL"},
    "eval": {"verification_code": "FAIL", "backend": "openxla+dynamo"},
}
"""What a record says of each; two wrong answers of one backend would be one fault."""


@pytest.fixture(scope="module")
def faults_found(tmp_path_factory):
    """Return the faults of a run with a record of each kind, which are found in a store once."""
    from store.ingest import ingest

    folder = tmp_path_factory.mktemp("faults")
    usual = {"suite": "dummy", "model": "dummy", "backend": "inductor"}
    records = {
        name: factory.make_record(**usual | fields, requested_batch_size=number)
        for number, (name, fields) in enumerate(FAULTS.items(), start=1)
    }
    factory.write_run(folder / "run", list(records.values()))
    ingest([folder / "run"], folder / "store")
    with query.connect(query.current_snapshot(folder / "store")) as con:
        by_record = {each.record["record_id"]: each for each in faults(con)}
    return {name: by_record[record.record_id] for name, record in records.items()}


@pytest.fixture
def fault(faults_found, tmp_path):
    """Return a fault of `FAULTS`; the test may put files into its run folder."""

    def named(name):
        return msgspec.structs.replace(faults_found[name], run_folder=str(tmp_path / "run"))

    return named


def all_of(fault):
    return list(candidates(fault))


def with_record(fault, **changes):
    return msgspec.structs.replace(fault, record={**fault.record, **changes})


def test_what_raises_is_tried_as_the_whole_model(fault):
    [one] = all_of(fault("raises"))
    assert one.alone
    assert "EXPECTED = ('CppCompileError: C++ compile error',)" in one.script
    assert "DYNAMO = 'inductor'" in one.script


def test_a_graph_that_the_minifier_left_goes_first_without_the_machines_paths(fault, tmp_path):
    place = tmp_path / "run" / "artifacts" / "minify" / "repro.py"
    place.parent.mkdir(parents=True)
    place.write_text(MINIFIED)
    found = fault("raises")
    artifact = {"kind": "minify", "path": "artifacts/minify/repro.py"}
    small, whole = all_of(with_record(found, artifacts=[artifact]))
    assert "torch.ops.aten.relu.default" in small.script
    assert "someone" not in small.script
    assert "run_repro" not in small.script
    assert whole.what == "the whole model"


def test_an_artifact_outside_of_the_run_folder_is_never_read(fault, tmp_path):
    (tmp_path / "minify").mkdir()
    (tmp_path / "minify" / "repro.py").write_text(MINIFIED)
    found = fault("raises")
    artifact = {"kind": "minify", "path": "../minify/repro.py"}
    assert [each.what for each in all_of(with_record(found, artifacts=[artifact]))] == ["the whole model"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"signal": 11, "type": "SIGSEGV"}, "SIGNAL = 11"),
        ({"exit_code": 3, "type": "Exit"}, "EXIT_CODE = 3"),
        ({"type": "Timeout"}, "LIMIT_S = 20.0"),
    ],
)
def test_what_ends_its_process_runs_in_one_of_its_own(fault, error, expected):
    [one] = all_of(with_record(fault("ended"), error={**error, "phase": "compile", "message": STILL_COMPILING}))
    assert expected in one.script
    assert "subprocess.Popen" in one.script
    assert one.at_least_s == (20.0 if error["type"] == "Timeout" else 0.0)


def test_what_was_killed_for_memory_is_not_tried_here(fault):
    found = fault("killed")
    [one] = all_of(with_record(found, error={"signal": 9, "type": "SIGKILL", "phase": "measure", "message": ""}))
    assert not one.script
    assert "SIGKILL" in one.impossible


def test_a_suite_that_is_not_here_makes_no_script(fault):
    [one] = all_of(fault("elsewhere"))
    assert "There is no suite 'nowhere'" in one.impossible


def test_a_users_suite_is_built_through_xlabench_and_says_so(fault, monkeypatch):
    monkeypatch.setenv("XLABENCH_SUITES", "tests.troubled_suite:SUITE")
    [one] = all_of(fault("users"))
    assert not one.alone
    assert "It builds the model through xlabench's suite troubled" in one.script


def test_texts_of_a_record_cannot_leave_their_place(fault):
    """Names and messages come from anybody's file."""
    import ast

    [one] = all_of(with_record(fault("evil"), variant=EVIL))
    calls = [node.func.attr for node in ast.walk(ast.parse(one.script)) if isinstance(node, ast.Call)
             and isinstance(node.func, ast.Attribute)]  # fmt: skip
    assert "system" not in calls


@pytest.mark.parametrize(
    ("test", "failed", "predicts"),
    [("train", "prediction[1]", True), ("train", "grad.first.weight", False), ("eval", "output", False)],
)
def test_a_wrong_answer_is_looked_for_where_it_was_found(fault, test, failed, predicts):
    verification = {"code": "FAIL", "first_failed": failed, "decided_by": "rmse", "batch_size": 64, "iterations": 5}
    [one] = all_of(with_record(fault(test), verification=verification))
    for line in (f"PREDICTS = {predicts}", "SAMPLES = 64", "ITERATIONS = 5"):
        assert f"\n{line}\n" in one.script
