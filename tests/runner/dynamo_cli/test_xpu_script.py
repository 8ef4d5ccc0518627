"""The ten positional arguments of Intel's script become one command of the harness."""

import pytest

from runner.dynamo import cli, harness
from store.errors import UsageError
from tests.runner.dynamo_cli.command import dynamo


def translated(*words):
    return cli.translate(cli.parse(words))


def parsed(*words):
    return harness.parser("harness").parse_args(translated(*words))


def test_all_ten_arguments_are_honoured(monkeypatch):
    monkeypatch.setenv("WORKSPACE", "/space")
    words = ("huggingface", "float32", "inference", "accuracy", "xpu", "0", "static", "2", "1", "T5Small")
    assert translated(*words) == [
        "--accuracy", "--float32", "-dxpu", "--device-index=0", "--inference",
        "--backend=inductor", "--disable-cudagraphs", "-n10", "--timeout=4800", "--dashboard",
        "--total-partitions=2", "--partition-id=1", "--only=T5Small",
        "--output=/space/inductor_log/huggingface/float32/inductor_huggingface_float32_inference_xpu_accuracy.csv",
    ]  # fmt: skip


def test_without_words_its_defaults_hold():
    found = parsed()
    assert (found.accuracy, found.inference, found.devices, found.backend) == (True, True, ["xpu"], "inductor")
    assert (found.total_partitions, found.only) == (1, None)


@pytest.mark.parametrize(("name", "dtype"), [("amp_bf16", "bfloat16"), ("amp_fp16", "float16")])
def test_the_amp_label_is_the_dtype_that_runs(name, dtype):
    """Both passed plain --amp there."""
    found = parsed("timm_models", name)
    assert (found.amp, found.amp_dtype) == (True, dtype)
    assert f"/{name}/" in found.output


@pytest.mark.parametrize(
    ("mode", "inference", "freezing"),
    [
        ("inference", True, False),
        ("inference-with-freezing", True, True),
        ("inference-no-freezing", True, False),
        ("training", False, False),
    ],
)
def test_modes_and_dynamic_shapes(mode, inference, freezing):
    found = parsed("timm_models", "bfloat16", mode, "performance", "cuda", "1", "dynamic")
    assert (found.inference, found.freezing, found.bfloat16) == (inference, freezing, True)
    assert (found.dynamic_shapes, found.dynamic_batch_only, found.device_index) == (True, True, "1")


@pytest.mark.parametrize(
    ("words", "says"),
    [(["mnist"], "SUITE 'mnist' is not one of"), (["timm_models", "int8"], "DT 'int8'"), (["x"] * 11, "at most 10")],
)
def test_a_wrong_word_is_one_sentence(words, says):
    with pytest.raises(UsageError, match=says):
        cli.parse(words)


def test_a_machine_without_the_device_is_told_so(tmp_path):
    words = ("timm_models", "float32", "inference", "performance", "xpu", "0", "static", "1", "0", "test_vit2")
    for program in ("inductor_xpu_test", "scripts/inductor_xpu_test.sh", "xpu-script"):
        done = dynamo(program, *words, code=2, cwd=tmp_path, XLABENCH_HOME=tmp_path / "home")
        assert "Nothing can be measured: this machine has no xpu device" in done.stderr


@pytest.mark.slow
@pytest.mark.thorough
def test_a_real_run_writes_the_csv_where_the_script_does(tmp_path):
    words = ("timm_models", "float32", "inference", "performance", "cpu", "0", "static", "1", "0", "test_vit2")
    dynamo("xpu-script", *words, cwd=tmp_path, XLABENCH_HOME=tmp_path / "home", WORKSPACE=tmp_path)
    folder = tmp_path / "inductor_log" / "timm_models" / "float32"
    text = (folder / "inductor_timm_models_float32_inference_cpu_performance.csv").read_text()
    assert text.splitlines()[1].startswith("cpu,test_vit2,")
