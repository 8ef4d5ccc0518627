"""The weekly review says what changed between two runs, why, and how sure that is."""

import csv
import io
import json
import re
import shutil
from datetime import datetime

import pytest

import xlabench
from store import query
from store.errors import UsageError
from store.ingest import ingest
from store.record import FallbackOp, Graph, Replacement
from store.weekly import counts, weekly_report
from store.weekly.flips import since_of
from tests.store import weekly_runs
from tests.store.factory import DAY, later, make_environment, make_record, write_run
from tests.store.scenes import Scenes
from tests.store.weekly_runs import BETWEEN, LAST, NOW
from tests.tiers import first_of


@pytest.fixture(scope="module")
def con(weeks):
    with query.connect(query.current_snapshot(weeks / "store")) as opened:
        yield opened


@pytest.fixture(scope="module")
def review(con):
    return weekly_report(con)


@pytest.fixture(scope="module")
def review_json(review):
    """Return the review as JSON, which the tests only read."""
    return json.loads(review.render("json"))


@pytest.fixture
def written(weeks, tmp_path):
    """Ingest more runs into a copy of the store of the three; returns the connection."""
    opened = []

    def make(write):
        shutil.copytree(weeks / "store", tmp_path / "store")
        write(tmp_path)
        ingest([tmp_path / "runs"], tmp_path / "store")
        opened.append(query.connect(query.current_snapshot(tmp_path / "store")))
        return opened[-1]

    yield make
    for con in opened:
        con.close()


@pytest.fixture(scope="module")
def more_con(weeks, tmp_path_factory):
    """The store of the three and of runs that confirm, rerun a few models, and measure payoffs."""
    folder = tmp_path_factory.mktemp("more")
    shutil.copytree(weeks / "store", folder / "store")
    weekly_runs.confirming(folder)
    weekly_runs.confirming(folder, run="confirm-04", backend="eager")
    weekly_runs.confirming(folder, run="confirm-05", backend="openxla+lazytensor", transformers="5.0.0")
    for run, after in (("few-before", LAST), ("few-after-", NOW)):
        record = make_record(run_id=run, timestamp=weekly_runs.STARTED[after] + 60)
        write_run(folder / "runs" / run, [record])
    paying(folder)
    with query.connect(ingest([folder / "runs"], folder / "store").snapshot) as opened:
        yield opened


@pytest.fixture(scope="module")
def larger_review_json(more_con):
    return json.loads(weekly_report(more_con).render("json"))


def table(found, title):
    [one] = [table for table in found["tables"] if table["title"] == title]
    titles = [column["title"] for column in one["columns"]]
    return [dict(zip(titles, row, strict=True)) for row in one["rows"]]


def names(rows):
    return [(row["model"], row["test"], row["variant"]) for row in rows]


def test_counts_stand_beside_those_of_last_time(review_json):
    rows = table(review_json, "Passing on Example CPU (bench-1)")
    assert [(row["variant"], row["eval"], row["train"]) for row in rows] == [
        ("inductor", "6/6 (last: 6/6)", "6/6 (last: 6/6)"),
        ("openxla+lazytensor", "5/6 (last: 6/6)", "4/5 (last: 6/6)"),
        ("openxla+dynamo", "5/6 (last: 5/6)", "5/6 (last: 5/6)"),
        ("eager", "6/6 (last: 6/6)", "6/6 (last: 6/6)"),
    ]


def test_a_new_failure_counts_when_its_retry_failed_too(review_json):
    rows = table(review_json, "Newly failing")
    assert [(row["model"], row["counts"]) for row in rows] == [
        ("resnet50", "yes"),
        ("resnet50", "yes"),
        ("dcgan", "no: not retried"),
        ("dcgan", "no: not retried"),
    ]
    assert review_json["answer"][1] == (
        "Newly failing, also when retried: 2 (resnet50 eval openxla+dynamo, resnet50 train openxla+dynamo); "
        "2 more were not retried and are not counted yet."
    )


