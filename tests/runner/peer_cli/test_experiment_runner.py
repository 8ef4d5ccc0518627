"""`python -m runner`: what a command line becomes in our words, and what it leaves in the output folder."""

import json
import os
from pathlib import Path

import msgspec
import pytest

import xlabench
from runner.errors import PlanMismatch
from runner.peer_cli import experiment_runner
from runner.schedule.run_folder import new_run
from runner.settings import Settings
from store.errors import UsageError
from store.record import RunFile
from store.run_file import read_run_file
from tests import warm
from tests.runner.runner_makers import entry, interpreters, machine, plan

HERE = machine()


def translated(*words: str) -> list[str]:
    parsed = experiment_runner.parser().parse_args(["--suite-name=dummy", *words])
    return experiment_runner.translate(parsed, experiment_runner.choices(parsed, HERE), None)


@pytest.mark.parametrize(
    ("given", "precision"),
    [
        ([], "high"),
        (["--matmul-precision=highest"], "high"),
        (["--disable-tf32"], "highest"),
        (["--disable-tf32", "--matmul-precision=high"], "high"),
        (["--disable-tf32", "--matmul-precision=default"], "default"),
    ],
)
def test_precision_is_high_unless_disable_tf32_lets_the_flag_speak(given: list[str], precision: str) -> None:
    assert f"--matmul-precision={precision}" in translated(*given)


def test_every_flag_becomes_flags_that_run_accepts() -> None:
    """All of theirs at once, each with a value; the preset is the peer's, and --verify does not time."""
    given = []
    for flag in experiment_runner.flags_table().flags:
        value = {"int": "1", "float": "1.5", "text": "x"}.get(flag.takes or "")
        value = str(flag.choices[0]) if flag.choices else value
        if flag.names[0] not in ("--suite-name", "--xla", "--experiment-config", "--model-config"):
            given.append(flag.names[0] if value is None else f"{flag.names[0]}={value}")
    words = translated(*given)
    parsed = xlabench._parser().parse_args(["run", *words])
    assert (parsed.preset, parsed.verify_only) == ("peer", True)
    assert "verify" not in parsed
    assert parsed.filter == ["x"]
    assert parsed.save_ir_format == "text"


def test_a_prefix_is_enough_where_it_is_unambiguous() -> None:
    assert "--save-ir-format=hlo" in translated("--save-ir", "hlo")


def test_a_second_format_of_ir_is_refused_instead_of_taking_the_first_ones_place(capsys) -> None:
    words = translated("--save-ir-format=hlo", "--save-ir-format=text")
    with pytest.raises(SystemExit):
        xlabench._parser().parse_args(["run", *words])
    assert "a run saves one format, and hlo is already given" in capsys.readouterr().err


def identity(*entries, **changes) -> RunFile:
    fields = {"settings": Settings(preset="peer"), "label": "dummy", "command": "python -m runner"}
    return new_run(plan(*entries), interpreters(), **{**fields, **changes})


EAGER, INDUCTOR = entry("eager"), entry("inductor")


def test_a_later_command_makes_the_plan_of_a_folder_grow(tmp_path: Path) -> None:
    """The denominator is all that was ever asked for; only what is asked for now is measured."""
    first = experiment_runner.open_growing(tmp_path, identity(EAGER), timestamp=12.5)
    second = experiment_runner.open_growing(tmp_path, identity(INDUCTOR))
    assert [each.variant for each in second.file.plan] == ["inductor"]
    kept = read_run_file(tmp_path)
    assert [each.variant for each in kept.plan] == ["eager", "inductor"]
    assert kept.plan_id == plan(EAGER, INDUCTOR).plan_id
    assert (kept.run.run_id, kept.timestamp) == (first.file.run.run_id, 12.5)
    again = experiment_runner.open_growing(tmp_path, identity(INDUCTOR, EAGER))
    assert [each.variant for each in again.file.plan] == ["inductor", "eager"]
    assert read_run_file(tmp_path) == kept


