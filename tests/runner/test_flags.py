"""What may be typed, and what bad input is answered."""

import argparse
import functools
import json

import pytest

import xlabench
from runner import flags
from runner.environments.machine import detect
from runner.flags import flagged
from runner.plan import local_request, protocol
from runner.plan.local_request import SMOKE
from runner.plan.protocol import settings
from runner.plan.request import Configuration, RunRequest
from store.errors import UsageError

parser = functools.cache(xlabench._parser)


def parse(*words):
    return parser().parse_args(["run", *words])


def request(*words):
    return flags.read(parse(*words))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--filter", "("], "is not a regular expression"),
        (["--exclude", "*a"], "is not a regular expression"),
        (["--repeat", "ten"], "'ten' is not a whole number of at least 1"),
        (["--repeat", "0"], "not a whole number"),
        (["--processes", "0"], "not a whole number"),
        (["--rounds", "0"], "not a whole number"),
        (["--interleave", "on"], "--interleave on is not valid. Choose one of processes, rounds, off."),
        (["--iterations-per-run", "-1"], "not a whole number"),
        (["--batch-size", "1.5"], "not a whole number"),
        (["--xla", "XRT"], "XRT was removed from PyTorch/XLA; use PJRT"),
        (["--xla", "other"], "is not one of None, PJRT"),
        (["--dynamo", "no-name"], "is not a valid name of a dynamo backend"),
        (["--dynamo", "nvfuser"], "nvfuser was removed from PyTorch; use inductor"),
        (["--dynamo", "aot_ts"], "aot_ts fails on the graphs that current dynamo produces; use ts"),
        (["--backend", "openxla+lazy"], "there is no backend 'openxla+lazy'. Did you mean openxla+lazytensor"),
        (["--backend", "None"], "Choose one of eager, inductor, openxla+lazytensor, openxla+dynamo, "),
        (["--backend", "nvfuser"], "nvfuser was removed from PyTorch; use inductor"),
        (["--test", "evaluate"], "is not one of eval, train, inference, training"),
        (["--accelerator", "gpu"], "--accelerator gpu is not valid. Choose one of cpu, cuda, tpu, xpu."),
        (["--suite-name", "mnist"], "--suite-name mnist is not valid. Choose one of torchbench, "),
        (["--preset", "fast"], "--preset fast is not valid. Choose one of xlabench, peer, hud."),
        (["--unknown"], "There is no flag --unknown."),
        (["--seed", "x"], "--seed: 'x' is not a whole number of at least 0."),
        (["--seed", "-1"], "--seed: '-1' is not a whole number of at least 0."),
        (["--seed", str(2**63)], "is more than 9223372036854775807."),
        (["--rewarm", "-1"], "--rewarm: '-1' is not a whole number of at least 0."),
        (["--repeat", "1000001"], "--repeat: '1000001' is more than 1000000."),
        (["--batch-size", "1000001"], "--batch-size: '1000001' is more than 1000000."),
        (["--time-budget", "2592001"], "is more than 2592000."),
        (["--memory-limit", "1025T"], "--memory-limit: '1025T' is more than 1125899906842624."),
        (["--until-stable", "0"], "'0' is not a percentage above 0 and below 100, such as 1 or 0.5%"),
        (["--until-stable", "100%"], "'100%' is not a percentage"),
        (["--until-stable", "little"], "'little' is not a percentage"),
        (["--until-stable", "nan"], "'nan' is not a percentage"),
        (["--time-budget", "0"], "'0' is not a number above 0"),
        (["--save-ir", "hlo", "--save-ir", "text"], "--save-ir text: a run saves one format, and hlo is already given"),
    ],
)
def test_bad_input_is_answered_with_one_sentence_and_exit_2(capsys, words, says):
    """No usage text, no traceback."""
    with pytest.raises(SystemExit) as caught:
        xlabench.main(["run", *words])
    out, err = capsys.readouterr()
    assert (caught.value.code, out, err.count("\n")) == (2, "", 1)
    assert says in err


def test_a_torchbench_folder_that_is_missing_is_exit_2(capsys, tmp_path):
    assert xlabench.main(["plan", "--torchbench-dir", str(tmp_path / "none")]) == 2
    assert "no such folder; pass a checkout of github.com/pytorch/benchmark" in capsys.readouterr().err


def test_backend_and_the_pair_that_it_names_exclude_each_other():
    with pytest.raises(UsageError, match="--backend replaces --xla, --dynamo and --torch-xla2"):
        request("--backend", "eager", "--dynamo", "None")
    assert request("--backend", "inductor", "--backend", "eager", "--backend", "inductor").selection.backend == (
        *("inductor", "eager", "inductor"),
    )


def test_a_mistyped_dynamo_backend_is_exit_2(capsys, monkeypatch):
    """Dynamo itself is asked in test_machine.py, and by the command in the long form of test_matrix.py."""
    monkeypatch.setattr("runner.environments.machine.Machine.dynamo_backends", lambda _: ("aot_eager", "inductor"))
    assert xlabench.main(["plan", "--suite-name", "dummy", "--backend", "inductr"]) == 2
    assert "--backend inductr: there is no backend of this name. Did you mean inductor" in capsys.readouterr().err