def test_a_failure_has_its_cause_since_when_and_how_to_see_it_again(review_json):
    row = table(review_json, "Newly failing")[0]
    assert row["cause"].startswith("oom (warmup): no <b>room</b>")
    assert row["last runs"] == "new, failed 1 of 3 (FPP)"
    assert row["failing since"] == f"{NOW} (2025-10-16)"
    assert row["reproduce"] == "xlabench run --filter '^resnet50$' --backend openxla+dynamo --test eval"


def test_failures_of_one_cause_stand_together(review_json):
    rows = table(review_json, "Causes of new failures")
    assert [(row["n"], row["results"]) for row in rows] == [
        (2, "dcgan eval, dcgan train"),
        (2, "resnet50 eval, resnet50 train"),
    ]


def test_what_passes_again_says_why_it_failed(review_json):
    rows = table(review_json, "Newly passing")
    assert names(rows) == [("alexnet", test, "openxla+dynamo") for test in ("eval", "train")]
    assert {row["failed because"] for row in rows} == {"compile_error (measure): unsupported: data dependent shape"}


def test_what_passed_on_a_retry_or_failed_in_between_is_flaky_and_no_new_failure(review_json):
    rows = table(review_json, "Flaky: passes now, but not always")
    assert names(rows) == [("alexnet", "train", "eager"), *(("vgg16", test, "inductor") for test in ("eval", "train"))]
    assert [(row["attempt that passed"], row["last runs"]) for row in rows] == [
        (1, "flaky, failed 1 of 3 (PFP)"),
        (2, "flaky, failed 1 of 3 (RPP)"),
        (2, "flaky, failed 1 of 3 (RPP)"),
    ]


@pytest.mark.parametrize(("between", "flaky"), [("skipped", []), ("crashed", ["alexnet"])])
def test_a_failure_before_last_time_makes_nothing_flaky_though_runs_between_gave_no_answer(stored_runs, between, flaky):
    """The pattern has answers, not runs: runs that skip a model leave their letters to older runs."""
    statuses = ("crashed", "ok", between, between, "ok")
    days = [[later(model="dcgan"), later(model="alexnet", status=status)] for status in statuses]
    review_json = json.loads(weekly_report(stored_runs(*days), since="run-2").render("json"))
    assert [row["model"] for row in table(review_json, "Flaky: passes now, but not always")] == flaky


def test_what_failed_before_last_time_is_not_told_again(con):
    review_json = json.loads(weekly_report(con, since=BETWEEN).render("json"))
    assert ("alexnet", "train", "eager") in names(table(review_json, "Newly passing"))
    assert {row["model"] for row in table(review_json, "Flaky: passes now, but not always")} == {"vgg16"}


def test_what_is_no_longer_planned_is_told_and_no_failure(review_json):
    [row] = table(review_json, "No longer tried")
    assert (row["model"], row["test"], row["variant"]) == ("vgg16", "train", "openxla+lazytensor")
    assert row["because"] == "no longer in the plan"


def test_runs_of_two_days_are_suspected_at_most(review_json):
    rows = table(review_json, "Slower and faster")
    assert [(row["verdict"], row["certainty"], row["model"]) for row in rows] == [
        ("slower", "suspected", "BERT_pytorch"),
        ("faster", "suspected", "resnet18"),
    ]
    assert rows[0]["old / new"] == pytest.approx(1 / 1.4, rel=1e-3)
    assert rows[0]["processes"] == 3


def test_a_confirming_run_of_the_same_versions_confirms(larger_review_json):
    rows = table(larger_review_json, "Slower and faster")
    found = {(row["model"], row["variant"]): (row["verdict"], row["certainty"], row["confirming run"]) for row in rows}
    assert found["BERT_pytorch", "openxla+dynamo"] == ("slower", "confirmed", "confirm-03")
    assert found["resnet18", "inductor"] == ("faster", "suspected", None)
    assert any(sentence.startswith("Slower: 2 confirmed, 0 suspected.") for sentence in larger_review_json["answer"])


