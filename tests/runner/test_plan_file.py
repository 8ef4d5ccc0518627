"""A plan file repeats exactly the experiments it was printed from; a bad one is one sentence."""

import json
import os
import threading
from pathlib import Path

import pytest
import yaml
from runner_makers import machine, request

import xlabench as command
from runner import flags
from runner.plan import make_plan, plan_file
from runner.plan.plan_view import as_yaml
from runner.plan.protocol import REPEATS, settings
from store.errors import UsageError
from tests.command import xlabench

RICH = {
    "preset": "peer",
    "xla_flags": (("--xla_a=1", "--xla_b"), ()),
    "cache": "both",
    "batch_size": 4,
    "requested": {
        "compile_mode": "max-autotune",
        "overrides": {"inductor.x": "1"},
        "dtype": "amp",
        "amp_dtype": "float16",
    },
}
BARE = {"suite_name": "dummy", "model_name": "dummy", "test": "eval", "accelerator": "cpu"}


@pytest.fixture
def write(tmp_path):
    def write_file(content):
        path = tmp_path / "plan.yaml"
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    return write_file


@pytest.fixture
def printed(write):
    """The plan file of a request."""

    def print_plan(here=None, **changes):
        asked, here = request(**changes), here or machine()
        return write(as_yaml(make_plan(asked, here), asked, {"default": here}))

    return print_plan


def repeated(path, here=None, **changes):
    return make_plan(request(plan=path, **changes), here or machine())


def bad(write, content, **changes):
    path = write(content)
    with pytest.raises(UsageError) as caught:
        repeated(path, **changes)
    assert str(caught.value).startswith(f"--plan {path}: ")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_the_same_experiments_come_back(printed):
    made = make_plan(request(**RICH), machine())
    again = repeated(printed(**RICH))
    assert again.entries == made.entries
    assert again.plan_id == made.plan_id
    assert len({entry.experiment_id for entry in again.entries}) > 20


def test_a_skip_of_the_tables_keeps_its_reason(printed, monkeypatch):
    from runner.suites.base import ModelInfo

    models = [ModelInfo(name="one", skips={"train": "has no loss"})]
    monkeypatch.setattr("runner.suites.dummy.DummySuite.models", lambda *_: models)
    path = printed()
    monkeypatch.undo()
    reasons = {(entry.config.test, entry.skip_reason) for entry in repeated(path).entries}
    assert reasons == {("eval", None), ("train", "has no loss")}


def test_what_the_printing_machine_lacked_is_asked_anew_where_it_is_run(printed):
    """So a laptop without torch can plan what a server measures."""
    path = printed(machine(without=("torch", "torch_xla"), compiler=None))
    assert "not_here: torch is not installed" in path.read_text()
    assert all(entry.runnable for entry in repeated(path).entries)
    reasons = {entry.backend: entry.skip_reason for entry in repeated(path, machine(without=("torch_xla",))).entries}
    assert reasons["eager"] is None
    assert "torch_xla is not installed" in reasons["openxla+dynamo"]


def test_notes_come_back(printed, monkeypatch):
    from runner.suites.base import ForcedDtype, ModelInfo

    rule = ForcedDtype(instead_of=("float16",), use="float32", reason="overflows")
    monkeypatch.setattr("runner.suites.dummy.DummySuite.models", lambda *_: [ModelInfo(name="one", dtypes=(rule,))])
    path = printed(requested={"dtype": "float16"})
    assert {entry.notes for entry in repeated(path).entries} == {("float32 in place of float16: one: overflows",)}


def test_what_tables_say_against_it_comes_back(printed, monkeypatch):
    from runner.suites.base import ModelInfo

    skipped = ModelInfo(name="one", skips={"train": "has no loss"})
    monkeypatch.setattr("runner.suites.dummy.DummySuite.models", lambda *_: [skipped])
    path = printed(no_skip=True)
    assert {(each.config.test, each.in_spite_of) for each in repeated(path).entries} == {
        ("eval", None),
        ("train", "has no loss"),
    }


def test_a_printed_plan_may_be_printed_again(printed):
    path = printed(**RICH)
    asked, here = request(plan=path), machine()
    assert as_yaml(make_plan(asked, here), asked, {"default": here}) == path.read_text()


def test_partitions_of_a_plan_file_are_by_model(printed):
    path = printed()
    parts = [repeated(path, total_partitions=2, partition_id=part).entries for part in range(2)]
    assert [{entry.config.model_name for entry in part} for part in parts] == [{"dummy"}, {"dummy_nonzero"}]
    assert sum(map(len, parts)) == 16


