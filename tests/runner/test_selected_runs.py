"""What selection, tables and weights do in real benchmark processes."""

import json
import os

import pytest

from tests import warm
from tests.command import ROOT, xlabench
from tests.tiers import first_of

pytestmark = pytest.mark.slow

EAGER = ("--xla", "None", "--dynamo", "None", "--accelerator", "cpu", "--repeat", "5", "--no-ingest")


def records(folder):
    lines = (folder / "results.jsonl").read_text().splitlines()
    return {(each["model"]["model_name"], each["experiment"]["test"]): each for each in map(json.loads, lines)}


@pytest.fixture(scope="module", params=first_of(["", "huggingface/GoogleFnet 1\n"]), ids=["small", "all"])
def listed(tmp_path_factory, request):
    """One run over a list of models, in bfloat16, with pretrained weights asked for.

    The model that knows no half precision is thorough: it is as large as real ones are, and the smallest of its kind.
    """
    home = tmp_path_factory.mktemp("listed")
    (home / "models.txt").write_text(f"{request.param}huggingface/BertTiny,3\ndummy/dummy=4\n")
    words = ("--models-file", home / "models.txt", "--test", "eval", "--dtype", "bfloat16", "--weights", "pretrained")
    xlabench("run", *words, *EAGER, "--home", home, "--output-dirname", home / "run")
    return records(home / "run")


def test_the_lists_order_and_batch_sizes_are_measured(listed):
    assert [model for model, _ in listed][-2:] == ["BertTiny", "dummy"]
    sizes = [(each["experiment"]["requested_batch_size"], each["experiment"]["batch_size"]) for each in listed.values()]
    assert sizes[-2:] == [(3, 3), (4, 4)]
    assert {each["status"] for each in listed.values()} == {"ok"}


def test_a_forced_dtype_is_measured_and_warned_of(listed):
    assert listed["BertTiny", "eval"]["experiment"]["dtype"] == "bfloat16"
    if ("GoogleFnet", "eval") not in listed:
        return
    fnet = listed["GoogleFnet", "eval"]
    assert fnet["experiment"]["dtype"] == "float32"
    assert [text for text in fnet["warnings"] if "in place of" in text] == [
        "float32 in place of bfloat16: GoogleFnet: its Fourier transform knows no half precision"
    ]


def test_weights_that_could_not_be_had_are_recorded_as_random(listed):
    assert {each["experiment"]["weights"] for each in listed.values()} == {"random"}
    assert any("no checkpoint belongs to a configuration" in text for text in listed["BertTiny", "eval"]["warnings"])
    assert any("suite dummy has no pretrained weights" in text for text in listed["dummy", "eval"]["warnings"])


@pytest.mark.parametrize(("flag", "status"), first_of([(("--no-skip",), "ok"), ((), "skipped")]))
def test_no_skip_measures_what_a_suite_skips(tmp_path, flag, status):
    words = ["run", "--suite-name", "faulty", "--only", "fine", "--test", "train", *EAGER, *flag]
    words += ["--processes", "1", "--home", str(tmp_path), "--output-dirname", str(tmp_path / "run")]
    environment = {**os.environ, "XLABENCH_SUITES": "tests.faults.faulty_suite:SUITE", "PYTHONPATH": str(ROOT)}
    done = warm.run("xlabench", words, env=environment, timeout=200)
    assert done.returncode == (0 if flag else 3), done.stderr
    found = records(tmp_path / "run")["fine", "train"]
    assert found["status"] == status
    assert ("--no-skip" in found["reproduce"]) == bool(flag)
    assert any("in spite of the suite's table (--no-skip)" in text for text in found["warnings"]) == bool(flag)


def test_missing_packages_are_named_before_the_run_and_are_load_errors_in_it(tmp_path):
    """The run goes on: a model that lacks a package is a record, too."""
    models = tmp_path / "checkout/torchbenchmark/models"
    for name in ("lacking", "also_lacking"):
        (models / name).mkdir(parents=True)
        (models / name / "__init__.py").write_text("import absent_package\n")
    for folder in (models, models.parent, models.parent / "util"):
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
    (models.parent / "util/env_check.py").touch()
    words = ("--suite-name", "torchbench", "--torchbench-dir", tmp_path / "checkout", "--test", "eval")
    done = xlabench("run", *words, *EAGER, "--home", tmp_path, "--output-dirname", tmp_path / "run")
    sentence, summary, *_ = done.stdout.splitlines()
    for verb in (["plan", *EAGER[:6]], ["run", "--dry-run", *EAGER]):
        assert xlabench(*verb, *words, "--home", tmp_path).stdout.splitlines()[-1] == sentence
    assert sentence == (
        "torchbench needs packages that are not installed: also_lacking: absent_package; lacking: absent_package. "
        "Install them: pip install absent_package"
    )
    assert "2 runnable" in summary
    assert {each["status"] for each in records(tmp_path / "run").values()} == {"load_error"}
