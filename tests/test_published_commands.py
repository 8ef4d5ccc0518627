"""Command lines that other harnesses publish run here as they are, or end in a sentence with what replaces them."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner import __main__ as programs
from runner.peer_cli import table
from runner.peer_cli.table import TranslatedCommand
from runner.schedule.execute import Counts, ExecutionResult
from runner.schedule.run_folder import RunFolder
from tests.runner.runner_makers import machine

LIST = Path(__file__).with_name("published_commands.yaml")
COMMANDS = [each for source in yaml.safe_load(LIST.read_text()) for each in source["commands"]]
MODELS = ("alexnet", "BERT_pytorch", "dcgan")
EVERYTHING = {"cpu": "a CPU", "cuda": "a GPU", "xpu": "an Intel GPU", "tpu": "a TPU"}
TENSOR = {"type": "tensor", "dtype": "float", "shape": [2]}
ADD = {
    "torch.add": {
        "input_data_generator": "PyTorch:DefaultDataGenerator",
        "config": [{"input": [{"args": [TENSOR, TENSOR]}]}],
    }
}
DYNAMO_BACKENDS = ("aot_eager", "cudagraphs", "eager", "inductor", "openxla", "ts")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with what the commands name: a machine of all devices, torchbench, PARAM's configurations."""
    models = tmp_path / "torchbench" / "torchbenchmark" / "models"
    for name in (".", *MODELS):
        (models / name).mkdir(parents=True, exist_ok=True)
        (models / name / "__init__.py").touch()
    for place in ("examples/pytorch/configs/simple_add", "test/pytorch/test_op"):
        for root in (".", "python", "train/compute/python"):
            file = tmp_path / root / f"{place}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(ADD))
    (tmp_path / "python/examples/pytorch/configs/alex_net.json").write_text(json.dumps(ADD))
    here = machine(accelerators=EVERYTHING)
    for module in ("runner.environments.machine", "runner.plan.interpreters", "runner.plan.local_request"):
        monkeypatch.setattr(f"{module}.detect", lambda *_: here, raising=False)
    monkeypatch.setattr("runner.environments.machine.Machine.dynamo_backends", lambda _: DYNAMO_BACKENDS)
    monkeypatch.setenv("TORCHBENCH_DIR", str(tmp_path / "torchbench"))
    monkeypatch.setenv("XLABENCH_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Keep what would be measured, and measure nothing."""
    found: set[str] = set()

    def measure(work: TranslatedCommand, _folder: RunFolder) -> ExecutionResult:
        found.update(f"{entry.backend}/{entry.config.test}" for entry in work.plan.runnable)
        none = Counts(failed=0, unverified={}, wrong=0)
        return ExecutionResult(measured=0, counts=none, before=none, skipped=0, already_finished=0, seconds=0.0)

    monkeypatch.setattr(table, "measure", measure)
    return found


def words_of(command: str) -> list[str]:
    """Return what stands behind `python -m runner`: without variables, interpreter, shell, launcher and `./`."""
    words = shlex.split(command)
    while "=" in words[0] and not words[0].startswith("-"):
        words = words[1:]
    if words[0] == "/bin/mpirun":
        return words[3:]
    return words[1:] if re.fullmatch(r"python3?|bash", words[0]) else words


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("asked", COMMANDS, ids=lambda asked: asked["command"][:90])
def test_a_published_command_runs_or_says_what_replaces_it(
    asked: dict[str, Any], planned: set[str], capfd: pytest.CaptureFixture[str]
) -> None:
    try:
        code = programs.main(words_of(asked["command"]))
    except SystemExit as ended:
        code = ended.code
    out, said = capfd.readouterr()
    assert "Traceback" not in said
    if "says" in asked:
        assert (code, planned) == (2, set())
        last = said.splitlines()[-1]
        assert asked["says"] in last
    else:
        assert code == 0, said
        assert asked.get("prints", "") in out + said
        assert sorted(planned) == asked.get("measures", [])


@pytest.mark.usefixtures("place")
def test_a_program_that_nobody_published_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert programs.main(["benchmarks/train.py", "--fast"]) == 2
    assert capsys.readouterr().err.startswith("python -m runner: 'train' is not a supported program; choose one of ")
