"""What was measured against itself: noise floors, a run's own false alarms, and that no other view sees any of it."""

import json

import duckdb
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from store import query
from store.advice import finding
from store.compare import compare, comparison_report, resolve
from store.compare.calibration import false_alarms, floors_without
from store.database.migrate import migrate
from store.ingest import ingest
from store.paired import paired_report
from store.record import Finding, Quiet
from store.report import floors_report, render
from store.report.render import text
from store.stats.effects import round_variance
from store.stats.floors import floor_of
from tests.store.factory import DAY, RUN_START, demo_records, make_environment, make_record, write_run
from tests.store.relations import RELATIONS
from tests.store.scenes import Scenes

OF_CALIBRATION = {"aa_pairs", "noise_floors"}


def a_second(factor=1.0):
    return {"per_iter": [0.01 * factor] * 8}


def calibration(factors, run_id="calibration", **changes):
    """Return the replicas of an experiment that were measured for nothing but themselves."""
    return [
        make_record(replica=number, purpose="calibration", run_id=run_id, **a_second(factor), **changes)
        for number, factor in enumerate(factors)
    ]


def with_twins(factors, run_id="run-1", processes=1, **changes):
    """Return a record for each model and its twin, which took `factor` times as long."""
    records = []
    for number, factor in enumerate(factors):
        for replica in range(processes):
            facts = {"model": f"m{number}", "replica": replica, "run_id": run_id, **changes}
            original = make_record(**facts, **a_second())
            twin = make_record(**facts, **a_second(factor), purpose="calibration", twin_of=original.record_id)
            records += [original, twin]
    return records


SCENES = Scenes()
scene, several = SCENES.scene, SCENES.several


def floors(con, machine):
    found = query.fetch(con, "FROM noise_floors WHERE machine_id = $machine", {"machine": machine})
    return {row["experiment_id"]: row for row in found}


@scene(*calibration([1.0, 1.1, 1.0, 1.0]))
def test_neighbouring_replicas_of_a_calibration_are_pairs(scenes, run):
    pairs = query.fetch(scenes, "FROM aa_pairs WHERE run_id = $run ORDER BY log_ratio", {"run": run})
    ratios = [row["log_ratio"] for row in pairs]
    assert ratios == pytest.approx([-np.log(1.1), 0.0])


@several(calibration([1.0, 1.02] * 6), with_twins([1.01]))
def test_a_floor_is_that_of_the_rule_and_says_what_it_rests_on(scenes, runs):
    found = floors(scenes, runs[0])
    experiment = calibration([1.0])[0].experiment_id
    expected = floor_of([np.log(1.02)] * 6)
    assert found[experiment]["floor"] == pytest.approx(expected.floor)
    assert (found[experiment]["pairs_n"], found[experiment]["source"]) == (6, "calibration")
    assert {(row["pairs_n"], row["source"]) for row in found.values()} == {
        (6, "calibration"),
        (1, "twin + default"),
        (7, "calibration + twin"),
    }
    machine = found[None]
    assert (machine["runs_n"], machine["model"]) == (2, None)
    text = render(floors_report(scenes, runs[0]), "text")
    assert "Noise floors: 1 experiment" in text
    assert "5.0" in text  # 2 % as the scatter, times the quantile of six pairs: 2.447 → 5.0 %


PAIRS = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["x", "y", "z"]), st.floats(-0.5, 0.5)),
    min_size=1,
    max_size=60,
)


@pytest.fixture(scope="module")
def empty():
    """The view over a table of pairs in place of the store's."""
    con = duckdb.connect()
    migrate(con)
    con.execute("CREATE TABLE pairs (machine_id VARCHAR, experiment_id VARCHAR, log_ratio DOUBLE)")
    con.execute(
        "CREATE OR REPLACE VIEW aa_pairs AS SELECT machine_id, experiment_id, log_ratio, 'r' AS run_id, 's' AS suite, "
        "'m' AS model, 't' AS test, 'v' AS variant, 'twin' AS origin, true AS quiet, 'cpu' AS accelerator, "
        "4 AS threads, 'alike' AS measured, NULL::VARCHAR AS policy FROM pairs"
    )
    yield con
    con.close()


