"""The operators of a model and of an execution trace become a configuration that builds and runs."""

from __future__ import annotations

import gzip
import json

import pytest

from runner.suites import get_suite
from runner.suites.operators import expand, traces
from runner.suites.operators.traces import Recording
from store.errors import UsageError

torch = pytest.importorskip("torch")


def run_all(content, request_for):
    """Build every case and call it; return the names."""
    suite = get_suite("operators")
    found = expand(content)
    for case in found:
        workload = suite.build(request_for(case.name, operator=case.operator))
        workload.module(*workload.args, **workload.kwargs)
    return [case.name for case in found]


@pytest.fixture
def recorded(request_for):
    """Record a model of suite dummy."""
    from runner.suites.operators.record import record

    def make(test, model="dummy"):
        return record("dummy", request_for(model, test))

    return make


def test_a_forward_gives_its_ops_with_shapes_and_counts(recorded, request_for):
    recording = recorded("eval")
    content = recording.content("dummy/dummy", "eval")
    assert {"aten::addmm", "aten::relu"} & set(content)
    assert recording.left_out["views: no time of their own"] > 0  # the weights, transposed
    used = [case.used_by for case in expand(content)]
    assert {(each.model, each.test) for each in used} == {("dummy/dummy", "eval")}
    assert sum(each.calls for each in used) == sum(recording.calls.values())
    assert len(run_all(content, request_for)) == len(recording.calls)


def test_a_train_step_gives_the_ops_of_its_backward_too(recorded, request_for):
    content = recorded("train").content("dummy/dummy", "train")
    assert any("backward" in name for name in content)
    assert len(content) > len(recorded("eval").content("dummy/dummy", "eval"))
    # They are measured as they are called: without a gradient of their own.
    assert all(case.no_backward for case in expand(content))
    run_all(content, request_for)


def test_integers_are_drawn_within_the_bounds_that_the_model_had(request_for):
    from runner.suites.operators.record import _recorder

    recording = Recording()
    weight, places = torch.rand(50, 4), torch.tensor([3, 49])
    with _recorder(recording), torch.no_grad():
        torch.nn.functional.embedding(places, weight)
        torch.nn.functional.embedding(places, weight)
    (case,) = expand(recording.content("my/model", "eval"))
    assert case.operator.input["args"][1]["value_range"] == [3, 49]
    assert case.used_by.calls == 2
    run_all(recording.content("my/model", "eval"), request_for)


def test_what_a_configuration_cannot_express_is_left_out_with_the_reason():
    from runner.suites.operators.record import _recorder

    recording = Recording()
    with _recorder(recording), torch.no_grad():
        torch.ones(2, dtype=torch.complex64) * 2
        torch.ones(1).item()
    assert recording.left_out["no tensor is returned"] == 1
    assert any("cannot express torch.complex64" in reason for reason in recording.left_out)


def test_an_infinite_value_is_the_largest_number(request_for):
    from runner.suites.operators.record import argument

    assert argument(float("-inf")) == {"type": "float", "value": -1.7976931348623157e308}


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """An execution trace of two forwards, by PyTorch's own observer."""
    path = tmp_path_factory.mktemp("trace") / "et.json"
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
    observer = torch.profiler.ExecutionTraceObserver()
    observer.register_callback(str(path))
    observer.start()
    with torch.no_grad():
        for _ in range(2):
            torch.cat([model(torch.ones(3, 8)), torch.zeros(3, 4)], 1)
    observer.stop()
    observer.unregister_callback()
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_a_trace_gives_the_outermost_calls_of_aten(trace, tmp_path, request_for, packed):
    path = trace
    if packed:
        path = tmp_path / "et.json.gz"
        path.write_bytes(gzip.compress(trace.read_bytes()))
    content = traces.read(path).content(path.name, "eval")
    names = run_all(content, request_for)
    assert "aten::linear(float[3,8] constant, float[4,8] constant, float[4] constant)" in names
    assert "aten::addmm" not in content  # it is called by linear
    calls = {case.name.partition("(")[0]: case.used_by.calls for case in expand(content)}
    assert (calls["aten::linear"], calls["aten::relu"], calls["aten::cat"]) == (2, 2, 2)


def test_labels_that_are_ignored_are_no_bound_of_the_classes(request_for):
    """-100 among them would let any negative label be drawn, which is none of a class; real negatives stay."""
    from runner.suites.operators.record import _recorder, argument

    recording = Recording()
    scores, labels = torch.rand(4, 9).log_softmax(1), torch.tensor([-100, 8, 2, -100])
    with _recorder(recording), torch.no_grad():
        torch.nn.functional.nll_loss(scores, labels)
    (case,) = expand(recording.content("my/model", "eval"))
    assert case.operator.input["args"][1]["value_range"] == [2, 8]
    run_all(recording.content("my/model", "eval"), request_for)
    assert argument(torch.tensor([-3, -1, 5]))["value_range"] == [-3, 5]
    assert argument(torch.tensor([-7, -7]))["value_range"] == [-7, -7]


def test_an_older_trace_is_read_too(tmp_path):
    """Schema 1.0.1: fields of a node in place of attributes."""
    schema = "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1) -> Tensor"
    op = {
        "id": 3, "parent": 2, "name": "aten::embedding", "op_schema": schema,
        "inputs": [[1, 2, 0, 8, 4, "cpu"], [3, 4, 0, 2, 8, "cpu"], -1],
        "input_shapes": [[4, 2], [2], []], "input_types": ["Tensor(float)", "Tensor(long int)", "Int"],
    }  # fmt: skip
    nodes = [{"id": 1, "parent": 1, "name": "root", "op_schema": ""}, {"id": 2, "parent": 1, "name": "label"}, op]
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"schema": "1.0.1", "nodes": nodes}))
    (case,) = expand(traces.read(path).content("old.json", "eval"))
    assert case.operator.input["args"][1] == {
        "type": "tensor", "dtype": "long", "shape": [2], "requires_grad": False, "value_range": [0.0, 0.0],
    }  # fmt: skip


@pytest.mark.parametrize("text", ["{", "{}", '{"nodes": 3}', "[]", pytest.param("[" * 100_000, id="deep")])
def test_what_is_no_trace_is_refused(tmp_path, text):
    path = tmp_path / "et.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="not an execution trace"):
        traces.read(path)
