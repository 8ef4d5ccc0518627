"""A review finds what the weekly report finds, in the order in which one acts on it."""

import json
from datetime import datetime

import pytest

from store import query
from store.compare import compare, resolve
from store.errors import UsageError
from store.ingest import ingest
from store.report import render
from store.review import by_time_lost, review
from store.state.reviews import Entry
from store.weekly import weekly_report
from store.weekly.lanes import base_of
from tests.store import weekly_runs
from tests.store.factory import make_environment, make_record, write_run
from tests.store.weekly_runs import BETWEEN, HOSTILE, LAST, NOW


@pytest.fixture(scope="module")
def con(tmp_path_factory):
    home = tmp_path_factory.mktemp("weeks")
    weekly_runs.write_weeks(home)
    weekly_runs.confirming(home)
    environments = [make_environment(name, torch=name) for name in ("old", "new")]
    records = [
        make_record(model=model, backend=backend, run_id="two-envs", label="two", environment=environment, **facts)
        for model, backend, facts in (
            ("vgg16", "inductor", {}),
            ("vgg16", "openxla+dynamo", {"per_iter": (0.02,) * 8}),
            ("alexnet", "inductor", {}),
        )
        for environment in environments
    ]
    failing = make_record(
        model="dcgan",
        run_id="two-envs",
        label="two",
        environment=environments[1],
        status="crashed",
        message="signal 11",
    )
    passing = make_record(model="dcgan", run_id="two-envs", label="two", environment=environments[0])
    write_run(home / "runs" / "two-envs", [*records, passing, failing])
    with query.connect(ingest([home], home / "store").snapshot) as opened:
        yield opened


@pytest.fixture(scope="module")
def weeks(con):
    return review(con, resolve(con, LAST), resolve(con, NOW))


@pytest.fixture(scope="module")
def weekly(con):
    return weekly_report(con, [NOW], LAST)


@pytest.fixture(scope="module")
def tables(weekly):
    """The rows of the weekly report by the title of their table."""
    told = json.loads(weekly.render("json"))
    return {table["title"]: table["rows"] for table in told["tables"]}


def named(found, word):
    return [(each.model, each.test, each.variant) for each in found if each.word == word]


@pytest.mark.parametrize(
    ("word", "title"),
    [
        ("newly failing", "Newly failing"),
        ("newly passing", "Newly passing"),
        ("flaky", "Flaky: passes now, but not always"),
        ("no longer tried", "No longer tried"),
    ],
)
def test_it_finds_the_flips_of_the_weekly_report(weeks, tables, word, title):
    assert sorted(named(weeks.findings, word)) == sorted(tuple(row[:3]) for row in tables[title])


def test_it_finds_the_changes_of_speed_of_the_weekly_report_with_their_certainty(weeks, tables):
    found = [each for each in weeks.findings if each.group == "speed"]
    told = tables["Slower and faster"]
    assert sorted((each.word, each.certainty, each.model, each.test, each.variant) for each in found) == sorted(
        tuple(row[:5]) for row in told
    )
    [slower] = [each for each in found if each.word == "slower"]
    assert (slower.certainty, slower.confirming_run) == ("confirmed", "confirm-03")
    assert slower.cell.verdict.ratio == pytest.approx(1 / 1.4)
    assert slower.lost_s == pytest.approx(0.4 * 0.007, rel=0.01)


def test_it_finds_the_fallback_ops_of_the_weekly_report(weeks, tables):
    found = [each for each in weeks.findings if each.group == "fallback op"]
    assert {(each.op, each.word) for each in found} == {
        ("nonzero", "new fallback op"),
        ("_local_scalar_dense", "fallback op gone"),
    }
    assert len(found) == len(tables["Fallback ops"])
    assert all(not each.experiment_id and each.models for each in found)


def test_failures_have_their_state_and_their_signature(weeks):
    [found, _] = [each for each in weeks.findings if each.word == "newly failing" and each.certainty == "confirmed"]
    assert found.state == "new, failed 1 of 3 (FPP)"
    assert found.signature == "no <b>room</b> | for <n> tensors"
    assert found.why.endswith(HOSTILE.split("\n")[0])


def test_troubles_come_before_improvements_and_sure_ones_before_others(weeks):
    order = [(each.good, each.group, each.certainty) for each in weeks.findings]
    assert order[-1][1] == "plan"
    goods = [good for good, group, _ in order if group != "plan"]
    assert goods == sorted(goods)
    assert order[0] == (False, "failure", "confirmed")
    first = min(weeks.findings, key=by_time_lost)
    assert (first.word, first.model) == ("slower", "BERT_pytorch")


def test_each_finding_is_spoken_of_by_its_run_and_series(con, weeks):
    subjects = [each.subject for each in weeks.findings]
    assert len(set(subjects)) == len(subjects)
    assert {subject.run_id for subject in subjects} == {NOW}
    known = {row["series_id"] for row in query.fetch(con, "SELECT series_id FROM history")}
    assert all(each.subject.series in known for each in weeks.findings if each.experiment_id)


def test_versions_link_to_the_commits_between(weeks):
    links = {row[2]: row[5] for row in weeks.versions.rows}
    assert links["torch"] == "https://github.com/pytorch/pytorch/compare/v2.8.0...v2.9.1"


def test_two_environments_of_a_run_are_reviewed(con):
    found = review(con, resolve(con, "old", "two-envs"), resolve(con, "new", "two-envs"))
    assert named(found.findings, "fails in B only") == [("dcgan", "eval", "inductor")]
    assert not found.across_runs
    assert found.findings[0].subject.finding == "failure against old"
    assert len(found.comparison.cells) == 4


def test_two_backends_of_a_run_are_reviewed(con):
    old, new = (resolve(con, name, "two-envs") for name in ("inductor", "openxla+dynamo"))
    found = review(con, old, new)
    assert found.comparison.cells == compare(con, old, new).cells
    slower = [each for each in found.findings if each.word == "slower"]
    assert len(slower) == len(found.comparison.of("slower"))
    assert {each.model for each in found.findings if each.word == "not tried in B"} == {"alexnet", "dcgan"}
    assert slower[0].what.endswith("vgg16 eval openxla+dynamo on Example CPU against inductor")


def test_runs_of_other_machines_have_nothing_comparable(con):
    found = review(con, resolve(con, "two-envs"), resolve(con, NOW))
    assert {cell.verdict.word for cell in found.comparison.cells} <= {"not comparable"}
    with pytest.raises(UsageError, match="measured nothing"):
        review(con, resolve(con, LAST), resolve(con, "confirm-03"))


def test_a_run_is_compared_with_the_newest_earlier_one_of_its_kind(con):
    assert base_of(con, NOW) == BETWEEN
    assert base_of(con, LAST) is None
    assert base_of(con, "gone") is None


def test_the_weekly_report_has_what_was_said(con, weeks, weekly):
    at = datetime(2026, 11, 21, 14)  # noqa: DTZ001 (UTC)
    finding = weeks.findings[0]
    entry = {"subject": finding.subject, "what": finding.what, "who": "ann", "verified": False, "created_at": at}
    said = [Entry(**entry, state="filed", reference="#7"), Entry(**entry, note="a | <b>driver</b>")]
    made = weekly_report(con, [NOW], LAST, said=said)
    [notes] = [table for table in made.report.tables if table.title == "Review notes"]
    [row] = notes.rows
    assert row == (finding.what, "filed", "#7", None, "a | <b>driver</b>", "ann (unverified)", "2026-11-21 14:00 UTC")
    assert "<b>driver" not in made.render("html")
    assert "Review notes" not in render(weekly.report, "markdown")
