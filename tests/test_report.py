"""`xlabench report` over the store and over files named: what it prints, refuses and leaves behind."""

import json
import re
import shutil
from pathlib import Path

import pytest

import xlabench
from store.report import Report, render
from store.report.table import Step, Table, text_columns
from tests.store.factory import demo_store, make_record, write_lines
from tests.store.peer_records import peer_record, write_peer
from tests.tiers import first_of
from xlabench import command


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    demo_store(folder)
    return folder


@pytest.fixture
def report(capfdbinary, monkeypatch, tmp_path):
    """Run the verb where there is no home; returns exit code, what it printed, and what it said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XLABENCH_HOME", raising=False)

    def run(*words):
        code = xlabench.main(["report", *map(str, words)])
        out, err = capfdbinary.readouterr()
        return code, out, err.decode()

    return run


@pytest.fixture
def peer_file(tmp_path):
    records = [peer_record(backend=backend) for backend in ("inductor", "openxla+dynamo")]
    return write_peer(tmp_path / "files" / "peer.jsonl", records)


def test_files_are_reported_without_a_store_and_leave_nothing(report, peer_file, tmp_path):
    code, out, err = report("latest-grouped", peer_file, "--format", "csv")
    assert (code, err) == (0, "")
    assert out.decode().splitlines()[1:] == [
        "BERT_pytorch,1.0,0.0,1.0,0.0",
        "GEOMEAN,1.0,0.0,1.0,0.0",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--suite-name", "torchbanch"], "has the suite 'torchbanch'. Did you mean torchbench?"),
        (["--filter", "nosuch"], "No model of the store matches --filter and --exclude."),
        (["--backends", "inductor", "openxla+dinamo"], "backend 'openxla+dinamo'. Did you mean openxla+dynamo?"),
    ],
)
def test_the_peer_rule_refuses_an_unknown_name_as_other_rules_do(report, peer_file, words, said):
    code, out, err = report("latest", peer_file, *words)
    assert (code, out, err.count("\n")) == (2, b"", 1)
    assert said in err


def test_the_weekly_report_refuses_an_unknown_backend(report, home):
    """It had the table of speedups over a backend that nothing has measured: none."""
    code, out, err = report("weekly", "--home", home, "--backends", "inducter")
    assert (code, out) == (2, b"")
    assert "has the backend 'inducter'. Did you mean inductor?" in err


@pytest.mark.parametrize("kind", ["latest", "latest-grouped", "histogram", "speedup"])
def test_the_peer_rule_ends_with_2_where_nothing_fits_as_other_rules_do(report, peer_file, kind):
    code, out, err = report(kind, peer_file, "--rule", "peer", "--test", "train", "--format", "csv")
    assert (code, out) == (2, b"")
    assert "No result matches the filters." in err


@pytest.fixture
def two_runs(tmp_path):
    """An earlier run of two suites and backends; the newest has one of each."""
    early = [make_record(run_id="early", suite="timm_models", backend=name) for name in ("inductor", "eager")]
    late = [make_record(run_id="late", backend="eager", timestamp=1.9e9)]
    write_lines(tmp_path / "early.jsonl", early)
    write_lines(tmp_path / "late.jsonl", late)
    return tmp_path / "early.jsonl", tmp_path / "late.jsonl"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--backends", "eager", "inductor"], "No result of the report has the backend 'inductor'."),
        (["--run", "late", "--test", "eval", "--test", "train"], "No result of the report has the test 'train'."),
        (
            ["--run", "early", "--suite-name", "timm_models", "--suite-name", "torchbench"],
            "No result of the report has the suite 'torchbench'.",
        ),
    ],
)
@pytest.mark.parametrize("rule", ["paired", "hud"])
def test_a_report_without_a_part_that_was_asked_for_is_partial(report, two_runs, words, said, rule):
    """A column or a table was missing, and the exit code was 0."""
    run = [] if "--run" in words else ["--run", "late"]
    code, out, err = report(*two_runs, *run, *words, "--rule", rule, "--format", "csv")
    assert (code, err) == (3, f"xlabench: {said}\n")
    assert out


def test_a_baseline_of_another_run_is_not_missed(report, tmp_path):
    records = [make_record(run_id="early"), make_record(run_id="late", backend="eager", timestamp=1.9e9)]
    write_lines(tmp_path / "a.jsonl", records)
    words = ["--run", "late", "--backends", "inductor", "eager", "--baseline", "early"]
    code, _, err = report(tmp_path / "a.jsonl", *words)
    assert (code, err) == (0, "")


def test_a_baseline_that_no_result_has_makes_the_report_partial(report, tmp_path):
    for name, model in (("early", "vgg16"), ("late", "resnet18")):
        write_lines(tmp_path / f"{name}.jsonl", [make_record(run_id=name, model=model)])
    files = sorted(tmp_path.glob("*.jsonl"))
    code, out, err = report(*files, "--run", "late", "--baseline", "early")
    assert (code, err) == (3, "xlabench: No result of the report has a speedup over run early.\n")
    assert b"resnet18" in out


@pytest.mark.parametrize("rule", ["paired", "peer"])
def test_each_filter_matches_a_model(report, two_runs, rule):
    name = make_record().model.model_name
    code, out, err = report(*two_runs, "--filter", name, "--filter", "nosuch", "--rule", rule)
    assert (code, out) == (2, b"")
    assert "No model of the store matches --filter 'nosuch'. Correct or remove it." in err


def test_each_reviewed_run_has_something_to_review(report, tmp_path):
    records = [make_record(run_id="night"), make_record(run_id="floors", purpose="calibration")]
    write_lines(tmp_path / "a.jsonl", records)
    code, out, err = report("weekly", tmp_path / "a.jsonl", "--run", "night", "--run", "floors")
    assert (code, out) == (2, b"")
    assert "floors measured nothing that can be reviewed." in err


def test_files_need_no_word_for_the_report(report, tmp_path):
    write_lines(tmp_path / "a.jsonl", [make_record(), make_record(backend="eager")])
    code, out, _ = report(tmp_path / "a.jsonl", "--format", "json", "--rule", "paired")
    assert code == 0
    assert json.loads(out)["title"].startswith("Speedup over inductor")


@pytest.mark.parametrize("rule", first_of(["paired", "peer", "hud"], 2))
def test_an_accelerator_is_a_kind_or_a_model(report, tmp_path, rule):
    """As in PyTorch/XLA's aggregate.py; of the runs on such a device the newest is reported."""
    records = []
    for number, device in enumerate(("Tesla V100-SXM2", "NVIDIA L4", "Tesla V100-SXM2")):
        for backend in ("eager", "inductor"):
            record = make_record(backend=backend, run_id=f"run-{number}", timestamp=1.7e9 + number * 1e5)
            record.experiment.accelerator, record.experiment.accelerator_model = "cuda", device
            records.append(record)
    write_lines(tmp_path / "a.jsonl", records)
    code, out, err = report(
        "speedup", tmp_path / "a.jsonl", "--accelerator", "v100", "--test", "inference", "--rule", rule
    )
    assert (code, err) == (0, "")
    assert rule == "peer" or b"run-2" in out
    assert b"run-1" not in out
    if rule != "peer":
        assert report("speedup", tmp_path / "a.jsonl", "--accelerator", "cuda", "--rule", rule)[0] == 0
        code, _, err = report("speedup", tmp_path / "a.jsonl", "--accelerator", "h100", "--rule", rule)
        assert (code, "results that match the other filters have: NVIDIA L4, Tesla V100-SXM2" in err) == (2, True)


