"""runner.py: the product of suites, dtypes and compilers, each a command of the harness with its CSV's name."""

import csv

import pytest

from runner.dynamo import cli, harness
from tests.runner.dynamo_cli.command import dynamo
from tests.tiers import first_of


def commands(*given):
    return list(cli.commands(cli.flags_table().parser("runner", "").parse_args(given)))


def test_every_combination_is_a_command_with_their_file_name():
    """Performance before accuracy; both spellings of several values."""
    given = ("--suites", "torchbench", "--suites", "huggingface", "--training", "--dtypes", "float32", "amp")
    found = commands(*given, "--compilers", "inductor", "eager", "--device=cpu", "--output-dir=logs")
    assert len(found) == 2 * 2 * 2 * 2
    suite, words = found[0]
    assert suite == "torchbench"
    assert words[:6] == [
        "--performance", "--training", "--float32", "-dcpu",
        "--output=logs/inductor_torchbench_float32_training_cpu_performance.csv", "--inductor",
    ]  # fmt: skip
    assert "--output=logs/eager_huggingface_amp_training_cpu_accuracy.csv" in found[-1][1]
    assert "--backend=eager" in found[-1][1]


@pytest.mark.parametrize("compiler", [*cli._WORDS, *cli._COMPILERS, "openxla"])
@pytest.mark.parametrize("mode", ["--inference", "--training"])
def test_each_command_is_one_that_the_harness_takes(compiler, mode):
    extra = ("--extra-args=--nopython -n2", "--threads=2", "--batch-size=4", "--quick", "--suites=timm_models")
    for suite, words in commands(mode, "--compilers", compiler, "--devices=cpu", *extra):
        parsed = harness.parser(suite).parse_args(words)
        assert (parsed.nopython, parsed.repeat, parsed.threads, parsed.batch_size) == (True, 2, 2, 4)
        assert parsed.filter == ["^resnet", "^inception"]


def test_without_flags_their_defaults_are_taken():
    found = commands("--inference", "--device=cpu")
    assert len(found) == 2 * 3 * 4
    repeats = {harness.parser("x").parse_args(words).repeat for _, words in found if "--inductor" in words}
    assert repeats == {50}


def test_commands_are_written_and_not_run(tmp_path):
    said = dynamo("runner.py", "--print_run_commands", "--training", "--suites=dummy", "--compilers=inductor",
                  "--devices=cpu", cwd=tmp_path)  # fmt: skip
    script = tmp_path / "run_training_cpu_float32_dummy_inductor.sh"
    lines = script.read_text().splitlines()
    assert lines[2].startswith("python -m runner.dynamo dummy --performance --training --float32 -dcpu")
    assert len(lines) == 4
    assert lines[2] in said.stdout
    assert list(tmp_path.iterdir()) == [script]


def test_what_cannot_be_honoured_is_one_sentence_and_exit_2(tmp_path):
    for given, says in (
        (["--visualize_logs", "--training"], "use `xlabench report`"),
        (["--update-dashboard", "--training"], "nothing is posted"),
        (["--suites=dummy"], "one of the arguments --inference --training is required"),
    ):
        assert says in dynamo("runner", *given, code=2, cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("compilers", "device", "why"),
    first_of(
        [
            ("inductor eager", "xpu", "this machine has no xpu device"),
            ("none_such nor_this", "cpu", "dynamo has no backend"),
        ]
    ),
)
def test_a_command_that_cannot_run_does_not_stop_the_others(tmp_path, compilers, device, why):
    """To say which backends there are, dynamo has to be imported."""
    given = ("--training", "--suites=dummy", "--compilers", *compilers.split(), f"--devices={device}")
    said = dynamo("runner", *given, code=2, cwd=tmp_path, XLABENCH_HOME=tmp_path / "home").stdout
    assert said.count("python -m runner.dynamo dummy") == said.count(f"Nothing can be measured: {why}") == 4


@pytest.mark.slow
@pytest.mark.thorough
def test_a_real_product_leaves_a_file_per_combination(tmp_path):
    given = ("--inference", "--suites=dummy", "--compilers", "aot_eager", "--devices=cpu", "--output-dir=logs")
    extra = "--extra-args=-n2 --only dummy"
    dynamo("runner", *given, extra, cwd=tmp_path, XLABENCH_HOME=tmp_path / "home")
    files = {path.name: list(csv.DictReader(path.open())) for path in (tmp_path / "logs").iterdir()}
    names = [f"aot_eager_dummy_float32_inference_cpu_{testing}.csv" for testing in ("performance", "accuracy")]
    assert set(files) == set(names)
    assert float(files[names[0]][0]["speedup"]) > 0
    assert files[names[1]][0]["accuracy"] == "pass"