def test_a_mistyped_backend_is_refused_before_a_model_is_tried(capsys, monkeypatch, tmp_path):
    """It took the seconds of importing torch and the model."""
    monkeypatch.setattr("runner.environments.machine.Machine.dynamo_backends", lambda _: ("aot_eager", "inductor"))
    source = tmp_path / "net.py"
    source.write_text(f"open({str(tmp_path / 'imported')!r}, 'w')")
    assert xlabench.main(["plan", str(source), "--backend", "inductr"]) == 2
    assert "Did you mean inductor" in capsys.readouterr().err
    assert not (tmp_path / "imported").exists()


@pytest.mark.skipif("torch" not in detect().packages, reason="torch is not installed")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--dynamo", "inductr"], "--dynamo inductr: there is no backend of this name. Did you mean inductor"),
        (["--with-optimizer", "Adm"], "--with-optimizer Adm: torch.optim has no class of this name. Did you mean Ada"),
        (["--inductor-config", "fx_graph_cach=1"], "torch._inductor.config has no setting fx_graph_cach. Did you mean"),
        (
            ["--dynamo-config", "recompile_limit=many"],
            "--dynamo-config recompile_limit=many: the value must be of type",
        ),
    ],
)
def test_a_name_that_torch_does_not_know_is_exit_2(words, says, capsys):
    """Each experiment would fail with it, after minutes."""
    assert xlabench.main(["plan", "--suite-name", "dummy", *words]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.skipif("torch" not in detect().packages, reason="torch is not installed")
def test_names_that_torch_knows_are_planned():
    words = [
        "--with-optimizer",
        "AdamW",
        "--inductor-config",
        "max_autotune=1",
        "--dynamo-config",
        "cache_size_limit=3",
    ]
    assert xlabench.main(["plan", "--suite-name", "dummy", "--dynamo", "aot_eager", *words]) == 0


def test_a_plan_without_a_match_is_exit_2(capsys):
    assert xlabench.main(["plan", "--suite-name", "dummy", "--filter", "nothing"]) == 2
    assert "No model matches --filter 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("mode", "instead"), [("reduce-overhead", "default"), ("max-autotune", "max-autotune-no-cudagraphs")]
)
def test_a_mode_that_turns_cuda_graphs_on_is_refused_beside_the_flag_against_them(mode, instead):
    with pytest.raises(UsageError, match=rf"compile mode {mode} enables CUDA graphs; pass --compile-mode {instead}\.$"):
        request("--disable-cudagraphs", "--compile-mode", mode)
    assert request("--disable-cudagraphs", "--compile-mode", instead).configuration.cudagraphs is False


@pytest.mark.parametrize("mode", next(each for each in flagged(Configuration) if each.name == "compile_mode").choices)
def test_the_modes_that_turn_cuda_graphs_on_are_torchs(mode):
    torch = pytest.importorskip("torch")
    options = torch._inductor.list_mode_options(mode)
    assert options.get("triton.cudagraphs", False) == (mode in local_request.WITHOUT_CUDAGRAPHS)


def test_errors_of_flags_carry_their_exit_code(tmp_path):
    with pytest.raises(UsageError) as caught:
        request("--torchbench-dir", str(tmp_path / "none"))
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("typed", "test"), [("eval", "eval"), ("inference", "eval"), ("train", "train"), ("training", "train")]
)
def test_both_names_of_a_test_are_accepted(typed, test):
    assert request("--test", typed).tests == (test,)


@pytest.mark.parametrize(("typed", "value"), [("None", None), ("none", None), ("NONE", None), ("PJRT", "PJRT")])
def test_none_is_a_value_of_xla(typed, value):
    assert request("--xla", typed).selection.xla == (value,)


def test_flags_may_be_repeated_and_doubles_count_once():
    found = request(
        "--dynamo", "None", "--dynamo", "openxla", "--dynamo", "none", "--test", "eval", "--test", "inference"
    )
    assert (found.selection.dynamo, found.tests) == ((None, "openxla", None), ("eval",))
    assert request("-k", "a", "-k", "b", "-x", "c").selection.filter == ("a", "b")
    assert request("-x", "c").selection.exclude == ("c",)


def test_nothing_typed_means_everything():
    found = request()
    assert found.request == RunRequest()
    assert (found.suites, found.accelerators, found.tests, found.exactly, found.given) == ((),) * 4 + (frozenset(),)
    assert found.environment == "default"


def test_smoke_names_models_that_everybody_knows_on_the_cpu():
    """None is of the suite dummy, and none needs a checkout."""
    found = request("--smoke")
    assert found.exactly == SMOKE
    assert found.suites == ("timm_models", "huggingface")
    assert found.accelerators == ("cpu",)


