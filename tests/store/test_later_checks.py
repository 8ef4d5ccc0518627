"""What a run that only verifies says of results that were timed without verifying them: one code for all who ask."""

import json

import pytest

from store import query
from store.compare import compare, comparison_report, resolve
from store.exporters import export
from store.ingest import ingest
from store.paired.report import paired_report
from store.query import Filters
from store.report import hud_report
from store.weekly import weekly_report
from tests.store.factory import RUN_START, make_environment, make_record, write_run

LOOK = Filters(run=("look",))
CODES = "SELECT run_id, variant, verification_code FROM results WHERE status = 'ok' ORDER BY ALL"


def look(run="look", at=0.0, **how):
    """Return two results of a first look."""
    times = {"run_id": run, "timestamp": RUN_START + at, **how}
    return [make_record(**times), make_record(backend="eager", per_iter=[0.002] * 8, **times)]


def check(run="check", at=9.0, code="FAIL", **how):
    """Return what verifies them: eager is right, inductor is what the code says."""
    times = {"run_id": run, "timestamp": RUN_START + at, "status": "verify_only", "per_iter": (), **how}
    eager = make_record(backend="eager", verification_code="PASS", **times)
    return [make_record(verification_code=code, **times), eager]


@pytest.fixture
def put(tmp_path):
    """Write runs and ingest their folder; return the codes then. At the end an index that is made at once has them."""
    found = []

    def write(**runs):
        for name, records in runs.items():
            write_run(tmp_path / "runs" / name, records)
        with query.connect(ingest([tmp_path / "runs"], tmp_path / "store").snapshot) as con:
            found[:] = con.execute(CODES).fetchall()
        return {(run, variant): code for run, variant, code in found}

    yield write
    with query.connect(ingest([tmp_path / "runs"], tmp_path / "anew").snapshot) as con:
        assert con.execute(CODES).fetchall() == found


def test_the_newest_later_verdict_counts_whatever_is_ingested_first(put):
    assert put(check=check()) == {}
    older, newer = check("older", at=5.0, code="PASS"), check("newer", at=12.0, code="VERIFIER_DIDNT_RUN")
    found = put(look=look(), older=older, newer=newer)
    assert found == {("look", "eager"): "PASS", ("look", "inductor"): "FAIL"}
    assert put(newest=check("newest", at=14.0, code="PASS"))["look", "inductor"] == "PASS"


def test_what_ran_later_was_verified_itself_or_has_other_versions_keeps_its_code(ingested, connect):
    own = look("own", verification_code="PASS")
    other = look("other", environment=make_environment(torch="1.0"))
    runs = (check(), look("later", at=20.0), own, other)
    con = connect(ingested(*((records, ()) for records in runs)))
    codes = {run: code for run, variant, code in con.execute(CODES).fetchall() if variant == "inductor"}
    assert codes == {"later": "VERIFIER_SKIPPED", "own": "PASS", "other": "VERIFIER_SKIPPED"}


def test_no_other_process_answers_for_a_verification_that_hung_or_died_unless_the_answer_is_wrong(put):
    died = look("died", verification_code="VERIFIER_DIDNT_RUN")
    found = put(died=died, check=check(code="PASS"))
    assert found == {("died", "eager"): "VERIFIER_DIDNT_RUN", ("died", "inductor"): "VERIFIER_DIDNT_RUN"}
    assert put(newer=check("newer", at=12.0))["died", "inductor"] == "FAIL"


def test_a_result_that_only_a_later_run_found_right_says_so(stored):
    con = stored([*look(), *check(code="PASS")])
    found = con.execute("SELECT run_id, verification_run_id FROM results WHERE variant = 'inductor' ORDER BY ALL")
    assert found.fetchall() == [("check", None), ("look", "check")]
    report = paired_report(con, LOOK, baseline_backend="eager")
    assert "verified later" in str(report.tables)
    assert "2 answers passed in a later run, not in the one that measured." in hud_report(con, LOOK).notes
    assert "1/1 (1 by a later run)" in str(weekly_report(con, ["look"]).report.tables)


def test_a_wrong_answer_is_said_first_and_has_no_speedup_anywhere(stored, tmp_path):
    with_check = stored([*look(), *check()])
    rows = query.fetch(with_check, query.named("speedups"), query.with_baseline(Filters(run=("look",)), "eager", None))
    wrong = next(row for row in rows if row["variant"] == "inductor")
    assert (wrong["valid"], wrong["speedup"]) == (False, None)
    assert wrong["speedup_reason"] == "wrong answer: verification FAIL"
    means = with_check.execute("SELECT backend, n, failed FROM geomeans('eager', NULL, runs := ['look'])").fetchall()
    assert ("inductor", 0, ["resnet18"]) in means
    said = "WRONG ANSWER: resnet18 eval under inductor does not return what eager returns"
    side = resolve(with_check, "look")
    reports = (
        hud_report(with_check, Filters(run=("look",))),
        weekly_report(with_check, ["look"]).report,
        comparison_report(compare(with_check, side, side)),
    )
    assert all(report.alarms[0].startswith(said) for report in reports)
    export(with_check, "peer", ["look"], output=tmp_path / "peer.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "peer.jsonl").read_text().splitlines()]
    assert {line["verification_code"] for line in lines} == {"PASS", "FAIL"}
    export(with_check, "hud-csv", ["look"], output=tmp_path / "hud")
    assert "fail_accuracy" in "".join(path.read_text() for path in (tmp_path / "hud").rglob("*accuracy*.csv"))