def test_a_confirming_run_may_know_what_the_two_runs_did_not(larger_review_json, review_json):
    [row] = [row for row in table(larger_review_json, "Slower and faster") if row["variant"] == "eager"]
    assert (row["model"], row["verdict"], row["certainty"]) == ("BERT_pytorch", "slower", "confirmed")
    assert row["confirming run"] == "confirm-04"
    [now, before] = (
        next(each for each in every["answer"] if each.startswith("Slower"))
        for every in (larger_review_json, review_json)
    )
    unmoved = [sum(map(int, re.search(r"(\d+) same, (\d+) ambiguous", each).groups())) for each in (now, before)]
    assert unmoved[0] == unmoved[1] - 1


def test_a_confirming_run_of_other_versions_confirms_nothing(larger_review_json, review_json):
    known = {row["variant"] for row in table(review_json, "Slower and faster")}
    assert {row["variant"] for row in table(larger_review_json, "Slower and faster")} == known | {"eager"}


def test_speedups_are_compared_over_the_same_models(review_json):
    rows = {(row["test"], row["variant"]): row for row in table(review_json, "Speedup over inductor, the same models")}
    eager = rows["eval", "eager"]
    assert (eager["n"], eager["only now"], eager["only last"]) == (6, 0, 0)
    assert eager["last"] == eager["now"] == pytest.approx(0.6)
    dynamo = rows["eval", "openxla+dynamo"]
    assert (dynamo["n"], dynamo["only now"], dynamo["only last"]) == (4, 1, 1)
    assert dynamo["now / last"] == pytest.approx((1 / 1.4) ** (1 / 4), rel=1e-3)


def test_fallback_ops_are_compared_over_what_passed_both_times(review_json):
    rows = table(review_json, "Fallback ops")
    new = [row for row in rows if row["change"] == "new"]
    assert {row["op"] for row in new} == {"nonzero"}
    assert {row["op"] for row in rows if row["change"] == "gone"} == {"_local_scalar_dense"}
    [row] = [row for row in new if (row["test"], row["variant"]) == ("eval", "openxla+dynamo")]
    assert (row["models now"], row["models last"], row["of"]) == (4, 0, 4)
    assert row["newly in"] == "BERT_pytorch, dcgan, resnet18, vgg16"


def test_structural_changes_have_both_numbers(review_json):
    rows = [row for row in table(review_json, "Structural changes") if row["test"] == "eval"]
    assert [(row["model"], row["what"], row["last"], row["now"]) for row in rows] == [
        ("resnet18", "fx ops", 100, 90),
        ("resnet18", "graph breaks", 0, 2),
    ]
    assert [(row["test"], row["results"], row["of"]) for row in table(review_json, "Results with other programs")] == [
        ("eval", 1, 6),
        ("train", 1, 6),
    ]


def test_versions_have_links_to_the_commits_between(review_json):
    rows = {row["what"]: row for row in table(review_json, "Versions")}
    assert list(rows) == ["torch", "torch_xla", "transformers"]
    assert rows["torch"]["changes"] == "https://github.com/pytorch/pytorch/compare/v2.8.0...v2.9.1"
    commits = f"{'a' * 12}...{'b' * 12}"
    assert rows["torch_xla"]["changes"] == f"https://github.com/pytorch/xla/compare/{commits}"
    assert rows["torch_xla"]["now"] == f"2.9.0 ({'b' * 12})"
    assert rows["transformers"]["changes"] is None


def test_rows_link_to_the_dashboard_where_one_is_named(con, review_json):
    assert "page" not in table(review_json, "Newly failing")[0]
    linked = weekly_report(con, dashboard="http://127.0.0.1:8501/")
    rows = table(json.loads(linked.render("json")), "Newly failing")
    address = f"http://127.0.0.1:8501/speedup?run={NOW}&suite=torchbench&model=resnet50&test=eval"
    assert rows[0]["page"] == address
    page = linked.render("html")
    assert f'<a href="{address.replace("&", "&amp;")}" rel="noreferrer">open</a>' in page
    assert "5/6 (last: 6/6)" in page
    assert "2 experiments are newly failing, 2 failed once and were not retried" in page
    with pytest.raises(UsageError, match="http://HOST:PORT"):
        weekly_report(con, dashboard="javascript:alert(1)")