def test_a_handwritten_file_needs_configurations_only(write):
    path = write({"schema_version": 1, "experiments": [{"config": BARE}]})
    (entry,) = repeated(path).entries
    assert (entry.backend, entry.environment, entry.experiment_id) == ("eager", "default", "dc5d2016bbf8548b4c84")


def test_a_suite_that_is_missing_here_is_a_skip(write, monkeypatch):
    monkeypatch.setattr("runner.suites.timm_models.SUITE.unavailable", lambda _: "install timm", raising=True)
    config = BARE | {"suite_name": "timm_models", "model_name": "test_vit2"}
    (entry,) = repeated(write({"schema_version": 1, "experiments": [{"config": config}]})).entries
    assert entry.skip_reason == "install timm"


def test_entries_of_another_environment_wait_for_its_turn(write):
    content = [{"config": BARE}, {"config": BARE, "environment": "old"}]
    path = write({"schema_version": 1, "environments": ["default", "old"], "experiments": content})
    both = (("default", None), ("old", None))
    for name in ("default", "old"):
        (entry,) = repeated(path, env=both, environment=name).entries
        assert entry.environment == name


def test_an_environment_without_an_interpreter_is_asked_for(write):
    content = {"schema_version": 1, "experiments": [{"config": BARE, "environment": "old"}]}
    assert "pass its interpreter with --env old=PYTHON" in bad(write, content)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "invalid YAML"),
        ("- a", "Expected `object`, got `array`"),
        ("[" * 200_000, "it nests more than 100 levels deep"),
        ("- " * 100_000 + "a", "it nests more than 100 levels deep"),
        ("[\n" * 5_000 + "]\n" * 5_000, "it nests more than 100 levels deep"),
        ({"experiments": []}, "missing required field `schema_version`"),
        ({"schema_version": 1}, "missing required field `experiments`"),
        ({"schema_version": 9, "experiments": []}, "its schema version is 9; this xlabench reads 1"),
        ({"schema_version": 1, "experiments": [], "extra": 1}, "unknown field `extra`"),
        ({"schema_version": 1, "experiments": [{}]}, "required field `config` - at `$.experiments[0]`"),
        (
            {"schema_version": 1, "experiments": [{"config": BARE | {"test": "evl"}}]},
            "Invalid enum value 'evl' - at `$.experiments[0].config.test`",
        ),
        (
            {"schema_version": 1, "experiments": [{"config": BARE | {"dtpe": "amp"}}]},
            "unknown field `dtpe` - at `$.experiments[0].config`",
        ),
        (
            {"schema_version": 1, "experiments": [{"config": BARE | {"suite_name": "mnist"}}]},
            "There is no suite 'mnist'",
        ),
        (
            {"schema_version": 1, "experiments": [{"config": BARE | {"batch_size": 2}, "experiment_id": "dc5d"}]},
            "The configuration does not match its experiment_id - at `$.experiments[0].config`",
        ),
        ({"schema_version": 1, "settings": {"repeats": 3}, "experiments": []}, "settings: unknown setting 'repeats'"),
        ({"schema_version": 1, "settings": {"repeat": "3"}, "experiments": []}, "at `$.settings.repeat`"),
        ({"schema_version": 1, "settings": {"repeat": 0}, "experiments": []}, "repeat must be at least 1"),
        ({"schema_version": 1, "settings": {"until_stable": 1}, "experiments": []}, "Expected `float` < 1.0"),
        ({"schema_version": 1, "settings": {"time_budget_s": 0}, "experiments": []}, "a number of seconds above 0"),
        (
            {"schema_version": 1, "settings": {"preset": "fast"}, "experiments": []},
            "preset must be one of xlabench, peer",
        ),
        ("schema_version: 1\nsettings: {repeat: 5, repeat: 7}\nexperiments: []", "'repeat' is given twice"),
        (
            {"schema_version": 1, "experiments": [{"config": BARE}, {"config": BARE | {"dtype": "float32"}}]},
            "The experiment repeats `$.experiments[0]` - at `$.experiments[1]`",
        ),
    ],
)
def test_a_bad_file_is_one_sentence_that_names_the_place(write, content, says):
    assert says in bad(write, content)


def test_brackets_in_words_are_no_levels(write):
    content = {"schema_version": 1, "experiments": [{"config": BARE, "notes": ["[" * 300]}]}
    (entry,) = repeated(write(content)).entries
    assert entry.notes == ("[" * 300,)


