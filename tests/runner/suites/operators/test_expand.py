"""A configuration expands to the cases that PARAM makes of it, under its ids; torch is not needed."""

import subprocess
import sys

import pytest

from runner.suites.operators.document import ConfigError
from runner.suites.operators.suite import cases

RANGES = "RangeConfigIterator"
# What PARAM's own iterators give (facebookresearch/param, train/compute/python): number of cases, id of the last one.
# Its runner of batches reads `config_build_id` where its own example has `build_id`, so the last line is ours.
OF_PARAM = {
    "alex_net.json": (1, "pytorch.model.alex_net|0|0|0"),
    "aten_ops.json": (6, "aten::linear|0|0|0"),
    "llama2.json": (6, "torch.mm|5|0|0"),
    "mm.json": (8, "torch.mm|0|0|0"),
    "mm_range.json": (70, "torch.bmm|0|0|1_2"),
    "resnet.json": (1, "pytorch.model.resnet|0|0|0"),
    "simple_add.json": (1, "torch.add|0|0|0"),
    "simple_add_range.json": (33, "torch.add|1|0|1_5"),
    "simple_mm.json": (1, "torch.mm|0|0|0"),
    "simple_mm_range.json": (121, "torch.mm|0|0|0_120"),
    "batch_example.json": (1, "torch.add|1:2|2_34"),
}


def names(path):
    return [case.name for case in cases([str(path)])]


@pytest.mark.parametrize("name", OF_PARAM)
def test_a_file_of_param_expands_to_as_many_cases_as_there(shared, name):
    found = cases([str(shared / name)])
    assert (len(found), found[-1].param_id) == OF_PARAM[name]
    assert len({case.name for case in found}) == len(found)


def test_ranges_run_like_an_odometer_the_last_one_fastest(config_file, tensor):
    first = tensor([1, 2, 1], 8, __range__=["shape"])
    second = {"type": "int", "value": [3, 7, 4], "__range__": ["value"]}
    path = config_file("torch.mul", [first, second], input_iterator=RANGES)
    shown = ["torch.mul(float[1,8], 3)", "torch.mul(float[1,8], 7)", "torch.mul(float[2,8], 3)"]
    assert names(path) == [*shown, "torch.mul(float[2,8], 7)"]


def test_words_and_lists_range_over_what_is_listed(config_file, tensor):
    pair = {
        "type": "tuple",
        "value": [{"type": "int", "value": [0, 1], "__range__": ["value"]}],
        "__range__": ["value"],
    }
    kwargs = {"dim": pair, "keepdim": {"type": "bool", "value": [True, False], "__range__": ["value"]}}
    path = config_file("torch.sum", [tensor(2, 2)], kwargs=kwargs, input_iterator=RANGES)
    ends = [f"dim=({dim}), keepdim={keep})" for dim in (0, 1) for keep in (True, False)]
    assert names(path) == [f"torch.sum(float[2,2], {end}" for end in ends]


def test_list_names_values_that_are_no_range(config_file, tensor):
    kinds = tensor(4, dtype=["float", "bfloat16"], __list__=["dtype"])
    scale = {"type": "float", "value": [0.5, 2.0], "__list__": ["value"]}
    path = config_file("torch.mul", [kinds, scale], input_iterator=RANGES)
    assert names(path) == [f"torch.mul({kind}[4], {value})" for kind in ("float", "bfloat16") for value in (0.5, 2.0)]


def test_a_copy_takes_the_size_of_another_tensor(config_file, tensor):
    second = tensor(-1, 5, __copy__=[{"shape": [0, [0, 1]]}])
    path = config_file("torch.mm", [tensor(2, [3, 4, 1], __range__=["shape"]), second], input_iterator=RANGES)
    assert names(path) == ["torch.mm(float[2,3], float[3,5])", "torch.mm(float[2,4], float[4,5])"]


def test_every_build_is_given_every_input_under_params_own_ids(config_file, tensor):
    build = [{"args": [{"type": "int", "value": size}]} for size in (1, 2)]
    found = cases([str(config_file("torch.nn.Dropout", [tensor(2)], build=build))])
    # PARAM appends the number of every build to the id of the one before.
    assert [case.run_id for case in found] == ["0|0|0", "0|0|1|0"]
    assert [case.operator.build["args"][0]["value"] for case in found] == [1, 2]


