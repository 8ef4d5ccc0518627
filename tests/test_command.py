"""The command names what was probably meant, and takes flags before or after files."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import xlabench
from runner.plan import LocalRequest
from runner.settings import Settings
from store import places
from store.ingest import ingest
from tests.store.factory import RUN_START, demo_records, demo_store, make_record, plan_for, write_lines, write_run
from xlabench import completion, measuring

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    demo_store(folder)
    return folder


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["pln"], "plan"),
        (["help"], "--help"),
        (["jobs", "lst"], "list"),
        (["jobs", "submit", "--sute-name", "dummy"], "--suite-name"),
        (["report", "--backnds", "eager"], "--backends"),
        (["plan", "--suite-name", "dumy"], "dummy"),
        (["plan", "--suite-name", "timm_models", "--filter", "resnt18"], "resnet18, "),
        (["plan", "--filter", "resnt18"], "resnet18, "),
        (["report", "--backends", "inductr"], "inductor"),
        (["report", "--suite-name", "torchbnch"], "torchbench"),
        (["report", "--filter", "BERT_pytoch"], "BERT_pytorch"),
    ],
)
def test_a_mistyped_name_is_refused_with_the_names_close_to_it(capsys, home, words, meant):
    """Exit code 2 and one sentence, as for all bad input."""
    words = [*words, "--home", str(home)] if words[0] == "report" else words
    try:
        code = xlabench.main(words)
    except SystemExit as ended:
        code = ended.code
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"Did you mean {meant}" in err
    assert "choose from" not in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "--backends", "eager"], "There is no flag --backends. Did you mean --backend? See"),
        (["--home", "x", "run"], "There is no verb 'x'. Put flags such as --home after the verb."),
        (["plan", "--filter"], "--filter/-k requires a value."),
        (["plan", "resnet18"], "there is no such model. For a model of a suite, pass --only resnet18."),
        (["run", "timm_models/test_resnet.r160"], "model of a suite, pass --only timm_models/test_resnet.r160. Name a"),
        (["run", "runner/test_resnet"], "runner/test_resnet: there is no such model. Name a file such as"),
        (
            ["run", "timm:nosuch"],
            "timm:nosuch: there is no model 'timm_models/nosuch'. `xlabench plan` lists the models.",
        ),
        (
            ["run", "timm:resnet18", "--verify", "--no-verify"],
            "--no-verify excludes --verify and --verify-only; use one.",
        ),
        (["plan", "--smoke", "--no-verify"], "--no-verify requires a model of your own, for example `xlabench run"),
        (["run", "--suite-name", "dummy", "--label", ""], "--label: the value is empty."),
        (["jobs", "submit", "--smoke", "--label", " "], "--label: the value is empty."),
        (["report", "--accelerator", ""], "--accelerator: the value is empty."),
        (["ingest", ""], "PATH: the value is empty."),
        (["ingest", "--rebuild", ""], "PATH: the value is empty."),
        (["report", "--format", "csv", ""], "KIND|FILE: the value is empty."),
        (["report", "--home", ""], "--home: the value is empty."),
        (["run", "--smoke", "--output-dirname", ""], "--output-dirname: the value is empty."),
        (["sql", "--database", "", "SELECT 1"], "--database: the value is empty."),
        (["jobs", "submit", "--smoke", "--key", ""], "--key: the value is empty."),
        (["plan", "--smoke", "--amp-dtype", "bfloat16"], "requires --dtype amp, but the dtype is float32."),
        (["run", "--smoke", "--retry-failed", "--no-resume"], "--no-resume starts a new one; use one."),
        (
            ["plan", "--suite-name", "dummy", "--filter", "nonzero", "--filter", "nosuch"],
            "No model matches --filter 'nos",
        ),
        (["compare", "a", "b", "--no-wait"], "--no-wait requires --confirm, which measures again; pass both."),
        (["plan", "--ops-of", "dummy/dumy"], "--ops-of: there is no model 'dummy/dumy'. Did you mean dummy?"),
        (["plan", "--ops-of", ""], "--ops-of : pass a model as SUITE/NAME, or a file with an execution trace."),
        (["plan", "--filter-by-tier", "9"], "--filter-by-tier 9 is not valid. Choose one of 1, 2, 3."),
        (["plan", "--filter-by-tier", "x"], "--filter-by-tier: 'x' is not a whole number."),
        (["plan", "--ops-of", "/trace.json"], "pass a model as SUITE/NAME, or a file with an execution trace."),
        (["jobs", "submit", "--confirm", "A"], "--confirm requires 2 values."),
        (["run", "--smoke=yes"], "--smoke takes no value; remove 'yes'."),
        (["mark", "add", "x", "--run", "1", "--at", "2026-01-01"], "--at and --run exclude each other; use one."),
        (["jobs"], "An argument is missing: submit|list|show|log|cancel|retry."),
        (["calibrate", "extra"], "The argument 'extra' is unexpected. Remove it."),
        (["run", "--accelerator", "gpu"], "--accelerator gpu is not valid. Choose one of cpu, cuda, tpu, xpu."),
        (["notices", "list", "--limit", "0"], "--limit: '0' is not a whole number of at least 1."),
        (["run", "--suite-name", "dummy", "--dry-run", "--warmup-max", "4"], "raise --warmup-max to 5."),
        (["run", "--suite-name", "dummy", "--dry-run", "--exclude", "."], "No experiment matches. Relax"),
        (["plan", "--suite-name", "dummy", "--exclude", "."], "No experiment matches. Relax"),
        (["mark", "add", " "], "TEXT: the value is empty."),
        (["jobs", "show", "x"], "NUMBER: 'x' is not a whole number of at least 1."),
        (["jobs", "list", "--home", __file__], "is a file. Name a folder with --home or $XLABENCH_HOME."),
        (["run", "--suite-name", "dummy", "--database", __file__], "is a file. Name a folder with --database."),
    ],
)
def test_bad_input_is_a_whole_sentence_that_says_what_to_do(capsys, monkeypatch, words, says):
    """Exit code 2; no value of a few is suggested that merely looks alike."""
    monkeypatch.chdir(ROOT)
    try:
        code = xlabench.main(words)
    except SystemExit as ended:
        code = ended.code
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


def test_serve_refuses_a_broken_settings_file(capsys, tmp_path):
    """It served pages without the settings, and its worker reported the file again and again."""
    (tmp_path / "xlabench.toml").write_text("[jobs]\nqueue = 'many'\n")
    assert xlabench.main(["serve", "--home", str(tmp_path), "--base-path", "no path"]) == 2
    assert "xlabench.toml cannot be read: line 2: jobs.queue: Expected `int`, got `str`." in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("jobs", "list"),
        ("jobs", "list", "--format", "json"),
        ("schedule", "list", "--strict"),
        ("mark", "list"),
        ("notices", "list", "--format", "json"),
        ("notices", "look"),
    ],
)
def test_what_reads_a_home_refuses_one_that_is_not_there(capsys, tmp_path, words):
    """A mistyped home had no jobs, no late runs and no notices, and the exit code was 0."""
    home = tmp_path / "mistyped"
    assert xlabench.main([*words, "--home", str(home)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"xlabench: There is no home {home}: name it with --home or $XLABENCH_HOME.\n")
    assert not home.exists()


def test_the_run_of_the_sides_is_refused_where_the_sides_are_runs(capsys, home):
    words = ["compare", "previous", "latest", "--run", "nightly", "--home", str(home)]
    assert xlabench.main(words) == 2
    assert "A and B are runs; remove --run." in capsys.readouterr().err


@pytest.mark.parametrize(("strict", "code"), [([], 3), (["--strict"], 1)])
def test_a_run_that_skips_everything_is_no_success(capsys, tmp_path, strict, code):
    """On a machine that had lost its GPU, a nightly run measured nothing and passed."""
    # Device events need CUDA, so everything is skipped on the CPU of any machine.
    words = ["run", "--suite-name=dummy", "--accelerator=cpu", "--pure-wall-time", "--backend=eager", "--test=eval"]
    assert xlabench.main([*words, "--home", str(tmp_path), *strict]) == code
    said = capsys.readouterr()
    assert "Measured 0 experiments" in said.out
    assert said.err == "xlabench: Nothing was measured: every experiment of the plan is skipped.\n"


def test_a_side_is_not_compared_with_itself(capsys, home):
    """It answered "the same", whatever was asked for."""
    assert xlabench.main(["compare", "latest", "22222222-bbbb", "--home", str(home)]) == 2
    assert "'latest' and '22222222-bbbb' are the same. Name two different runs" in capsys.readouterr().err


@pytest.mark.parametrize(("fail_on", "code"), [([], 0), (["--fail-on", "regression"], 2)])
def test_what_cannot_be_compared_gives_no_all_clear(capsys, tmp_path, fail_on, code):
    for number, model in enumerate(("resnet18", "vgg16")):
        record = make_record(run_id=f"run-{number}", model=model, timestamp=RUN_START + number)
        write_run(tmp_path / "runs" / f"run-{number}", [record])
    ingest([tmp_path / "runs"], tmp_path / "store")
    assert xlabench.main(["compare", "previous", "latest", "--home", str(tmp_path), *fail_on]) == code
    said = capsys.readouterr()
    assert "The sides have no experiment in common" in " ".join(said.out.split())
    assert ("--fail-on cannot decide: no experiment of A and B can be compared" in said.err) == bool(fail_on)


def night(home, number, *, slower=1.0, status="ok"):
    """Write and ingest a run of two models, three processes each: of vgg16 as given."""
    records = [
        make_record(
            run_id=f"run-{number}",
            model=model,
            timestamp=RUN_START + number,
            replica=replica,
            status=status if model == "vgg16" else "ok",
            message="killed by signal 11" if model == "vgg16" and status == "crashed" else None,
            per_iter=[0.010 * (slower if model == "vgg16" else 1) * (1 + 0.002 * replica)] * 10,
        )
        for model in ("resnet18", "vgg16")
        for replica in range(3)
    ]
    write_run(home / "runs" / f"run-{number}", records)
    ingest([home / "runs"], home / "store")


@pytest.mark.parametrize(
    ("changed", "regression", "suspected"),
    [
        ({}, (0, ""), (0, "")),
        ({"status": "disturbed"}, (0, ""), (0, "")),
        (
            {"slower": 1.5},
            (2, "cannot decide: 1 experiment is slower, but only suspected."),
            (1, "--fail-on suspected: 1 experiment is slower."),
        ),
        ({"status": "crashed"}, *2 * [(1, "1 experiment passed in A and failed in B.")]),
    ],
)
def test_a_gate_opens_only_where_nothing_is_slower_and_nothing_newly_fails(
    capsys, tmp_path, changed, regression, suspected
):
    """Runs of two days confirm nothing, so a gate for confirmed regressions has no all-clear for a suspicion."""
    night(tmp_path, 0)
    night(tmp_path, 1, **changed)
    for fail_on, (code, says) in (("regression", regression), ("suspected", suspected)):
        words = ["compare", "previous", "latest", "--home", str(tmp_path), "--fail-on", fail_on]
        assert xlabench.main(words) == code
        said = capsys.readouterr().err
        assert says in said
        assert bool(said) == bool(says)


def test_a_printed_command_works_in_the_home_that_was_given(capsys, home):
    assert xlabench.main(["compare", "nonsense", "latest", "--home", str(home)]) == 2
    [printed] = re.findall(r"`(xlabench sql .*?)` lists the runs", capsys.readouterr().err)
    assert xlabench.main(shlex.split(printed)[1:]) == 0


@pytest.mark.parametrize(
    "words",
    [
        ("report", "--run"),
        ("report", "payoffs", "--run"),
        ("report", "weekly", "--run"),
        ("report", "weekly", "--since"),
        ("report", "--baseline"),
        ("export", "--format", "peer", "--run"),
        ("repro", "--run"),
        ("compare", "eager", "inductor", "--run"),
        ("mark", "add", "x", "--run"),
    ],
)
def test_every_flag_that_takes_a_run_names_the_runs_close_to_an_unknown_one(capsys, home, words):
    assert xlabench.main([*words, "nightyl", "--home", str(home)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "The store has no run 'nightyl'. Did you mean nightly? `xlabench sql --home" in err


@pytest.mark.parametrize(
    "words",
    [
        ("report", "--run"),
        ("report", "--baseline"),
        ("export", "--format", "peer", "--run"),
        ("repro", "--run"),
        ("compare", "eager", "inductor", "--format", "csv", "--run"),
    ],
)
def test_every_flag_that_takes_a_run_takes_a_label_whose_newest_run_counts(capfd, home, words):
    said = []
    for name in ("nightly", "22222222-bbbb"):
        assert xlabench.main([*words, name, "--home", str(home)]) == 0
        said.append(capfd.readouterr())
    assert said[0].out == said[1].out != ""


def test_a_home_of_the_variable_is_in_a_printed_command(capsys, monkeypatch, home):
    monkeypatch.setenv("XLABENCH_HOME", str(home))
    assert xlabench.main(["report"]) == 0
    assert f"xlabench run --home {home} --only torchbench/" in capsys.readouterr().out
    monkeypatch.chdir(home)
    monkeypatch.delenv("XLABENCH_HOME")
    (home / "xlabench-data").symlink_to(home)
    assert xlabench.main(["report"]) == 0
    assert "    xlabench run --only torchbench/" in capsys.readouterr().out


def test_a_printed_command_names_the_store_where_its_verb_takes_one():
    for verb, parser in xlabench._parser()._subparsers._group_actions[0].choices.items():
        assert (verb not in places.WITHOUT_STORE) == ("--database" in parser._option_string_actions), verb


@pytest.mark.parametrize(
    ("store", "further", "says"),
    [
        ("store", (), r"They take about \d+ .*, judging by \d+ records of earlier runs\."),
        ("store", ("other",), r"\d+ of them take about \d+ .*; how long the rest takes is unknown\."),
        ("none", (), "How long they take is unknown: no earlier run in the store tells."),
    ],
)
def test_a_plan_of_everything_begins_with_its_size_and_its_duration(capsys, home, store, further, says):
    """Off a terminal it goes on: nobody could answer."""
    records = [*demo_records("id", 1e9, 1.0, "label"), *(make_record(model=name) for name in further)]
    runnable = [entry for entry in plan_for(records) if entry.runnable]
    assert measuring._user_agrees(runnable, Settings(), home / store)
    size, duration, advice = capsys.readouterr().out.splitlines()
    models = len({entry.config.model_name for entry in runnable})
    assert f"everything is planned: {len(runnable)} experiments of {models} models under 4 backends." in size
    assert re.fullmatch(says, duration)
    assert "add --dry-run" in advice


@pytest.mark.parametrize(
    ("fields", "selected"),
    [
        ({}, False),
        ({"backend": ("eager",), "test": ("eval",)}, False),
        ({"filter": ("resnet",)}, True),
        ({"models_file": Path("models.txt")}, True),
        ({"smoke": True}, True),
    ],
)
def test_only_a_request_that_names_no_suite_or_model_is_announced(fields, selected):
    assert measuring._is_selected(LocalRequest().changed(**fields)) == selected


def test_a_name_that_is_not_utf8_is_refused(capsys, tmp_path):
    """No file of a run can hold it; the command ended with a traceback."""
    words = ["run", "--suite-name", "dummy", "--backend", "eager", "--test", "eval", "--home", str(tmp_path)]
    assert xlabench.main([*words, "--label", "a\udcff"]) == 2
    error = capsys.readouterr().err
    assert r"xlabench: 'a\udcff' is not UTF-8, so no record can hold it. Choose another name." in error
    assert [file.read_text() for file in tmp_path.rglob("results.jsonl")] in ([], [""])


def test_help_of_calibrate_names_its_own_number_of_processes(capsys):
    assert "an even number (default: 6)" in " ".join(helped(capsys, "calibrate", "--help").split())


def test_a_name_that_is_close_to_nothing_gets_the_names_that_exist(capsys, home):
    assert xlabench.main(["report", "--backends", "tvm", "--home", str(home)]) == 2
    assert "The store has: " in capsys.readouterr().err


def test_a_file_stands_after_a_flag_that_takes_several_names(capsysbinary, tmp_path):
    file = tmp_path / "a.jsonl"
    write_lines(file, [make_record(), make_record(backend="eager")])
    assert xlabench.main(["report", "speedup", "--backends", "inductor", "eager", str(file)]) == 0
    assert b"eager" in capsysbinary.readouterr().out


def helped(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        xlabench.main(list(words))
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("verb", [["plan"], ["run"], ["calibrate"], ["jobs", "submit"], ["schedule", "add"]])
def test_help_of_a_long_verb_shows_its_usual_flags_and_examples(capsys, verb):
    short, whole = helped(capsys, *verb, "--help"), helped(capsys, *verb, "--help-all")
    assert len(short.splitlines()) < 75 < len(whole.splitlines())
    assert "--backend NAME" in short
    assert "--inductor-config" not in short
    assert "--inductor-config" in whole
    examples = [line.removeprefix("  $ xlabench ") for line in short.splitlines() if line.startswith("  $ ")]
    assert examples
    for example in examples:
        assert xlabench._parser().parse_args(shlex.split(example.partition(" > ")[0]))


def test_a_typed_verb_is_parsed_as_among_all_verbs():
    every = xlabench._parser()._subparsers._group_actions[0].choices
    assert list(every) == list(xlabench._VERBS)
    for verb, parser in every.items():
        [(name, alone)] = xlabench._parser(verb)._subparsers._group_actions[0].choices.items()
        assert (name, alone.format_help_all()) == (verb, parser.format_help_all())


def test_the_summary_of_each_verb_is_one_whole_sentence(capsys):
    text = " ".join(helped(capsys, "--help").split())
    summaries = [action.help for action in xlabench._parser()._subparsers._group_actions[0]._choices_actions]
    assert len(summaries) == 19
    for summary in summaries:
        assert summary in text
        assert summary.endswith(".")
        assert summary.count(". ") == 0


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["cal"], {"calibrate"}),
        (["jobs", "s"], {"submit", "show"}),
        (["run", "--suite-n"], {"--suite-name"}),
        (["run", "--filter", "x", "--suite-name", "timm"], {"timm_models"}),
        (["run", "--backend", "openxla+"], {"openxla+lazytensor", "openxla+dynamo"}),
        (["report", "speedup", "--backends", "eager", "indu"], {"inductor"}),
        (["run", "--suite-name", "dummy", "--only", "dummy_"], {"dummy_nonzero"}),
        (["plan", "--ops-of", "dummy/dummy_"], {"dummy/dummy_nonzero"}),
        (["run", "--cache", "--o"], {"--ops-of", "--only", "--own-priority", "--output-dirname"}),
        (["run", "--verify", "x"], set()),
    ],
)
def test_a_word_that_has_begun_is_completed(words, found):
    assert set(completion.completions(xlabench._parser(), words)) == found


def test_bash_completes_with_the_script_and_no_torch():
    script = f"""
    xlabench() {{ {sys.executable} -c "import sys
sys.modules['torch'] = None
import xlabench
sys.exit(xlabench.main(sys.argv[1:]))" "$@"; }}
    eval "$(xlabench completion bash)"
    COMP_WORDS=(xlabench run --suite-name timm_models --only resnet18); COMP_CWORD=5
    _xlabench; echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "resnet18" in done.stdout.split()


@pytest.mark.parametrize(
    ("shell", "check", "found"),
    [
        ("fish", "complete -C 'xlabench run --backend induc'", ["inductor"]),
        ("fish", "cd docs; complete -C 'xlabench run --backend ea'", ["eager", "eager+dynamo"]),
        ("fish", "complete -C 'xlabench run CHANGE'", ["CHANGELOG.md"]),
        ("zsh", "words=(xlabench run --backend induc); CURRENT=4; compadd() { echo $2; }; _xlabench", ["inductor"]),
    ],
)
def test_fish_and_zsh_complete_with_the_script(shell, check, found):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not here to ask")
    command = f"{sys.executable} -m xlabench"
    ours = {
        "fish": f"function xlabench; {command} $argv; end",
        "zsh": f'xlabench() {{ {command} "$@"; }}; compdef() {{}}',
    }
    script = "\n".join((ours[shell], completion._SCRIPTS[shell], check))
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout.split() == found


def test_a_plan_ends_with_success_if_the_reader_of_its_pipe_has_closed_it():
    """As docs/exit-codes.md says; rich itself would end the process with code 1 and no message."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    words = [sys.executable, "-m", "xlabench", "plan", "--suite-name", "dummy", "--accelerator", "cpu"]
    done = subprocess.run(words, stdout=write_end, stderr=subprocess.PIPE, check=False, cwd=ROOT)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (0, b"")


_INTERRUPTED_TWICE = """
import atexit, os, signal, sys
import xlabench

def interrupted(name):
    raise KeyboardInterrupt

xlabench._parser = interrupted
atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
sys.exit(xlabench.main())
"""


def test_a_second_ctrl_c_while_the_command_ends_changes_nothing():
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_TWICE, "run"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "xlabench: Interrupted.\n")