def test_the_reports_own_false_alarms_are_told(review_json, con):
    assert (
        f"False alarms: Run {NOW} has no A/A controls, so its own rate of false alarms is unknown."
        in review_json["answer"]
    )


def test_a_week_is_the_default_and_the_oldest_run_its_substitute(con, review):
    assert f"against nightly of 2025-10-09 08:53 UTC ({LAST})." in review.report.answer[0]
    review_json = weekly_report(con, [BETWEEN]).report.answer[0]
    assert (
        f"({BETWEEN}) against nightly of 2025-10-09 08:53 UTC ({LAST}). No run started at or before 2025-10-06"
        in review_json
    )


@pytest.mark.parametrize("since", first_of([BETWEEN, "2025-10-13T12:00:00+02:00", "2025-10-14", "2025-10-13T08:54"], 2))
def test_since_names_a_run_or_a_time(con, since):
    assert f"against nightly of 2025-10-13 08:53 UTC ({BETWEEN})" in weekly_report(con, since=since).report.answer[0]


def test_a_word_that_names_no_run_is_a_usage_error(con):
    for since in ("yesterday", "eager"):
        says = f"--since takes a date, such as 2026-11-16, or a run. The store has no run '{since}'."
        with pytest.raises(UsageError, match=re.escape(says)):
            weekly_report(con, since=since)
    for run in ("nothing", "eager"):
        with pytest.raises(UsageError, match=f"The store has no run '{run}'"):
            weekly_report(con, [run])


def test_without_an_earlier_run_nothing_is_new(con):
    review = weekly_report(con, [LAST])
    review_json = json.loads(review.render("json"))
    [only] = review.report.answer
    assert f"nightly of 2025-10-09 08:53 UTC ({LAST}). There is no earlier run of this label and size" in only
    assert review.verdict == "There is no earlier run to compare with."
    speedups = table(review_json, "Speedup over inductor, the same models")
    assert speedups
    assert all(row["n"] and row["now"] and row["last"] is None for row in speedups)
    assert table(review_json, "Passing on Example CPU (bench-1)")[0]["eval"] == "6/6 (last: ?)"
    assert table(review_json, "Newly failing") == table(review_json, "New in the plan") == []


def test_a_label_names_its_newest_run(con):
    assert f"nightly of 2025-10-16 08:53 UTC ({NOW}) against" in weekly_report(con, ["nightly"]).report.answer[0]


def test_a_rerun_of_a_few_models_is_no_run_of_a_week(more_con, larger_review_json):
    """Neither the newest run nor the one of a week before."""
    assert f"({NOW}) against nightly of 2025-10-09 08:53 UTC ({LAST})." in larger_review_json["answer"][0]
    assert "(few-after-) against" in weekly_report(more_con, ["few-after-"]).report.answer[0]


def test_machines_and_accelerators_are_never_mixed(written):
    """Another machine's runs have a table of their own, against their own past."""
    other = make_environment(machine_id="feed" * 5, accelerator="Example GPU", host="bench-2")

    def second(home):
        for run, start in (
            ("gpu-last-1", weekly_runs.STARTED[LAST]),
            ("gpu-now-22", weekly_runs.STARTED[NOW] - DAY / 2),
        ):
            record = make_record(run_id=run, timestamp=start, environment=other, accelerator="cuda")
            write_run(home / "runs" / run, [record])

    found = json.loads(weekly_report(written(second)).render("json"))
    assert table(found, "Passing on Example GPU (bench-2)") == [{"variant": "inductor", "eval": "1/1 (last: 1/1)"}]
    assert {row["accelerator"] for row in table(found, "Newly failing")} == {"Example CPU"}
    assert [sentence.split(":")[0] for sentence in found["answer"][:2]] == ["Example CPU", "Example GPU"]


@pytest.mark.parametrize("form", ["text", "markdown", "csv", "json"])
def test_every_format_has_the_counts(review, form):
    assert "5/6 (last: 6/6)" in review.render(form)


def test_markdown_keeps_rows_whole_whatever_a_message_says(review):
    text = review.render("markdown")
    section = text.split("## Newly failing\n\n")[1].split("\n\n")[0].splitlines()
    assert len(section) == 2 + 4
    cells = [len(csv_row) for csv_row in csv.reader(io.StringIO("\n".join(section).replace(r"\|", "")), delimiter="|")]
    assert set(cells) == {len(section[0].split("|"))}
    assert "<b>" not in text


