"""Operators in a request are data: bounded in number and size, called what they are, and no text names a file."""

import json

import msgspec
import pytest

from runner.jobs import check, rerun
from runner.jobs.request import RunRequest, decode, encode
from runner.plan.local_request import make_entry
from runner.suites.operators import expand
from runner.suites.operators.suite import NAME
from store.record import ExperimentConfig, UsedBy

BYTES = 1 << 20
SCHEMA = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"


def tensor(*shape, **more):
    return {"type": "tensor", "dtype": "float", "shape": list(shape)} | more


def configuration(*args, op="torch.neg", build=None, iterator=None, **info):
    info |= {"input_data_generator": "PyTorch:DefaultDataGenerator"}
    info |= {"input_iterator": iterator} if iterator else {}
    config = {"input": [{"args": list(args)}]} | ({"build": build} if build is not None else {})
    return json.dumps({op: info | {"config": [config]}})


def of_config(*texts, **selection):
    return json.dumps({"kind": "run", "selection": {"suite_name": ["operators"], "config": list(texts)} | selection})


def of_plan(text, **changes):
    """Return the request for the first case of a configuration, as `measure again` makes it."""
    [case, *_] = expand(text)
    config = ExperimentConfig(
        suite_name=NAME, model_name=case.name, test="eval", accelerator="cpu", operator=case.operator
    )
    entry = make_entry(msgspec.structs.replace(config, **changes), "default", None)
    entry = msgspec.structs.replace(entry, used_by=UsedBy(model="huggingface/BertTiny", test="eval", calls=3))
    return encode(rerun.exactly([entry], {"repeat": 3}, RunRequest()))


def test_a_configuration_is_a_request():
    request = check.read(of_config(configuration(tensor(4, 4))), BYTES, ())
    assert isinstance(request, RunRequest)
    assert decode(encode(request)) == request


def test_an_operator_of_a_plan_is_a_request_and_keeps_its_model():
    text = configuration(tensor(4), tensor(4), op="aten::add", build=[{"args": [{"type": "str", "value": SCHEMA}]}])
    request = check.read(of_plan(text), BYTES, ())
    assert request.plan.experiments[0].used_by.calls == 3
    assert request.plan.experiments[0].config["model_name"] == "aten::add.Tensor(float[4], float[4])"


@pytest.mark.parametrize("how", [{"discrete": True}, {"clear_cache": True}, {"discrete": True, "clear_cache": True}])
def test_each_way_to_time_a_call_has_its_name(how):
    [case] = expand(configuration(tensor(4)))
    timed = case.timed(**how)
    check.read(of_plan(configuration(tensor(4)), operator=timed.operator, model_name=timed.name), BYTES, ())
    with pytest.raises(check.BadRequest, match="is not the name of its operator"):
        check.read(of_plan(configuration(tensor(4)), operator=timed.operator), BYTES, ())


def test_an_operator_of_a_plan_has_no_other_name():
    for name in ("torch.abs(float[4])", "torch.neg(float[4]) #x", "../../etc", "torch.neg(float[4]) #2 #3"):
        with pytest.raises(check.BadRequest, match="is not the name of its operator"):
            check.read(of_plan(configuration(tensor(4)), model_name=name), BYTES, ())
    check.read(of_plan(configuration(tensor(4)), model_name="torch.neg(float[4]) #2"), BYTES, ())


def test_only_the_suite_has_operators():
    for changes in ({"operator": None}, {"suite_name": "dummy"}):
        with pytest.raises(check.BadRequest, match="only experiments of suite operators have an operator"):
            check.read(of_plan(configuration(tensor(4)), **changes), BYTES, ())


@pytest.mark.parametrize(
    "evil",
    [
        "/etc/passwd",
        "a\nb",
        "$(id)",
        "`id`",
        "~",
        "aten::from_file(str filename)",
        "aten::save(t item)",
        "\\",
        "x" * 5000,
    ],
)
def test_no_text_names_a_file(evil):
    text = configuration(tensor(4), {"type": "str", "value": evil})
    for request in (of_config(text), of_plan(text)):
        with pytest.raises(check.BadRequest, match="does not accept the text"):
            check.read(request, BYTES, ())


@pytest.mark.parametrize("op", ["aten::from_file", "aten::save", "aten::from_file.out"])
def test_operators_that_take_files_are_refused(op):
    with pytest.raises(check.BadRequest, match="does not support the operator"):
        check.read(of_config(configuration({"type": "str", "value": "x"}, op=op)), BYTES, ())


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ([tensor(1 << 20, 1 << 20)], "more than the 68719476736 bytes that a job allows"),
        ([tensor([1, 10**12, 1], __range__=["shape"])], "expands to 1000000000000 choices"),
        ([tensor([1, 3000, 1], __range__=["shape"])], "there are more than 2500 cases"),
        ([tensor(*[[1, 90, 1]] * 8, __range__=["shape"])], "choices; at most"),
        ([tensor(4, dtype="float4")], "float4"),
        ([{"type": "pickle", "value": "x"}], "pickle"),
    ],
)
def test_more_than_a_job_may_have_is_one_sentence(args, sentence):
    with pytest.raises(check.BadRequest, match=sentence) as error:
        check.read(of_config(configuration(*args, iterator="RangeConfigIterator")), BYTES, ())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    ["{", "{" + '"a":[' * 30_000, "/etc/passwd", '{"x": 1}', "{}" + " " * 100_000, '{"torch.nosuch": {"config": []}}'],
)
def test_what_is_no_configuration_is_one_sentence(text):
    with pytest.raises(check.BadRequest) as error:
        check.read(of_config(text), BYTES, ())
    assert "\n" not in str(error.value)


def test_the_model_of_an_operator_is_a_name():
    case = json.loads(configuration(tensor(4)))
    case["torch.neg"]["config"][0]["input"][0]["used_by"] = {"model": "<b>x</b>\n", "test": "eval", "calls": 1}
    with pytest.raises(check.BadRequest, match="in used_by is not a model"):
        check.read(of_config(json.dumps(case)), BYTES, ())