@settings(max_examples=20, deadline=None)
@given(PAIRS)
@example([("a", "x", 0.0)] * 6)
def test_the_view_and_the_rule_agree_on_every_floor(empty, pairs):
    empty.execute("DELETE FROM pairs")
    empty.executemany("INSERT INTO pairs VALUES (?, ?, ?)", pairs)
    rows = query.fetch(empty, "SELECT machine_id, experiment_id, pairs_n, floor, variance, freedom FROM noise_floors")
    wanted = {}
    for machine, experiment, ratio in pairs:
        wanted.setdefault((machine, experiment), []).append(ratio)
        wanted.setdefault((machine, None), []).append(ratio)
    assert {(row["machine_id"], row["experiment_id"]) for row in rows} == wanted.keys()
    for row in rows:
        expected = floor_of(wanted[row["machine_id"], row["experiment_id"]])
        assert row["floor"] == pytest.approx(expected.floor, rel=1e-9, abs=1e-12)
        assert row["variance"] == pytest.approx(expected.variance, rel=1e-9, abs=1e-15)
        assert (row["freedom"], row["pairs_n"]) == (expected.freedom, expected.pairs)


ROUNDS = {
    rounds_n: [[0.010 + 0.0001 * (7 * step % 5 + side) for step in range(rounds_n)] for side in range(2)]
    for rounds_n in (1, 2, 3, 9, 10, 12)
}
"""Times of both sides by their number."""


@scene(
    *(
        make_record(model=f"m{rounds_n}", purpose="calibration", replica=side, per_iter=each)
        for rounds_n, sides in ROUNDS.items()
        for side, each in enumerate(sides)
    )
)
def test_the_view_and_the_rule_agree_on_what_rounds_tell(scenes, run):
    """One model for each number of rounds."""
    sql = "SELECT model, rounds_n, round_variance FROM aa_pairs WHERE run_id = $run"
    found = query.fetch(scenes, sql, {"run": run})
    assert {row["model"]: row["rounds_n"] for row in found} == {f"m{rounds_n}": rounds_n for rounds_n in ROUNDS}
    assert len(found) == len(ROUNDS)
    for row in found:
        first, second = ROUNDS[row["rounds_n"]]
        expected = float(round_variance([first], [second])[0])
        assert row["round_variance"] == (None if row["rounds_n"] == 1 else pytest.approx(expected, rel=1e-9))


def test_beyond_the_table_of_quantiles_they_still_agree_within_half_a_percent(empty):
    ratios = [0.01, -0.02] * 1000
    empty.execute("DELETE FROM pairs")
    empty.execute("INSERT INTO pairs SELECT 'a', 'x', unnest($ratios::DOUBLE[])", {"ratios": ratios})
    found = query.fetch(empty, "SELECT floor FROM noise_floors WHERE experiment_id = 'x'")[0]["floor"]
    assert found == pytest.approx(floor_of(ratios).floor, rel=0.005)


@scene(*with_twins([1.0, 1.001, 0.999]))
def test_equal_twins_are_no_false_alarm(scenes, run):
    found = false_alarms(scenes, run)
    assert (found.twins, found.called, found.low) == (3, 0, 0.0)
    assert found.high == pytest.approx(0.7076, abs=1e-4)
    assert found.sentence().startswith(
        f"0 of 3 A/A controls of run {run} would have been called different (95 % bounds"
    )


@scene(*with_twins([1.5, 1.0, 1.0, 1.0]))
def test_a_twin_far_off_is_a_false_alarm(scenes, run):
    found = false_alarms(scenes, run)
    assert (found.twins, found.called) == (4, 1)
    assert (found.low, found.high) == (pytest.approx(0.0063, abs=1e-4), pytest.approx(0.8059, abs=1e-4))


@scene(*with_twins([1.2, 1.0], processes=3))
def test_the_processes_of_a_twin_are_judged_together(scenes, run):
    found = false_alarms(scenes, run)
    assert (found.twins, found.called) == (2, 1)