def paying(home):
    """Write a run that measured two models of this week without `nonzero`: one gains, the other's answer is wrong."""
    records = []
    for model, code in (("alexnet", "PASS"), ("dcgan", "FAIL")):
        facts = {
            "model": model,
            "backend": "openxla+dynamo",
            "purpose": "payoff",
            "run_id": "paid-03",
            "label": "payoff nonzero",
            "timestamp": weekly_runs.STARTED[NOW] + 3600,
            "order": "interleaved",
            "environment": weekly_runs.ENVIRONMENTS[NOW],
            "verification_code": code,
        }
        ops = [FallbackOp(op="nonzero", klass="no_lowering", calls_per_iteration=1.0, calls_compile=2)]
        for replica in range(3):
            steps = [1 + 0.001 * (step % 5) for step in range(10)]
            slow, fast = ([seconds * step for step in steps] for seconds in (0.018, 0.010))
            replaced = [Replacement(op="nonzero", way="decomposition", source="torch.nonzero", calls=9)]
            records += [
                make_record(**facts, replica=replica, fallback_ops=ops, per_iter=slow),
                make_record(
                    **facts, replica=replica, without_fallback=("nonzero",), replacements=replaced, per_iter=fast
                ),
            ]
    write_run(home / "runs" / "paid-03", records)


def test_a_payoff_that_was_measured_stands_in_the_answer_and_its_reason_in_the_table(larger_review_json):
    rows = table(larger_review_json, "Measured payoffs of fallback ops")
    assert [(row["op"], row["model"], row["replaced by"], row["measured by"]) for row in rows] == [
        ("nonzero", "alexnet", "torch's decomposition", "payoff nonzero of 2025-10-16"),
        ("nonzero", "dcgan", "torch's decomposition", "payoff nonzero of 2025-10-16"),
    ]
    assert rows[0]["Payoff"] == pytest.approx(1.8, rel=0.01)
    assert (rows[1]["Payoff"], rows[1]["why no payoff"]) == (None, "wrong answer without the op: verification FAIL")
    [said] = [line for line in larger_review_json["answer"] if line.startswith("Measured: ")]
    assert said.startswith("Measured: lower nonzero → torchbench/alexnet eval openxla+dynamo 1.80")


def test_without_a_measured_payoff_the_answer_says_nothing_of_it(review_json):
    assert table(review_json, "Measured payoffs of fallback ops") == []
    assert not any(line.startswith("Measured") for line in review_json["answer"])


def night(*environments, factor=1.0, torch="2.9.1", **facts):
    """Return makers of the records of a run: two models under inductor and openxla+dynamo in each environment."""
    return [
        later(
            model=model,
            backend=backend,
            environment=make_environment(name, torch=torch),
            per_iter=[0.01 * factor * share] * 8,
            **(facts if backend == "openxla+dynamo" else {}),
        )
        for name in environments
        for model in ("alexnet", "vgg16")
        for backend, share in (("inductor", 1.0), ("openxla+dynamo", 0.5))
    ]


SCENES = Scenes()
days = SCENES.days


@pytest.fixture
def told_of(scenes, runs):
    """The review of the last of the runs of a test against the one before it."""
    return json.loads(weekly_report(scenes, runs[-1:], since=runs[0]).render("json"))


@days(night("default", torch="2.8.0"), night("nightly"))
def test_the_only_environments_of_both_runs_are_compared_whatever_their_names(told_of):
    review_json = told_of
    passing = table(review_json, "Passing on Example CPU (bench-1)")
    assert [(row["variant"], row["eval"]) for row in passing] == [
        ("inductor", "2/2 (last: 2/2)"),
        ("openxla+dynamo", "2/2 (last: 2/2)"),
    ]
    [speedup] = table(review_json, "Speedup over inductor, the same models")
    assert [speedup[name] for name in ("n", "last", "now", "only now", "only last")] == [2, 2.0, 2.0, 0, 0]
    versions = {row["what"]: (row["last"], row["now"]) for row in table(review_json, "Versions")}
    assert versions["torch"] == ("2.8.0", "2.9.1")
    assert any("'default' and 'nightly'" in note for note in review_json["notes"])