def test_other_settings_do_not_join_a_run(tmp_path: Path) -> None:
    experiment_runner.open_growing(tmp_path, identity(EAGER))
    with pytest.raises(PlanMismatch, match="repeat"):
        experiment_runner.open_growing(tmp_path, identity(INDUCTOR, settings=Settings(preset="peer", repeat=3)))
    assert len(read_run_file(tmp_path).plan) == 1


def test_no_resume_puts_the_old_run_aside(tmp_path: Path) -> None:
    experiment_runner.open_growing(tmp_path / "out", identity(EAGER))
    experiment_runner.open_growing(tmp_path / "out", identity(INDUCTOR), resume=False)
    assert len(list(tmp_path.glob("out.old-*/run.json"))) == 1
    assert [each.variant for each in read_run_file(tmp_path / "out").plan] == ["inductor"]


def test_the_results_have_the_name_that_was_asked_for_too(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text("{}\n")
    for _ in range(2):
        experiment_runner.link_results(tmp_path, "mine.jsonl")
    assert (tmp_path / "mine.jsonl").read_text() == "{}\n"
    (tmp_path / "other.jsonl").write_text("")
    with pytest.raises(UsageError, match="is another file"):
        experiment_runner.link_results(tmp_path, "other.jsonl")
    with pytest.raises(UsageError, match="the name must not contain a folder"):
        experiment_runner.link_results(tmp_path, "a/b.jsonl")


def runner(*words: str, code: int = 0, imports: str | None = None) -> str:
    """Run the command to its end, where it measures with these `imports`; return what it wrote to stderr."""
    environment = {name: value for name, value in os.environ.items() if name != "XLABENCH_HOME"}
    done = warm.run("runner", ["--suite-name=dummy", *words], env=environment, imports=imports)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("words", "models"),
    [([], 1), (["--filter=dummy"], 1), (["--filter=nonzero"], 1), (["-k^dummy$", "-knonzero"], 2), (["-xdummy"], 0)],
)
def test_dummy_nonzero_is_selected_where_a_filter_names_it(words: list[str], models: int) -> None:
    assert f"Number of selected model configs: {models}\n" in runner("--dry-run", *words)


def test_the_log_level_is_a_threshold() -> None:
    assert runner("--dry-run", "--log-level=warning") == ""
    assert "xlabench run --preset=peer --suite-name=dummy" in runner("--dry-run", "--log-level=debug")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--xla=XRT"], "XRT was removed"),
        (["--repeat=0"], "'0' is not a whole number of at least 1"),
        (["--total-partitions=10"], "invalid choice: 10"),
        (["--filter=nothing"], "No model matches --filter"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_exit_2(tmp_path: Path, words: list[str], says: str) -> None:
    err = runner(*words, "--log-level=error", f"--output-dirname={tmp_path / 'out'}", code=2)
    assert says in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_real_run_measures_exactly_repeat_blocks_and_grows(tmp_path: Path) -> None:
    """Theirs counts all blocks of an experiment, the first included; their keys stand in each line."""
    out = f"--output-dirname={tmp_path}"
    usual = ("--accelerator=cpu", "--repeat=3", "--test=eval", out, "--output-basename=mine.jsonl")
    runner("--xla=PJRT", "--dynamo=None", *usual, imports="torch_xla")
    config = dict.fromkeys(experiment_runner.KEYS) | {
        "accelerator": "cpu",
        "test": "train",
        "enable_functionalization": False,
    }
    runner(
        f"--experiment-config={json.dumps(config)}",
        '--model-config={"model_name": "dummy"}',
        *usual,
        imports="torch_xla",
    )
    records = [json.loads(line) for line in (tmp_path / "mine.jsonl").read_text().splitlines()]
    assert [(each["experiment"]["xla"], each["experiment"]["test"]) for each in records] == [
        ("PJRT", "eval"), (None, "train"),
    ]  # fmt: skip
    assert {len(each["metrics"]["total_time"]) for each in records} == {3}
    assert {each["experiment"]["matmul_precision"] for each in records} == {"high"}
    assert len({each["timestamp"] for each in records}) == 1
    assert "trace_total_time" in records[0]["metrics"]
    assert len(msgspec.json.decode((tmp_path / "run.json").read_bytes())["plan"]) == 2