def test_lines_that_are_no_records_make_it_partial(report, peer_file):
    with peer_file.open("a") as file:
        file.write("no json\n")
    code, out, err = report("latest", peer_file)
    assert code == 3
    assert "peer.jsonl, line 3" in err
    assert b"BERT_pytorch" in out


def test_a_file_without_a_record_is_a_usage_error(report, tmp_path):
    (tmp_path / "a.jsonl").touch()
    code, out, err = report("latest", tmp_path / "a.jsonl")
    assert (code, out) == (2, b"")
    assert "contain no record" in err


def test_of_a_file_that_has_no_record_the_first_line_says_why(report, tmp_path):
    """A model's source was answered with an error for each of its lines."""
    (tmp_path / "mymodel.py").write_text("import torch\n\n\nclass Net(torch.nn.Module):\n    pass\n")
    code, out, err = report(tmp_path / "mymodel.py")
    assert (code, out, err.count("\n")) == (2, b"", 1)
    assert "contain no record (" in err
    assert "mymodel.py, line 1 (byte 0): not JSON" in err


def test_a_report_goes_to_a_file(report, home, tmp_path):
    code, out, _ = report("--home", home, "--format", "markdown", "--output", tmp_path / "a.md")
    assert (code, out) == (0, b"")
    assert (tmp_path / "a.md").read_text().startswith("# Speedup over inductor")


