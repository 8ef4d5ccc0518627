"""Which experiments PyTorch/XLA's runner lists for a command line, on machines that differ."""

import json

import pytest

from runner.peer_cli import experiment_runner
from store.errors import UsageError
from tests.runner.runner_makers import machine

HERE = machine()
TPU = machine(accelerators={"cpu": "Example CPU", "tpu": "v5e"})


def parse(*words):
    return experiment_runner.parser().parse_args(["--suite-name=dummy", *words])


def listed(*words, here=HERE):
    """Return (accelerator, xla, dynamo) of what is listed, each once."""
    found = experiment_runner.listed(experiment_runner.choices(parse(*words), here), here)
    return list(dict.fromkeys((each["accelerator"], each["xla"], each["dynamo"]) for each in found))


CPU = [("cpu", None, None), ("cpu", None, "inductor"), ("cpu", "PJRT", None), ("cpu", "PJRT", "openxla")]


def test_without_a_flag_all_of_the_cpu_is_listed_and_a_tpu_where_there_is_one():
    assert listed() == CPU
    assert listed(here=TPU) == [*CPU, ("tpu", "PJRT", None), ("tpu", "PJRT", "openxla")]


def test_an_accelerator_that_is_not_here_is_listed_where_no_xla_device_is_needed():
    assert listed("--accelerator=cuda") == [("cuda", None, None), ("cuda", None, "inductor")]
    assert listed("--accelerator=tpu") == []


def test_xla_is_listed_where_torch_xla_is_installed():
    assert listed(here=machine(without=["torch_xla"])) == CPU[:2]


def test_another_backend_of_dynamo_is_listed_where_it_compiles():
    assert listed("--dynamo=aot_eager") == [("cpu", None, "aot_eager")]


def test_torch_xla2_goes_without_dynamo():
    found = experiment_runner.listed(
        experiment_runner.choices(parse("--torch-xla2=extract_jax", "--xla=PJRT"), HERE), HERE
    )
    assert {(each["dynamo"], each["torch_xla2"]) for each in found} == {(None, "extract_jax")}


def test_each_xla_flags_is_a_configuration_and_none_is_one_without():
    found = experiment_runner.listed(
        experiment_runner.choices(parse("--xla-flags=--a --b", "--xla-flags=None", "--test=eval"), HERE), HERE
    )
    assert {each["xla_flags"] for each in found} == {"--a --b", None}


def test_the_keys_stand_in_their_order():
    assert tuple(experiment_runner.listed(experiment_runner.choices(parse(), HERE), HERE)[0]) == experiment_runner.KEYS


def test_xrt_is_one_sentence():
    with pytest.raises(UsageError, match="XRT was removed from PyTorch/XLA; use PJRT"):
        experiment_runner.choices(parse("--xla=XRT"), HERE)


CONFIG = dict.fromkeys(experiment_runner.KEYS) | {
    "accelerator": "CPU",
    "test": "eval",
    "enable_functionalization": False,
}


def exactly(config, model):
    given = [f"--experiment-config={config}"] if config else []
    return experiment_runner.exactly(parse(*given, *([f"--model-config={model}"] if model else [])))


def test_a_configuration_and_a_model_give_exactly_themselves():
    given, model, batch_size = exactly(json.dumps(CONFIG | {"batch_size": 3}), '{"model_name": "dummy"}')
    assert (model, batch_size) == ("dummy", 3)
    assert given == {key: [value] for key, value in (CONFIG | {"accelerator": "cpu"}).items()}


@pytest.mark.parametrize(
    ("config", "model", "says"),
    [
        (json.dumps(CONFIG), None, "require each other"),
        (None, '{"model_name": "dummy"}', "require each other"),
        ("{", "{}", "--experiment-config is not valid JSON"),
        ("[]", "{}", "--experiment-config is not a JSON object"),
        ('{"xla": null}', "{}", "--experiment-config lacks accelerator, xla_flags"),
        (json.dumps(CONFIG), "{}", "--model-config lacks model_name"),
        (json.dumps(CONFIG | {"xla": "XRT"}), '{"model_name": "dummy"}', "XRT was removed"),
    ],
)
def test_half_a_configuration_is_one_sentence(config, model, says):
    with pytest.raises(UsageError, match=says):
        exactly(config, model)