@pytest.mark.parametrize("read", [plan_file.read, plan_file.read_models_file])
def test_a_fifo_without_a_writer_is_one_sentence_and_one_with_a_writer_is_read(tmp_path, read):
    """What `<(…)` of a shell names has a writer, which may take its time."""
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UsageError, match=r"fifo cannot be read: it is a FIFO that no program writes into\."):
        read(tmp_path / "fifo")
    text = "schema_version: 1\nexperiments: []\n" if read is plan_file.read else "first\n"
    reader, writer = os.pipe()
    with os.fdopen(reader), os.fdopen(writer, "w") as file:
        threading.Timer(0.05, lambda: (file.write(text), file.close())).start()
        assert read(Path(f"/dev/fd/{reader}"))


def test_a_file_that_is_missing_is_one_sentence(tmp_path):
    with pytest.raises(UsageError, match=r"cannot be read: No such file or directory\. `xlabench plan"):
        repeated(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("beside", "flag"),
    [
        ({"filter": ("a",)}, "--filter"),
        ({"suite_name": ("dummy",)}, "--suite-name"),
        ({"dynamo": ("inductor",)}, "--dynamo"),
        ({"batch_size": 3}, "--batch-size"),
        ({"preset": "peer"}, "--preset"),
        ({"no_skip": True}, "--no-skip"),
        ({"cache": "both"}, "--cache"),
        ({"dtype": "amp", "matmul_precision": "high"}, "--dtype, --matmul-precision"),
    ],
)
def test_flags_that_would_change_the_experiments_are_refused_beside_it(printed, beside, flag):
    with pytest.raises(UsageError, match=f"^--plan fixes the experiments; remove {flag} "):
        make_plan(request(**beside, plan=printed()), machine())


def settings_of(*words):
    """Return the settings as the command works them out."""
    return settings(flags.read(command._parser().parse_args(words)))


def test_a_flag_and_the_file_are_judged_together(write):
    """What each leaves open the other may say."""
    path = write({"schema_version": 1, "settings": {"until_stable": 0.02}, "experiments": []})
    found = settings_of("run", "--plan", str(path), "--time-budget", "5")
    assert (found.until_stable, found.time_budget_s) == (0.02, 5)
    path = write({"schema_version": 1, "settings": {"preset": "peer"}, "experiments": []})
    with pytest.raises(UsageError, match="the preset peer always takes exactly"):
        settings_of("run", "--plan", str(path), "--until-stable")
    path = write({"schema_version": 1, "settings": {"warmup_min": 9}, "experiments": []})
    with pytest.raises(UsageError, match="a warm-up takes at least 9 blocks"):
        settings_of("run", "--plan", str(path), "--warmup-max", "8")


def test_settings_of_the_file_hold_where_no_flag_is_given(write):
    """A value that equals the default counts as given, too."""
    in_file = {"repeat": 6, "seed": 3, "processes": 2, "wait_quiet": True, "timeout_s": 9.0, "instruments": ["minify"]}
    path = write({"schema_version": 1, "settings": in_file, "experiments": []})
    words = ("--seed", "1337", "--no-wait-quiet", "--subprocess-timeout", "1800", "--dump-hlo")
    found = settings_of("run", "--plan", str(path), *words)
    assert (found.repeat, found.seed, found.processes) == (6, 1337, 2)
    assert (found.wait_quiet, found.timeout_s, found.instruments) == (False, 1800.0, ("dump_hlo",))


def test_the_files_preset_brings_its_repeats(write):
    path = write({"schema_version": 1, "settings": {"preset": "hud"}, "experiments": []})
    assert settings_of("run", "--plan", str(path)).repeat == REPEATS["hud"]
    assert settings_of("run", "--plan", str(path), "--repeat", "4").repeat == 4


@pytest.mark.slow
def test_a_run_of_a_plan_file_measures_its_experiments_under_its_settings(tmp_path):
    """A printed plan with added settings is run; a flag overrides the file."""
    words = ("--suite-name", "dummy", "--only", "dummy", "--xla", "None", "--dynamo", "None", "--accelerator", "cpu")
    text = xlabench("plan", *words, "--home", tmp_path, "--format", "yaml").stdout
    path = tmp_path / "plan.yaml"
    path.write_text(text.replace("settings:\n", "settings:\n  repeat: 6\n  iterations_per_run: 3\n"))
    run = ("run", "--plan", path, "--home", tmp_path, "--output-dirname", tmp_path / "run", "--no-ingest")
    xlabench(*run, "--iterations-per-run", "2")
    records = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    wanted = [entry["experiment_id"] for entry in yaml.safe_load(text)["experiments"]]
    assert [record["experiment_id"] for record in records] == wanted
    assert {(record["repeat"], record["iterations_per_run"]) for record in records} == {(6, 2)}
    assert {record["measurement"]["blocks"]["kind"].count("steady") for record in records} == {6}