def test_an_empty_build_is_a_build_without_arguments(config_file, tensor):
    (case,) = cases([str(config_file("torch.nn.ReLU", [tensor(2)], build=[]))])
    assert case.operator.build == {}
    (case,) = cases([str(config_file("torch.relu", [tensor(2)]))])
    assert case.operator.build is None


def test_the_same_call_asked_for_twice_is_two_cases(config_file, tensor):
    path = str(config_file("torch.relu", [tensor(2)]))
    assert [case.name for case in cases([path, path])] == ["torch.relu(float[2])", "torch.relu(float[2]) #2"]


def test_what_cannot_be_trained_says_why(config_file, tensor):
    in_place = cases([str(config_file("torch.add_", [tensor(2), tensor(2)]))])[0]
    assert in_place.no_backward == "it works in place, so it has no backward"
    whole = cases([str(config_file("torch.add", [tensor(2, dtype="int"), tensor(2, requires_grad=False)]))])[0]
    assert whole.no_backward == "no input of it requires a gradient: there is no backward"
    assert cases([str(config_file("torch.add", [tensor(2), tensor(2, dtype="int")]))])[0].no_backward is None


def test_an_operator_whose_package_is_missing_is_listed_with_the_reason(config_file):
    numbers = [{"type": "int", "value": value} for value in (1, 100, 8, 0)]
    built = [*numbers, {"type": "bool", "value": False}, {"type": "str", "value": "fp16"}]
    sizes = {"type": "int", "value": [2, 4, 2], "__range__": ["value"]}
    path = config_file(
        "SplitTableBatchedEmbeddingBagsCodegen",
        [sizes, {"type": "int", "value": 3}],
        build=[{"args": built}],
        build_iterator=RANGES,
        input_iterator="SplitTableBatchedEmbeddingBagsCodegenInputIterator",
        input_data_generator="SplitTableBatchedEmbeddingBagsCodegenInputDataGenerator",
    )
    found = cases([str(path)])
    assert [case.run_id for case in found] == ["0|0_0|0_0", "0|0_0|0_1"]
    assert [case.operator.input["args"][3]["value"] for case in found] == [2, 4]
    if found[0].missing is not None:
        assert "needs the package fbgemm_gpu" in found[0].missing