@pytest.mark.parametrize(
    ("name", "words", "begin"),
    [
        ("a.md", [], b"# Speedup over inductor"),
        ("a.html", [], b"<!doctype html>"),
        ("a.CSV", [], b"# model,"),
        ("a.json", [], b"{"),
        ("a.png", [], b"\x89PNG"),
        ("a.txt", [], b"Speedup over inductor"),
        ("a.out", [], b"Speedup over inductor"),
        ("a.html", ["--format", "markdown"], b"# Speedup over inductor"),
        ("a.html", ["weekly"], b"<!doctype html>"),
    ],
)
def test_the_ending_of_a_file_names_the_format(report, home, tmp_path, name, words, begin):
    """`-o x.html` held text, and a browser showed one line."""
    code, out, _ = report(*words, "--home", home, "--output", tmp_path / name)
    assert (code, out) == (0, b"")
    assert (tmp_path / name).read_bytes().lstrip().startswith(begin)


def test_only_the_report_of_a_terminal_names_the_home():
    """Its commands are pasted here; other formats are passed on to people who must not learn this machine's paths."""
    step = Step(why="it failed", command="xlabench run --retry-failed")
    rows = (("`xlabench doctor` names programs", "xlabench run --only a/b"),)
    table = Table(title="t", columns=text_columns("what to do", "reproduce"), rows=rows)
    told = Report(title="t", tables=(table,), notes=("`xlabench calibrate` helps.",), steps=(step,))
    home = Path("/secret/home")
    texts = {
        form: render(command.report_with_places(told, form, home, home / "store"), form)
        for form in ("text", "html", "markdown", "json", "csv")
    }
    assert texts["text"].count("--home /secret/home") == 4
    assert [form for form in texts if "/secret" in texts[form]] == ["text"]


def test_the_baseline_may_be_of_another_time_or_run(report, home):
    """The second run of the demonstration takes 0.9 of the first one's times."""

    def geomean(*words):
        found = json.loads(report("--home", home, "--format", "json", *words)[1])
        [table] = [table for table in found["tables"] if table["title"] == "Geometric means"]
        titles = [column["title"] for column in table["columns"]]
        rows = [dict(zip(titles, row, strict=True)) for row in table["rows"]]
        [own] = [row for row in rows if (row["variant"], row["test"]) == ("inductor", "eval")]
        return found["title"], own["Geomean speedup"]

    assert geomean("--baseline", "same")[1] == pytest.approx(1)
    title, value = geomean("--baseline", "oldest")
    assert title.startswith("Speedup over inductor (its oldest results)")
    assert value == pytest.approx(1 / 0.9)
    title, value = geomean("--baseline", "1111")
    assert title.startswith("Speedup over inductor of run 11111111-aaaa")
    assert value == pytest.approx(1 / 0.9)


def test_every_rule_has_a_picture(report, home):
    for rule, says in (("paired", "Speedup over inductor"), ("hud", "Speedup vs eager")):
        code, out, _ = report("--home", home, "--rule", rule, "--format", "svg", "--title", "second line")
        assert code == 0
        texts = re.findall(">([^<]+)<", out.decode())
        assert f"{says} (log scale; right of 1 is faster)" in texts
        assert {"second line", "dcgan eval", "n = 6"} <= set(texts)
        assert ("openxla+dynamo" in texts, "inductor" in texts) == (True, rule == "hud")


