"""A configuration that cannot be used is one sentence, wherever it is met: file, operator, configuration and field."""

import json

import pytest

import xlabench
from runner.param import command_line

GENERATOR = "PyTorch:DefaultDataGenerator"


def tensor_of(*shape, **more):
    return {"type": "tensor", "dtype": "float", "shape": list(shape)} | more


GOOD = [tensor_of(2, 3), tensor_of(3, 4)]
COPIED = tensor_of(7, 5, __copy__=[{"shape": [0, [0, 1]]}])
BAD = {
    "an unknown operator": ("torch.nm", GOOD, "config 0: there is no operator 'torch.nm'"),
    "a wrong type": (
        "torch.mm",
        [tensor_of(2, 3), {"type": "int", "value": "1"}],
        "config 1: input[1].args[1].value: Expected `int | float | null`, got `str`",
    ),
    "shapes that do not fit": (
        "torch.mm",
        [tensor_of(2, 3), tensor_of(4, 5)],
        "config 1: input[1] (1_0).args[1].shape[0]: shapes do not fit: is 4, and args[0].shape[1] is 3",
    ),
    "a copy that contradicts": (
        "torch.mm",
        [tensor_of(2, 3), COPIED],
        "config 1: input[1].args[1].__copy__[0]: contradicts shape[0], which is 7; the copy would make it 3",
    ),
    "a number for the arguments": ("torch.mm", 3, "config 1: input[1].args: 3 is not a list"),
}


def written(tmp_path, op, args, *, batch=False):
    """Write a file whose second configuration has a good input and then the bad one."""
    good, bad = {"args": GOOD}, {"args": args}
    info = {"input_data_generator": GENERATOR, "input_iterator": "RangeConfigIterator"}
    info["config"] = [{"input": [good]}, {"input": [good, bad]}]
    content = {"op_name": op, "op_info": info} if batch else {op: info}
    path = tmp_path / "ops.json"
    path.write_text(json.dumps(content))
    return path


WAYS = {
    "plan": lambda path: xlabench.main(["plan", "--suite-name", "operators", "--config", str(path)]),
    "run": lambda path: xlabench.main(
        ["run", "--config", str(path), "--accelerator", "cpu", "--home", str(path.parent)]
    ),
    "PARAM's command line": lambda path: command_line.main(["-c", str(path)]),
}


@pytest.mark.parametrize("batch", [False, True], ids=["operators", "batch"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", BAD)
def test_it_is_one_sentence_with_its_place_and_exit_2(tmp_path, monkeypatch, capsys, what, way, batch):
    op, args, expected = BAD[what]
    monkeypatch.setenv("XLABENCH_HOME", str(tmp_path))
    path = written(tmp_path, op, args, batch=batch)
    assert WAYS[way](path) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{path}: {op}: {expected}" in said
    assert not list(tmp_path.glob("runs/*"))


@pytest.mark.parametrize("info", [3, {"config": []}, {"input_data_generator": GENERATOR, "config": [{"build": 3}]}])
def test_a_batch_of_another_form_names_its_operator(tmp_path, capsys, info):
    path = tmp_path / "ops.json"
    path.write_text(json.dumps({"op_name": "torch.mm", "op_info": info}))
    assert WAYS["plan"](path) == 2
    assert f"{path}: torch.mm: " in capsys.readouterr().err