TWINS = with_twins([1.2])


@scene(*TWINS)
@several(TWINS, calibration([1.0, 1.3] * 6))
def test_the_floor_of_a_noisy_machine_keeps_its_twins_from_being_false_alarms(scenes, run, runs):
    """The same twin, judged with the default floor and with what another run has shown; its own run lends none."""
    assert [false_alarms(scenes, each).called for each in (run, runs[0])] == [1, 0]


@scene(make_record(**a_second()))
def test_a_run_without_twins_does_not_know_its_rate(scenes, run):
    found = false_alarms(scenes, run)
    assert (found.twins, found.low, found.high) == (0, 0.0, 1.0)
    assert "unknown" in found.sentence()


@several(with_twins([1.0, 1.0]), with_twins([1.5], timestamp=1.8e9))
def test_reports_and_comparisons_state_the_rate_of_their_run(scenes, runs):
    old, new = runs
    said = render(paired_report(scenes, query.Filters(run=(old,))), "text")
    assert f"0 of 2 A/A controls of run {old}" in said
    text = render(comparison_report(compare(scenes, *(resolve(scenes, run) for run in runs))), "text")
    assert f"0 of 2 A/A controls of run {old}" in text
    assert f"1 of 1 A/A control of run {new}" in text


_APART = ["ingested_at", "record", "place"]
"""When it was ingested, how its line is spelled, and where its row stands among those of all files."""


def _rows(con, view):
    shown = "COLUMNS(lambda name: NOT list_contains(?, name))"
    found = con.execute(f"SELECT {shown} FROM {RELATIONS[view]}", [_APART]).fetchall()
    return sorted(repr([_rounded(value) for value in row]) for row in found)


def _rounded(value):
    """Return a number without its last digits, which depend on the order of a sum."""
    return float(f"{value:.12g}") if isinstance(value, float) else value


FEW = ("alexnet", "dcgan", "resnet50")
"""Models of the demonstration that fall back, break graphs, fail and become never steady."""


def test_no_other_view_sees_a_calibration_or_a_twin(tmp_path):
    """The same store with and without both; the floors see them."""
    days = (("11111111-aaaa", RUN_START, 1.0), ("22222222-bbbb", RUN_START + DAY, 0.9))
    runs = [
        write_run(
            tmp_path / "runs" / run,
            [each for each in demo_records(run, start, scale, "nightly") if each.model.model_name in FEW],
        )
        for run, start, scale in days
    ]
    before = ingest(runs, tmp_path / "before").snapshot
    _add_twins(runs[0])
    runs.append(write_run(tmp_path / "runs" / "calibration", calibration([1.0, 1.1] * 3)))
    _mark(runs[-1])
    after = ingest(runs, tmp_path / "after").snapshot
    with query.connect(before) as old, query.connect(after) as new:
        sources = "SELECT DISTINCT origin FROM aa_pairs ORDER BY ALL"
        assert new.execute(sources).fetchall() == [("calibration",), ("twin",)]
        for view in RELATIONS:
            same = _rows(old, view) == _rows(new, view)
            assert same == (view not in OF_CALIBRATION), view


def _add_twins(run):
    """Append a twin for every record that ran, far slower, so that one that is counted moves every number."""
    path = run / "results.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines[:]:
        if line["status"] == "ok":
            times = [time * 9 for time in line["metrics"]["total_time"]]
            twin = line | {"purpose": "calibration", "twin_of": line["record_id"], "findings": [DOUBT]}
            lines.append(
                twin
                | {"record_id": "t" + line["record_id"][1:]}
                | {"metrics": line["metrics"] | {"total_time": times, "per_iter_time": times}}
            )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


DOUBT = {"code": "steal", "text": "stolen", "next_step": "move"}


def _mark(run):
    """Say in run.json that the run is a calibration, and plan what it measured."""
    path = run / "run.json"
    document = json.loads(path.read_text())
    document["settings"]["purpose"] = "calibration"
    other = json.loads((run.parent / "11111111-aaaa" / "run.json").read_text())
    document["plan"] = other["plan"]
    path.write_text(json.dumps(document))