def test_planning_operators_imports_no_torch(config_file, tensor):
    path = config_file("torch.mm", [tensor(2, 3), tensor(3, 4)])
    code = (
        "import sys; from runner.suites.operators.suite import cases;"
        f"assert len(cases([{str(path)!r}])) == 1; assert not {{'torch', 'numpy'}} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def tensor_of(*shape, **more):
    return {"type": "tensor", "dtype": "float", "shape": list(shape)} | more


BAD = {
    "an unknown operator": (
        "torch.ad",
        [tensor_of(2)],
        "torch.ad: config 0: there is no operator 'torch.ad'; close: torch.add",
    ),
    "an unknown type": ("torch.add", [{"type": "foo"}], "config 0: input[0].args[0].type: Invalid value 'foo'"),
    "a value of another type": (
        "torch.add",
        [tensor_of(2), {"type": "int", "value": "1"}],
        "config 0: input[0].args[1].value: Expected `int | float | null`, got `str`",
    ),
    "an unknown data type": ("torch.add", [tensor_of(2, dtype="f")], "input[0].args[0].dtype: Invalid enum value 'f'"),
    "a missing value": ("torch.add", [{"type": "int"}], "input[0].args[0]: needs either value or value_range"),
    "shapes that do not fit": (
        "torch.mm",
        [tensor_of(2, 3), tensor_of(4, 5)],
        "torch.mm: config 0: input[0].args[1].shape[0]: shapes do not fit: is 4, and args[0].shape[1] is 3",
    ),
    "a range for the iterator that knows none": (
        "torch.relu",
        [tensor_of([1, 2, 1], __range__=["shape"])],
        "input[0].args[0].shape[0]: Expected `int`, got `array`",
    ),
}
BAD_MACROS = {
    "a copy against the shape": (
        [tensor_of(2, 3), tensor_of(7, 5, __copy__=[{"shape": [0, [0, 1]]}])],
        "input[0].args[1].__copy__[0]: contradicts shape[0], which is 7; the copy would make it 3",
    ),
    "a copy against another": (
        [tensor_of(2, 3), tensor_of(-1, 5, __copy__=[{"shape": [0, [0, 1]]}, {"shape": [0, [0, 0]]}])],
        "input[0].args[1].__copy__[1]: contradicts shape[0], which is 3; the copy would make it 2",
    ),
    "copies in a circle": (
        [tensor_of(-1, 3, __copy__=[{"shape": [0, [1, 0]]}]), tensor_of(-1, 5, __copy__=[{"shape": [0, [0, 0]]}])],
        "input[0].args[0].__copy__[0]: contradicts itself: shape[0] of args[1] is a placeholder",
    ),
    "a copy from nowhere": (
        [tensor_of(2, 3), tensor_of(-1, 5, __copy__=[{"shape": [0, [4, 1]]}])],
        "input[0].args[1].__copy__[0]: shape: [0, [4, 1]] names no element of two tensors",
    ),
    "an empty range": (
        [tensor_of(2, [3, 1, 1], __range__=["shape"]), tensor_of(3, 5)],
        "input[0].args[0].shape[1]: the range [3, 1, 1] is empty",
    ),
    "a range of what is not there": (
        [tensor_of(2, 3, __range__=["value"]), tensor_of(3, 5)],
        "input[0].args[0].__range__: names 'value', which the argument does not have",
    ),
    "one combination that does not fit": (
        [tensor_of(2, [3, 4, 1], __range__=["shape"]), tensor_of(3, 5)],
        "input[0] (0_1).args[1].shape[0]: shapes do not fit: is 3, and args[0].shape[1] is 4",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_configuration_names_file_operator_configuration_and_field(config_file, what):
    op, args, expected = BAD[what]
    path = config_file(op, args)
    with pytest.raises(ConfigError) as caught:
        cases([str(path)])
    assert str(caught.value).startswith(f"{path}: {op}: ")
    assert expected in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("what", BAD_MACROS)
def test_a_macro_that_makes_no_sense_names_its_field(config_file, what):
    args, expected = BAD_MACROS[what]
    with pytest.raises(ConfigError, match=r"torch\.mm: config 0: ") as caught:
        cases([str(config_file("torch.mm", args, input_iterator=RANGES))])
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"torch.mm": {"config": []}}', "torch.mm: Object missing required field `input_data_generator`"),
        ('{"torch.mm": {"input_data_generator": "x", "config": []}}', "there is no data generator 'x'"),
        ('{"torch.mm": {"input_data_generator": "x", "config": [{"build": 3}]}}', "config 0: build: Expected"),
        ("{", "it is not valid JSON"),
    ],
)
def test_a_file_of_another_form_says_what_it_lacks(text, expected):
    with pytest.raises(ConfigError, match=r"^<command line>: ") as caught:
        cases([text])
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("op", "args", "fits"),
    [
        ("torch.add", [(2, 1), (3,)], True),
        ("torch.add", [(2, 2), (3,)], False),
        ("torch.bmm", [(2, 3, 4), (2, 4, 5)], True),
        ("torch.bmm", [(2, 3, 4), (3, 4, 5)], False),
        ("torch.baddbmm", [(1, 3, 5), (2, 3, 4), (2, 4, 5)], True),
        ("torch.baddbmm", [(3, 3, 5), (2, 3, 4), (2, 4, 5)], False),
        ("torch.addmm", [(5,), (3, 4), (4, 5)], True),
        ("torch.addmm", [(4,), (3, 4), (4, 5)], False),
        ("torch.matmul", [(4,), (4,)], True),
        ("torch.matmul", [(7, 1, 3, 4), (2, 4, 5)], True),
        ("torch.matmul", [(3, 3, 4), (2, 4, 5)], False),
        ("torch.matmul", [(4,), (3, 5)], False),
        ("torch.nn.functional.linear", [(2, 4), (8, 4), (8,)], True),
        ("torch.nn.functional.linear", [(2, 4), (4, 8)], False),
    ],
)
def test_shape_rules_agree_with_torch(config_file, op, args, fits):
    torch = pytest.importorskip("torch")
    from runner.suites.operators.build import resolve

    try:
        resolve(op)(*(torch.empty(shape, device="meta") for shape in args))
        torchs = True
    except RuntimeError:
        torchs = False
    try:
        cases([str(config_file(op, [tensor_of(*shape) for shape in args]))])
        ours = True
    except ConfigError:
        ours = False
    assert (torchs, ours) == (fits, fits)