FALLS = [FallbackOp(op="nonzero", klass="no_lowering", calls_per_iteration=1.0, calls_compile=1)]


@days(night("a", "b"), night("a", "b", fallback_ops=FALLS))
def test_a_model_that_falls_back_in_two_environments_is_one_model(told_of):
    [row] = table(told_of, "Fallback ops")
    assert (row["models now"], row["models last"], row["of"]) == (2, 0, 2)
    assert row["newly in"] == "alexnet, vgg16"


@days(
    *(
        [
            later(model="bert", suite=suite, backend="openxla+dynamo", fallback_ops=ops)
            for suite in ("huggingface", "torchbench")
        ]
        for ops in ((), FALLS)
    )
)
def test_models_of_one_name_in_two_suites_are_two_that_may_fall_back(told_of):
    [row] = table(told_of, "Fallback ops")
    assert (row["models now"], row["of"], row["newly in"]) == (2, 2, "huggingface/bert, torchbench/bert")


@pytest.mark.parametrize(
    ("pattern", "says"), [("FFP", "run-7 (2026-01-05)"), ("F" * 10, "run-7 (2026-01-05) or earlier")]
)
def test_what_failed_in_all_answers_that_were_looked_at_may_fail_for_longer(pattern, says):
    """Two runs a night: in a week a failure is older than the newest ten answers."""
    state = {"since_run_id": "run-7", "since_started": datetime(2026, 1, 5), "pattern": pattern}  # noqa: DTZ001 (UTC)
    assert since_of(state) == says


def test_results_with_other_programs_are_of_those_that_passed_in_both_runs(stored_runs):
    """A wrong answer has programs, too: it made one result of none."""

    def night(**facts):
        graph = Graph(kind="hlo", fingerprint=facts.pop("program"), ops=9, fusions=None)
        right = {"verification_code": "PASS"}
        return [later(model=model, graphs=[graph], **(right | facts if model == "vgg16" else right)) for model in NAMES]

    con = stored_runs(night(program="one"), night(program="two", verification_code="FAIL"))
    review_json = json.loads(weekly_report(con).render("json"))
    [row] = table(review_json, "Results with other programs")
    assert (row["results"], row["of"]) == (1, 1)


NAMES = ("resnet18", "vgg16")


def test_a_chart_of_counts_says_how_many_were_planned(stored_runs):
    """A night that planned fewer passes fewer, and nothing broke."""
    con = stored_runs([later(model=model) for model in "ab"], [later(model=model) for model in "abc"])
    [caption] = [figure.caption for figure in weekly_report(con).figures if figure.title.startswith("Passing")]
    assert caption.startswith("Experiments of 2 to 3 planned with each variant")


@pytest.mark.parametrize(
    ("old", "new", "alike"),
    [
        ("libraries", "libraries", True),
        (None, "libraries, nice -20", True),
        ("libraries", "OMP_WAIT_POLICY=PASSIVE", False),
        (None, "OMP_WAIT_POLICY=PASSIVE", False),
        (None, None, True),
    ],
)
def test_results_whose_threads_waited_differently_are_not_alike(con, old, new, alike):
    assert counts._alike({"measured": "m", "policy": old}, {"measured": "m", "policy": new}) == alike
    assert con.execute("SELECT other_policy(?::VARCHAR, ?::VARCHAR)", [old, new]).fetchone() == (not alike,)


def test_commands_of_the_weekly_review_in_a_terminal_name_the_home(weeks, capfd):
    assert xlabench.main(["report", "weekly", "--format", "text", "--home", str(weeks)]) == 0
    out = " ".join(capfd.readouterr().out.split())
    assert f"reproduce xlabench run --home {weeks} --filter" in out
    assert xlabench.main(["report", "weekly", "--home", str(weeks)]) == 0
    assert str(weeks) not in capfd.readouterr().out, "its Markdown is passed on"
