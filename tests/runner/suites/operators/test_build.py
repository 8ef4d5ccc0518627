"""What a case becomes in the benchmark process: data as its arguments say, the call, its step."""

import pytest

from runner.suites import get_suite
from runner.suites.base import UnsupportedModelError
from runner.suites.operators.build import SchemaError
from runner.suites.operators.document import arguments_of
from runner.suites.operators.suite import cases

torch = pytest.importorskip("torch")


@pytest.fixture
def built(request_for, config_file):
    """Build the first case of a configuration."""

    def build(op, args, *, test="eval", **more):
        (case, *_) = cases([str(config_file(op, args, **more))])
        return get_suite("operators").build(request_for(case.name, test, operator=case.operator))

    return build


def call(workload):
    return workload.module(*workload.args, **workload.kwargs)


def test_all_types_of_arguments_are_made(config_file):
    from runner.suites.operators.generate import Draw, default

    kinds = ["uint8", "int8", "int16", "int", "long", "float", "double", "float16", "bfloat16", "bool"]
    items = [{"type": "tensor", "dtype": kind, "shape": [2, 3]} for kind in kinds]
    named = {
        "int": {"type": "int", "value": 3},
        "long": {"type": "long", "value_range": [5, 5]},
        "float": {"type": "float", "value": 0.5},
        "double": {"type": "double", "value_range": [0.25, 0.25]},
        "bool": {"type": "bool", "value": False},
        "str": {"type": "str", "value": "sum"},
        "none": {"type": "none"},
        "device": {"type": "device", "value": "cpu"},
        "dtype": {"type": "dtype", "value": "bfloat16"},
        "list": {"type": "genericlist", "value": [{"type": "int", "value": 1}]},
        "tuple": {"type": "tuple", "value": [{"type": "int", "value": 1}]},
    }
    args, kwargs = default(arguments_of({"args": items, "kwargs": named}), Draw("seed"))
    assert [str(each.dtype).removeprefix("torch.") for each in args] == [
        *("uint8", "int8", "int16", "int32", "int64", "float32", "float64", "float16", "bfloat16", "bool"),
    ]
    assert [each.requires_grad for each in args] == [False] * 5 + [True] * 4 + [False]
    assert kwargs == {
        "int": 3, "long": 5, "float": 0.5, "double": 0.25, "bool": False, "str": "sum", "none": None,
        "device": torch.device("cpu"), "dtype": torch.bfloat16, "list": [1], "tuple": (1,),
    }  # fmt: skip


def test_a_value_range_bounds_a_tensor(built, tensor):
    workload = built("torch.relu", [tensor(1000, dtype="long", value_range=[5, 7])])
    assert set(workload.args[0].tolist()) == {5, 6, 7}


def test_every_process_gets_the_same_data_and_another_seed_other(request_for, config_file, tensor, same_tensors):
    path = config_file("torch.mul", [tensor(3, 3), {"type": "int", "value_range": [0, 10**9]}])
    (case,) = cases([str(path)])
    suite = get_suite("operators")
    one, two, other = (
        suite.build(request_for(case.name, test, operator=case.operator, seed=seed))
        for test, seed in (("eval", 1), ("train", 1), ("eval", 2))
    )
    assert same_tensors(one.args[0], two.args[0])
    assert not same_tensors(one.args[0], other.args[0])
    assert one.args[1] == two.args[1]
    assert one.notes == two.notes == [f"value_range [0, 1e+09]: all backends get {one.args[1]}"]


def test_a_module_is_built_with_its_arguments(built, tensor):
    build = [
        {
            "args": [{"type": "int", "value": 4}, {"type": "int", "value": 2}],
            "kwargs": {"bias": {"type": "bool", "value": False}},
        }
    ]
    workload = built("torch.nn.Linear", [tensor(3, 4)], build=build)
    assert [tuple(each.shape) for each in workload.module.parameters()] == [(2, 4)]
    assert call(workload).shape == (3, 2)


def test_a_method_works_on_its_first_argument(built, tensor):
    workload = built("torch.clamp_", [tensor(4, 4), {"type": "int", "value": 2}, {"type": "int", "value": 3}])
    assert call(workload) is workload.args[0]
    assert workload.args[0].min() == 2


@pytest.mark.parametrize("schema", [None, "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"])
def test_an_op_of_aten_is_called_with_and_without_its_schema(built, tensor, schema):
    build = None if schema is None else [{"args": [{"type": "str", "value": schema}]}]
    further = [] if schema is None else [{"type": "int", "value": 3}]
    workload = built("aten::add", [tensor(2), tensor(2), *further], build=build)
    first, second = workload.args[:2]
    # PARAM's files give what the schema takes by name as one more argument.
    assert torch.equal(call(workload), first + (3 if further else 1) * second)


@pytest.mark.parametrize("schema", ["aten::sub.Tensor(Tensor a) -> Tensor", "aten::add.Nowhere(Tensor a) -> Tensor"])
def test_a_schema_of_something_else_is_refused(built, tensor, schema):
    with pytest.raises(SchemaError):
        built("aten::add", [tensor(2)], build=[{"args": [{"type": "str", "value": schema}]}])


def test_train_of_what_works_in_place_is_refused(built, tensor):
    with pytest.raises(UnsupportedModelError, match="no backward"):
        built("torch.add_", [tensor(2), tensor(2)], test="train")


def test_every_operator_of_the_table_is_there_in_torch():
    from runner.suites.operators import registry
    from runner.suites.operators.build import resolve

    for op in registry._ours().values():
        if op.kind == "method":
            assert callable(getattr(torch.Tensor, op.name.rpartition(".")[2])), op.name
        else:
            assert op.missing or callable(resolve(op.target)), op.name