def test_the_huds_rule_is_one_of_three(report, home):
    code, out, _ = report("--home", home, "--rule", "hud", "--format", "markdown")
    assert code == 0
    assert out.decode().startswith("# HUD rule, run 22222222-bbbb")


def test_the_review_of_files_is_written_to_a_file(report, home, tmp_path):
    code, out, _ = report("weekly", home / "runs", "--format", "html", "--output", tmp_path / "a.html")
    assert (code, out) == (0, b"")
    written = (tmp_path / "a.html").read_text()
    assert "<h2>Passing on Example CPU" in written
    assert "Review of 2025-10-10: nightly" in written


def test_the_review_has_what_was_said_of_its_findings(report, home, tmp_path):
    from datetime import datetime

    from store.state import reviews

    shutil.copytree(home / "store", tmp_path / "store")
    subject = reviews.Subject(run_id="22222222-bbbb", series="of a series", finding="speed")
    at = datetime(2026, 11, 21, 14)  # noqa: DTZ001 (UTC)
    entry = reviews.Entry(subject=subject, what="slower: vgg16", note="seen", who="ann", verified=False, created_at=at)
    reviews.add(tmp_path / "state.sqlite", [entry])
    _, out, _ = report("weekly", "--home", tmp_path)
    assert "| slower: vgg16 | open |" in out.decode()
    assert "ann (unverified) | 2026-11-21 14:00 UTC" in out.decode()


def test_a_picture_is_written(report, peer_file, tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need the extra `plots`")
    assert report("latest", peer_file, "--format", "svg", "-o", tmp_path / "a.svg")[0] == 0
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    assert report("speedup", peer_file, "--rule", "peer", "--format", "png")[1].startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["nothing"],
            (
                "nothing is neither a report (speedup, latest, latest-grouped, histogram, payoffs, fallbacks, weekly) "
                "nor a file"
            ),
        ),
        (["--fig-width", "0"], "--fig-width: '0' is not a number above 0."),
        (["--fig-width", "nan"], "--fig-width: 'nan' is not a number above 0."),
        (["--fig-height", "1e9"], "--fig-height: 1e9 is not a number of inches from 1 to 100."),
        (["--output", "."], "--output . is a folder; name a file."),
        (["latest", "--rule", "paired"], "require --rule peer"),
        (["latest", "--baseline", "same"], "oldest or latest"),
        (["weekly", "--baseline", "latest"], "compares with --since"),
        (["weekly", "--filter", "a"], "whole runs"),
        (["--dashboard", "http://a"], "require the report weekly"),
        (["weekly", "--rule", "peer"], "remove --rule"),
        (["weekly", "--format", "png"], "contains charts with --format html"),
        (["payoffs", "--rule", "hud"], "The report payoffs has its own rule and no baseline"),
        (["payoffs", "--baseline", "oldest"], "The report payoffs has its own rule and no baseline"),
        (["fallbacks", "--rule", "hud"], "The report fallbacks has its own rule and no baseline"),
        (["fallbacks", "--format", "svg", "--output", "x.svg"], "The report fallbacks has no chart"),
        (["weekly", "--backends", "eager", "inductor"], "pass one backend to --backends"),
        (["--title", "a"], "--title, --fig-width and --fig-height are for charts; add --format png or svg."),
        (["latest", "--fig-height", "5", "--format", "csv"], "are for charts; add --format png or svg."),
        (["--since", "2026-01-01"], "require the report weekly"),
        (["latest", "--run", "a"], "remove --run"),
        (["latest", "--test", "eval", "--test", "training"], "one test at a time"),
    ],
)
def test_what_does_not_go_together_is_said_in_one_sentence(report, capfdbinary, words, said):
    try:
        code, out, err = report(*words)
    except SystemExit as ended:
        code, (out, err) = ended.code, map(bytes.decode, capfdbinary.readouterr())
    assert (code, len(out)) == (2, 0)
    assert said in err
    assert err.count("\n") == 1