def with_findings():
    """Return three processes of a result, and another result whose finding is of a later version."""
    records = [make_record(replica=replica, **a_second()) for replica in range(3)]
    later = make_record(model="later", **a_second())
    later.findings = [Finding(code="gamma_rays", text="a ray hit", next_step="dig")]
    for record in records[:2]:
        record.findings = [finding("steal", share=0.05)]
    records[2].findings = [finding("short_block", ms=0.3)]
    return [*records, later]


@scene(*with_findings())
def test_findings_are_counted_over_the_processes_of_a_result(scenes, run):
    """One of a later version is taken, too: an unknown code and unknown keys are no reason to refuse a line."""
    sql = "SELECT code, processes_n, next_step FROM findings WHERE run_id = $run ORDER BY code"
    rows = query.fetch(scenes, sql, {"run": run})
    assert [(row["code"], row["processes_n"]) for row in rows] == [("gamma_rays", 1), ("short_block", 1), ("steal", 2)]
    report = text(paired_report(scenes, query.Filters(run=(run,))), 200)
    assert "gamma rays" in report
    assert "the hypervisor took CPU time away" in report
    assert "raise --iterations-per-run" in report


def on_threads(threads):
    return {"environment": make_environment(threads=threads)}


def pairs_of(threads, factor, **changes):
    pairs = [calibration([1.0, factor], model=f"m{number}", **on_threads(threads), **changes) for number in range(6)]
    return [record for pair in pairs for record in pair]


MEASURED = {("cpu", 1): 1.2, ("cpu", 4): 1.001, ("cuda", 4): 1.1}
"""Accelerator and threads → factor between the sides of each pair."""


@several(
    *(pairs_of(threads, factor, accelerator=accelerator) for (accelerator, threads), factor in MEASURED.items()),
    *2 * [[make_record(model="another", **on_threads(4), **a_second())]],
    *2 * [[make_record(model="another", **on_threads(2), **a_second())]],
)
def test_a_floor_rests_on_pairs_that_were_measured_alike(scenes, runs):
    """One thread scatters otherwise than four, and a GPU otherwise than the CPU beside it."""
    sql = "FROM noise_floors WHERE machine_id = $machine AND experiment_id IS NULL"
    found = query.fetch(scenes, sql, {"machine": runs[0]})
    of = {key: floor_of([np.log(factor)] * 6).floor for key, factor in MEASURED.items()}
    assert {(row["accelerator"], row["threads"]): row["floor"] for row in found} == pytest.approx(of)
    floors = [compare(scenes, *(resolve(scenes, run) for run in both)).cells[0].floor for both in (runs[3:5], runs[5:])]
    assert (floors[0].floor, floors[0].pairs) == (pytest.approx(of["cpu", 4]), 6)
    assert floors[1].pairs == 0, "two threads were never calibrated: the default"


def pair(factor, quiet):
    records = calibration([1.0, factor])
    for record in records:
        record.measurement.quiet = quiet
    return records


UNJUDGED = pair(3.0, None)
QUIET = pair(1.01, Quiet(rule=1, policy="libraries"))


@scene(*UNJUDGED)
@several(UNJUDGED, QUIET)
def test_floors_rest_on_quiet_pairs_where_a_machine_has_any(scenes, run, runs):
    """A pair from before turns were judged may hold the work of other programs: it counts where there is no other."""
    assert {row["pairs_n"] for row in floors(scenes, run).values()} == {1}
    found = floors(scenes, runs[0]).values()
    assert {row["pairs_n"] for row in found} == {1}
    assert all(row["floor"] < 0.1 for row in found)

    def compared(*but):
        return [floor for key, floor in floors_without(scenes, but).items() if key[0] == runs[0]]

    assert compared("another")
    assert all(floor.pairs == 1 and floor.floor < 0.1 for floor in compared("another"))
    assert compared(runs[1])
    assert all(floor.pairs == 1 and floor.floor > 0.1 for floor in compared(runs[1])), "the old one is all there is"