def test_smoke_measures_eval_in_all_backends_unless_a_test_is_typed(capsys):
    def planned(*words):
        assert xlabench.main(["plan", "--smoke", "--format", "json", *words]) == 0
        return [each | each["config"] for each in json.loads(capsys.readouterr().out)["plan"]]

    assert {(each["model_name"], each["test"], each["backend"]) for each in planned()} == {
        (name.partition("/")[2], "eval", backend)
        for name in SMOKE
        for backend in ("eager", "inductor", "openxla+dynamo", "openxla+lazytensor")
    }
    assert [(each["test"], each["model_name"]) for each in planned("--test", "train", "--dynamo", "inductor")] == [
        ("train", name.partition("/")[2]) for name in SMOKE
    ]


def test_smoke_verifies():
    assert settings(request("--smoke")).verify == "with"
    assert settings(request("--smoke", "--verify-only")).verify == "only"
    assert settings(request()).verify == "off"


def test_smoke_may_be_narrowed():
    found = request("--smoke", "--suite-name", "timm_models", "--accelerator", "cuda")
    assert (found.suites, found.accelerators) == (("timm_models",), ("cuda",))


@pytest.mark.parametrize("preset", protocol.PRESETS)
def test_repeats_come_from_the_preset_unless_they_are_typed(preset):
    assert settings(request("--preset", preset)).repeat == protocol.REPEATS[preset]
    assert settings(request("--preset", preset, "--repeat", "3")).repeat == 3


@pytest.mark.parametrize(
    ("words", "processes"),
    [
        ((), 3),
        (("--preset", "hud"), 3),
        (("--preset", "peer"), 1),
        (("--smoke",), 1),
        (("--smoke", "--processes", "2"), 2),
        (("--preset", "peer", "--processes", "2"), 2),
    ],
)
def test_processes_come_from_preset_and_smoke_plan_unless_they_are_typed(words, processes):
    assert settings(request(*words)).processes == processes


def test_a_verdict_about_the_answer_takes_one_process():
    assert settings(request("--verify-only")).replicas == 1
    assert settings(request("--verify")).replicas == 3


@pytest.mark.parametrize(
    ("typed", "share"), [([], 0.01), (["2"], 0.02), (["2%"], 0.02), (["0.5%"], 0.005), (["0.7 %"], 0.007)]
)
def test_a_target_is_typed_in_percent(typed, share):
    found = settings(request("--until-stable", *typed))
    assert (found.until_stable, found.time_budget_s, found.stable_budget_s) == (share, None, 60.0)
    assert settings(request("--until-stable", "--time-budget", "1.5")).stable_budget_s == 1.5
    assert settings(request()).until_stable is None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--time-budget", "5"], "requires --until-stable or --until-verdict; pass one of them as well"),
        (["--warmup-min", "3", "--warmup-max", "4"], "takes at least 5 blocks; raise --warmup-max to 5."),
        (["--warmup-max", "4"], "--warmup-max 4: every result would be `never_steady`"),
        (["--warmup-min", "9", "--warmup-max", "8"], "raise --warmup-max to 9 or lower --warmup-min."),
        (["--preset", "peer", "--until-stable"], "the preset peer always takes exactly --repeat blocks"),
        (["--until-stable", "--time-budget", "1800"], "may measure for 1800 s, but processes are killed after 1800 s"),
        (["--until-stable", "--subprocess-timeout", "60"], "decrease --time-budget or increase"),
    ],
)
def test_settings_that_contradict_each_other_are_exit_2(capsys, tmp_path, words, says):
    """Before anything is measured or written."""
    command = ["run", "--suite-name", "dummy", "--accelerator", "cpu", "--home", str(tmp_path / "home")]
    assert xlabench.main([*command, *words]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1
    assert not (tmp_path / "home" / "runs").exists()


@pytest.mark.parametrize("words", [["--preset", "peer"], ["--verify-only"]])
def test_without_a_warm_up_its_bound_is_not_judged(words):
    assert settings(request("--warmup-max", "2", *words)).warmup_max == 2


def test_measurement_flags_become_settings():
    words = ["--iterations-per-run", "4", "--warmup-min", "3", "--warmup-max", "6", "--threads", "2", "--seed", "9"]
    found = settings(request(*words, "--subprocess-timeout", "60", "--start", "interpreter"))
    assert (found.iterations_per_run, found.warmup_min, found.warmup_max) == (4, 3, 6)
    assert (found.threads, found.seed) == (2, 9)
    assert (found.timeout_s, found.start) == (60.0, "interpreter")


def test_the_command_line_can_be_typed_again():
    assert flags.command_line(["run", "--filter", "^a b$"]) == "xlabench run --filter '^a b$'"


def test_every_flag_has_a_help_text():
    """A flag nobody explains does not exist."""
    parser = argparse.ArgumentParser()
    flags.add_plan_flags(parser)
    flags.add_measure_flags(parser)
    assert [action.dest for action in parser._actions if not action.help] == []
