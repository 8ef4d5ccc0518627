"""`xlabench plan --suite-name operators --config FILE`: one experiment per case, backend and test."""

import json
import shlex

import msgspec
import pytest

from runner.schedule.records import reproduce
from runner.settings import Settings
from store.record import PlanEntry
from tests import warm


@pytest.fixture
def planned():
    """Run `xlabench plan` and return its exit code, its JSON and what it says to stderr."""

    def plan(*words):
        done = warm.run("xlabench", ["plan", "--format", "json", *words])
        entries = json.loads(done.stdout)["plan"] if done.stdout else []
        return done.returncode, msgspec.convert(entries, list[PlanEntry]), done.stderr

    return plan


def test_each_case_is_planned_for_every_backend_and_test(planned, config_file, tensor):
    path = config_file("torch.mm", [tensor(2, 3), tensor(3, 4)])
    code, entries, _ = planned("--suite-name", "operators", "--config", path, "--accelerator", "cpu")
    assert code == 0
    backends = ("eager", "inductor", "openxla+lazytensor", "openxla+dynamo")
    assert {(each.backend, each.config.test) for each in entries} == {
        (b, t) for b in backends for t in ("eval", "train")
    }
    assert {each.config.model_name for each in entries} == {"torch.mm(float[2,3], float[3,4])"}
    assert len({each.experiment_id for each in entries}) == 8


def test_an_experiment_has_the_same_id_in_every_file_and_on_every_day(planned, config_file, tensor):
    """The id is a hash of the call: a change of it would cut every series of operators in two."""
    path = config_file("torch.relu", [tensor(2)])
    given = ("--config", path, "--accelerator", "cpu", "--xla", "None", "--dynamo", "None", "--test", "eval")
    _, (only,), _ = planned(*given)
    assert only.experiment_id == "2bb88261875cb3d68078"


@pytest.mark.parametrize(
    ("kinds", "dtype"),
    [
        (["float", "float"], "float32"),
        (["bfloat16", "long"], "bfloat16"),
        (["long", "bool"], "int64+bool"),
        (["double", "float16", "double"], "float64+float16"),
    ],
)
def test_the_data_type_of_an_experiment_is_that_of_its_call(planned, config_file, tensor, kinds, dtype):
    path = config_file("aten::where", [tensor(2, dtype=kind) for kind in kinds])
    code, entries, _ = planned("--config", path, "--accelerator", "cpu", "--dtype", "float16", "--test", "eval")
    assert code == 0
    assert {each.config.dtype for each in entries} == {dtype}
    assert all(f"/{dtype}/" in each.group for each in entries)
    assert "--dtype" not in reproduce(entries[0], Settings())


def test_what_is_given_no_tensor_has_the_data_type_that_it_makes(planned, config_file):
    made = {"args": [{"type": "int", "value": 4}], "kwargs": {"dtype": {"type": "dtype", "value": "bfloat16"}}}
    plain = {"args": [{"type": "int", "value": 4}]}
    info = {"input_data_generator": "PyTorch:DefaultDataGenerator", "config": [{"input": [made, plain]}]}
    _, entries, _ = planned("--config", json.dumps({"aten::arange": info}), "--accelerator", "cpu", "--test", "eval")
    assert [each.config.dtype for each in entries if each.backend == "eager"] == ["bfloat16", "float32"]


def test_train_is_skipped_where_there_is_no_backward(planned, config_file, tensor):
    path = config_file("torch.add_", [tensor(2), tensor(2)])
    _, entries, _ = planned("--config", path, "--accelerator", "cpu")
    reasons = {each.config.test: each.skip_reason for each in entries if each.backend == "eager"}
    assert reasons == {"eval": None, "train": "it works in place, so it has no backward"}


def test_a_bad_configuration_is_one_sentence_and_exit_2(planned, config_file, tensor):
    path = config_file("torch.mm", [tensor(2, 3), tensor(4, 5)])
    code, _, said = planned("--suite-name", "operators", "--config", path)
    assert (code, said.count("\n")) == (2, 1)
    assert f"xlabench: {path}: torch.mm: config 0: input[0].args[1].shape[0]: shapes do not fit" in said


@pytest.mark.parametrize("words", [["--suite-name", "operators"], ["--suite-name", "dummy", "--config", "{}"]])
def test_suite_and_configuration_belong_together(planned, words):
    code, _, said = planned(*words)
    assert (code, said.count("\n")) == (2, 1)
    assert "require each other" in said


def test_the_command_of_a_record_plans_the_same_experiment_without_the_file(planned, config_file, tensor):
    """The second of two equal calls, too."""
    path = config_file("torch.mm", [tensor(2, 3), tensor(3, 4)], times=2)
    _, entries, _ = planned("--config", path, "--accelerator", "cpu", "--test", "train")
    entries = [each for each in entries if each.backend == "eager"]
    path.unlink()
    for entry in entries:
        words = shlex.split(reproduce(entry, Settings()))[2:]
        selection = words[: words.index("--repeat")]
        _, (again,), _ = planned(*selection)
        assert again.experiment_id == entry.experiment_id
    assert len(entries) == 2


def test_call_by_call_is_a_series_of_its_own_and_comes_back(planned, config_file, tensor):
    path = config_file("torch.relu", [tensor(2)], times=2)
    eager = ("--accelerator", "cpu", "--xla", "None", "--dynamo", "None", "--test", "eval")
    _, entries, _ = planned("--config", path, "--exec-mode", "discrete", *eager)
    assert [each.config.model_name for each in entries] == [
        "torch.relu(float[2]) discrete",
        "torch.relu(float[2]) #2 discrete",
    ]
    words = shlex.split(reproduce(entries[1], Settings()))[2:]
    _, (again,), _ = planned(*words[: words.index("--repeat")])
    assert again.experiment_id == entries[1].experiment_id


def test_only_a_cuda_device_has_a_cache_to_clear(planned, config_file, tensor):
    _, entries, _ = planned(
        "--config", config_file("torch.relu", [tensor(2)]), "--accelerator", "cpu", "--cuda-l2-cache", "off"
    )
    assert {each.skip_reason for each in entries} == {"cuda-l2-cache off requires a CUDA device, not cpu"}
