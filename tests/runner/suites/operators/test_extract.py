"""`--ops-of`: a model's operators and the model in one plan, and what is left in the run's folder."""

import json

import pytest

from tests import warm

torch = pytest.importorskip("torch")


def xlabench(*words):
    return warm.run("xlabench", words)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_models_operators_and_the_model_are_one_run(tmp_path):
    """The configuration stands in the folder, and the sum of the operators is told beside the model's time."""
    given = (
        "--ops-of dummy/dummy --accelerator cpu --xla None --dynamo None --processes 1 --repeat 3 --rounds 1 --twins 0"
    )
    folder = tmp_path / "run"
    done = xlabench("run", *given.split(), "--home", tmp_path, "--output-dirname", folder, "--no-ingest")
    assert done.returncode == 0, done.stdout + done.stderr
    records = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    assert {(each["model"]["suite_name"], each["experiment"]["test"], each["status"]) for each in records} == {
        ("operators", "eval", "ok"),
        ("dummy", "eval", "ok"),
    }
    used = [each["used_by"] for each in records if each["model"]["suite_name"] == "operators"]
    assert {each["model"] for each in used} == {"dummy/dummy"}
    assert "dummy/dummy eval: " in done.stdout
    assert f"eager: sum of {len(used)} operators" in done.stdout
    assert "of it" in done.stdout
    again = xlabench("plan", "--config", folder / "operators.json", "--format", "json", "--accelerator", "cpu")
    entries = json.loads(again.stdout)["plan"]
    names = {each["model"]["model_name"] for each in records if each["model"]["suite_name"] == "operators"}
    assert {entry["config"]["model_name"] for entry in entries} == names
    assert {entry["used_by"]["model"] for entry in entries} == {"dummy/dummy"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ops-of", "dummy"], "pass a model as SUITE/NAME, or a file with an execution trace"),
        (["--ops-of", "nope/x"], "There is no suite 'nope'"),
        (["--ops-of", "dummy/nope"], "--ops-of: there is no model 'dummy/nope'"),
        (["--ops-of", "dummy/dummy", "--suite-name", "dummy"], "--ops-of selects the experiments"),
        (["--ops-of", "dummy/dummy", "--test", "eval", "--test", "train"], "--ops-of records one test"),
    ],
)
def test_what_cannot_be_recorded_is_one_sentence(words, said):
    done = xlabench("plan", *words)
    assert (done.returncode, said in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr
