"""Two sides, their cells and verdicts, from records whose times are known."""

import dataclasses
import math
import re
from datetime import UTC, datetime

import msgspec
import numpy as np
import pytest

from store import advice, changepoints, query
from store.compare import Confirmation, compare, comparison_report, resolve, still_slower
from store.compare.calibration import between_runs
from store.errors import UsageError
from store.ingest import ingest
from store.record import Quiet, Turns
from store.report import render
from store.state import marks
from tests.store.factory import DAY, RUN_START, make_environment, make_record, write_run
from tests.store.peer_records import peer_record, write_peer
from tests.store.scenes import Scenes

RANDOM = np.random.default_rng(11)


def replicas(factor=1.0, scatter=0.002, processes=3, first_round=0, rounds_n=10, **changes):
    """Return one record per process of an interleaved run; times share the rounds' drift."""
    rounds = range(first_round, first_round + rounds_n)
    drift = 1 + 0.03 * np.array(rounds)
    records = []
    for replica in range(processes):
        times = 0.01 * factor * drift * np.exp(RANDOM.normal(0, scatter, rounds_n))
        record = make_record(per_iter=[float(time) for time in times], replica=replica, **changes)
        record.measurement.order = "interleaved"
        before = len(record.measurement.blocks.kind) - len(rounds)
        record.measurement.blocks.round = [0] * before + list(rounds)
        records.append(record)
    return records


SCENES = Scenes()
scene, several = SCENES.scene, SCENES.several
FIRST, SECOND = {"run_id": "run-a"}, {"run_id": "run-b", "timestamp": 1.8e9}
OLD, NEW = make_environment(name="old"), make_environment(name="new", torch="2.10.0")


@pytest.fixture
def opened(tmp_path):
    """Ingest lists of records as runs, and open the snapshot."""
    connections = []

    def make(*runs):
        for number, records in enumerate(runs):
            write_run(tmp_path / f"run-{number}", records)
        report = ingest([tmp_path / f"run-{number}" for number in range(len(runs))], tmp_path / "store")
        con = query.connect(report.snapshot)
        connections.append(con)
        return con

    yield make
    for con in connections:
        con.close()


def sides(con, old, new, run=None):
    return compare(con, resolve(con, old, run=run), resolve(con, new, run=run))


def near_floor():
    """Return both sides, of which one process found its time near that of an empty synchronisation."""
    records = [*replicas(environment=OLD), *replicas(0.8, environment=NEW)]
    records[-1].findings.append(advice.finding("near_floor", us=8.0, floor_us=4.0, times=3.0))
    return records


@scene(*near_floor())
def test_a_time_near_that_of_an_empty_sync_gets_no_verdict(scenes, run):
    """One process that found so is enough: of two times that are mostly synchronisation neither is the operator's."""
    [cell] = sides(scenes, "old", "new", run).cells
    assert cell.verdict.word == "not comparable"
    assert cell.verdict.reason == "new side: below 3 times the time of an empty sync, so mostly synchronisation"


def test_two_machines_are_not_compared_and_the_answer_says_what_to_do(opened):
    elsewhere = make_environment(machine_id="another")
    con = opened(replicas(run_id="here"), replicas(run_id="there", environment=elsewhere))
    report = comparison_report(sides(con, "here", "there"))
    [sentence] = report.answer
    assert sentence.startswith("No experiment can be compared: machine_id differs")
    assert "choose two runs of one machine" in sentence
    assert (report.notes, report.read) == ((), ()), "and no rows before it"
    assert len(report.tables[0].rows) == 1


@scene(*replicas(environment=OLD), *replicas(0.8, environment=NEW))
def test_environments_of_one_interleaved_run_are_confirmed(scenes, run):
    """The new torch takes 20 % less, on a machine that slows by 30 % while both are measured."""
    [cell] = sides(scenes, "old", "new", run).cells
    assert cell.verdict.word == "faster"
    assert cell.verdict.confirmed
    assert cell.verdict.ratio == pytest.approx(1.25, rel=0.01)
    assert [found.field for found in cell.differs if found.field == "torch"] == ["torch"]


@several(replicas(environment=make_environment(name="monday")), replicas(environment=make_environment(name="tuesday")))
def test_only_environments_of_two_runs_are_the_two_sides_whatever_their_names(scenes, runs):
    found = sides(scenes, *runs)
    assert [(cell.old_environment, cell.environment) for cell in found.cells] == [("monday", "tuesday")]
    assert not found.only_old
    assert "'monday' and 'tuesday'" in render(comparison_report(found), "text")


@several(*([make_record(suite="own", model=f"net.py:Net@{hash8}")] for hash8 in ("1a2b3c4d", "5e6f7a8b")))
def test_two_versions_of_a_file_are_two_models_and_the_answer_says_so(scenes, runs):
    [answer] = comparison_report(sides(scenes, *runs)).answer
    assert "because your model or its inputs changed" in answer


@several([make_record(model="a"), make_record(model="b")], [make_record(model="c")])
def test_sides_with_nothing_in_common_are_described_and_not_listed(scenes, runs):
    report = comparison_report(sides(scenes, *runs))
    advice, old, new = report.answer
    assert advice.endswith("Name two runs of one plan, by their ids or labels.")
    assert old.startswith(f"{runs[0]} has 2 experiments, such as torchbench/a ")
    assert new.startswith(f"{runs[1]} has 1 experiment, such as torchbench/c ")
    assert report.read == ()
    assert [len(table.rows) for table in report.tables[:3]] == [0, 2, 1], "as other programs read it"


@several(
    *(
        [make_record(model=name, status=how) for name, how in each]
        for each in ((("a", "crashed"), ("b", "ok"), ("c", "ok")), (("a", "ok"), ("b", "oom"), ("c", "oom")))
    )
)
def test_several_reasons_not_to_compare_are_counted(scenes, runs):
    report = comparison_report(sides(scenes, *runs))
    advice, most, least = report.answer
    assert advice == "No experiment can be compared; --format csv lists each with its reason."
    assert most.startswith("2 experiments: new side: ")
    assert least.startswith("1 experiment: old side: ")
    assert report.read == ()


@several(
    [record for name in ("old", "new") for record in replicas(environment=make_environment(name=name))],
    replicas(environment=make_environment(name="other")),
)
def test_several_environments_are_matched_by_name(scenes, runs):
    found = sides(scenes, *runs)
    assert found.cells == ()
    assert found.renamed is None


def alone():
    """Return both sides of a model that took no turns."""
    records = [*replicas(environment=OLD, model="vgg16"), *replicas(0.8, environment=NEW, model="vgg16")]
    for record in records:
        record.measurement.order = "rounds"
    return records


@scene(*replicas(environment=OLD), *replicas(0.8, environment=NEW), *alone())
def test_a_group_that_could_not_take_turns_spoils_no_other(scenes, run):
    """One model had no room for all its processes: it is suspected only, its neighbour confirmed."""
    found = sides(scenes, "old", "new", run)
    assert {cell.model: (cell.verdict.word, cell.verdict.confirmed) for cell in found.cells} == {
        "resnet18": ("faster", True),
        "vgg16": ("faster", False),
    }
    assert not found.interleaved


@scene(*replicas(environment=OLD), *replicas(environment=NEW, first_round=5))
def test_rounds_are_paired_by_their_number(scenes, run):
    """A process that was spoilt at first has later rounds; what drifted meanwhile must not look like a difference."""
    [cell] = sides(scenes, "old", "new", run).cells
    assert cell.verdict.ratio == pytest.approx(1.0, abs=0.01)


@scene(*replicas(environment=OLD), *replicas(environment=NEW))
def test_identical_environments_are_the_same(scenes, run):
    """The report says the answer first, and that the floor is a default."""
    found = sides(scenes, "old", "new", run)
    assert [cell.verdict.word for cell in found.cells] == ["same"]
    text = render(comparison_report(found), "text")
    assert re.match(r"old.* → new.*: 1 same", text)
    assert "A floor from 0 A/A pairs is the default" in text


@scene(*replicas(), *replicas(2.0, backend="eager"), *replicas(backend="eager", model="vgg16"))
def test_backends_are_compared_model_by_model(scenes, run):
    found = sides(scenes, "eager", "inductor", run)
    assert [(cell.model, cell.verdict.word) for cell in found.cells] == [("resnet18", "faster")]
    assert found.only_old == ("torchbench/vgg16 eval eager (default)",)


def test_runs_of_different_days_are_suspected_at_most(opened):
    con = opened(replicas(run_id="run-a"), replicas(0.5, run_id="run-b", timestamp=1.8e9))
    with pytest.raises(UsageError, match="not a run, environment or backend"):
        resolve(con, "nonsense")
    [cell] = sides(con, "run-a", "latest").cells
    assert cell.verdict.word == "faster"
    assert not cell.verdict.confirmed
    assert "were not interleaved" in cell.verdict.reason


def test_a_suspicion_stands_until_measuring_again_gives_a_verdict(opened):
    runs = ([*replicas(f, **at), *replicas(f, model="vgg16", **at)] for f, at in ((1.0, FIRST), (2.0, SECOND)))
    comparison = sides(opened(*runs), "run-a", "latest")
    one, other = comparison.of("slower")
    again, failed, settled = (
        msgspec.structs.replace(one, verdict=dataclasses.replace(one.verdict, word=word, confirmed=word == "slower"))
        for word in ("slower", "not comparable", "same")
    )
    for results, stands in (
        ([], [one, other]),
        ([Confirmation(before=one, remeasured=None)], [one, other]),
        ([Confirmation(before=one, remeasured=failed)], [one, other]),
        ([Confirmation(before=one, remeasured=settled)], [other]),
        ([Confirmation(before=one, remeasured=None, same_environment=True)], [other]),
        ([Confirmation(before=one, remeasured=again)], [other, again]),
    ):
        assert still_slower(comparison, results) == [cell.verdict for cell in stands]


UNEQUAL = (
    several(replicas(rounds_n=first), replicas(2.0, rounds_n=second, timestamp=1.8e9))
    for first, second in ((6, 10), (10, 6))
)


@pytest.mark.parametrize("runs", [each.args[1][0] for each in UNEQUAL])
def test_runs_of_unequal_length_are_compared(scenes, runs):
    """Rounds of different runs are not paired, so one run may have six and the other ten."""
    [cell] = sides(scenes, *runs).cells
    assert (cell.verdict.word, cell.verdict.confirmed) == ("slower", False)
    assert cell.new_s / cell.old_s == pytest.approx(2.0, rel=0.1)


@several(
    [
        record
        for replica, factor in enumerate((0.8, 1.0, 1.0))
        for record in replicas(factor, processes=replica + 1)[replica:]
    ],
    replicas(processes=1),
)
def test_all_processes_of_both_sides_are_compared_though_one_has_more(scenes, runs):
    """The unusual first one of three decides nothing: the sides have the same median."""
    for names in (runs, runs[::-1]):
        [cell] = sides(scenes, *names).cells
        assert cell.old_s == pytest.approx(cell.new_s, rel=0.01)
        assert cell.verdict.ratio == pytest.approx(1, rel=0.03)
        assert (cell.verdict.word, cell.verdict.processes) == ("ambiguous", 1)


def with_refused_processes():
    """Return both sides, of which two of three new processes gave no result; both kept steady blocks."""
    records = [*replicas(environment=OLD), *replicas(0.8, environment=NEW)]
    for record, status in zip(records[-2:], ("invalid", "disturbed"), strict=True):
        record.status = status
    return records


@scene(*with_refused_processes())
def test_a_process_without_a_result_is_none_of_the_processes_of_a_verdict(scenes, run):
    """Its blocks are not in the latency of the result either: neither may confirm a difference."""
    [cell] = sides(scenes, "old", "new", run).cells
    sql = "SELECT latency_s, replicas_ran_n FROM result_rows WHERE run_id = ? AND environment = 'new'"
    [(latency_s, ran_n)] = scenes.execute(sql, [run]).fetchall()
    assert (cell.verdict.processes, cell.verdict.confirmed) == (ran_n, False) == (1, False)
    assert cell.new_s == pytest.approx(latency_s)


@several(replicas(), replicas(timestamp=1.8e9, environment=make_environment(threads=7)))
def test_another_thread_count_is_not_comparable(scenes, runs):
    [cell] = sides(scenes, *runs).cells
    assert cell.verdict.word == "not comparable"
    assert cell.verdict.reason.startswith("threads differs")


def with_weights(records, weights):
    """Return records of the same experiment that used these weights, whichever were asked for."""
    for record in records:
        record.experiment.weights = weights
    return records


@several(with_weights(replicas(), "pretrained"), with_weights(replicas(timestamp=1.8e9), "random"))
def test_a_side_that_did_not_get_the_weights_it_asked_for_is_not_comparable(scenes, runs):
    [cell] = sides(scenes, *runs).cells
    assert cell.verdict.reason == "workload differs: weights=pretrained and the default"


def judged(records):
    """Return records of which the turns were judged, as of every run today."""
    for record in records:
        record.measurement.quiet = Quiet(rule=1, policy="libraries, nice -20")
    return records


@several(
    judged(replicas()),
    judged(replicas(1.5, timestamp=1.8e9, environment=make_environment(variables={"OMP_WAIT_POLICY": "PASSIVE"}))),
)
def test_another_way_to_wait_is_compared_and_named(scenes, runs):
    """Somebody changes a variable to see what it does; a speedup over the other side would be another matter."""
    found = sides(scenes, *runs)
    assert [cell.verdict.word for cell in found.cells] == ["slower"]
    waiting = "with different environment variables (libraries, nice -20 and OMP_WAIT_POLICY=PASSIVE, nice -20)"
    assert [note for note in comparison_report(found).notes if waiting in note]


def on_cores(records, seconds, threads_s=None):
    """Return records whose probes of the cores took so long; that of a disturbed turn does not count."""
    for record in records:
        turns = Turns(probe_s=[seconds, None, seconds, 9.0], reason=[None, None, None, "slow cores"])
        turns.threads_probe_s = [threads_s, threads_s, None, 9.0] if threads_s else []
        record.measurement.quiet = Quiet(rule=4, policy="libraries", turns=turns)
    return records


@pytest.mark.parametrize(
    ("first", "second", "times"),
    [
        ([0.6e-3], [1.1e-3], "1.83"),
        ([0.6e-3], [0.4e-3], "0.67"),
        ([0.6e-3], [0.7e-3], None),
        # The host slows cores only while several work.
        ([0.6e-3, 1e-3], [0.6e-3, 1.4e-3], "1.40"),
        ([0.6e-3, 1e-3], [0.8e-3, 0.6e-3], "0.60"),
        ([0.6e-3], [0.6e-3, 1.4e-3], None),
    ],
)
def test_a_machine_that_was_slower_itself_is_named_beside_the_times(opened, first, second, times):
    con = opened(on_cores(replicas(**FIRST), *first), on_cores(replicas(1.5, **SECOND), *second))
    [cell] = sides(con, "run-a", "run-b").cells
    assert cell.verdict.word == "slower"
    named = re.search(
        r"; a fixed piece of work took the cores (\S+) times as long on the new side$", cell.verdict.reason
    )
    assert (named and named[1]) == times


@scene(*on_cores(replicas(environment=OLD), 0.6e-3), *on_cores(replicas(environment=NEW), 1.1e-3))
def test_sides_that_took_turns_met_the_same_machine(scenes, run):
    [cell] = sides(scenes, "old", "new", run).cells
    assert "cores" not in cell.verdict.reason


LESS = [*replicas(environment=OLD), *replicas(0.95, environment=make_environment(name="new"))]
NOISE = [[0.01 * float(np.exp(RANDOM.normal(0, 0.1)))] * 8 for _ in range(20)]


@scene(*LESS)
@several(
    LESS,
    [
        make_record(per_iter=each, replica=number, purpose="calibration", environment=OLD)
        for number, each in enumerate(NOISE)
    ],
)
def test_a_noisy_calibration_raises_the_floor_of_its_experiment(scenes, run, runs):
    """Twenty replicas that scatter by 10 %: a change of 5 % is no longer believed; the run itself lends no floor.

    On another machine no floor is known.
    """
    [quiet], [noisy] = (sides(scenes, "old", "new", each).cells for each in (run, runs[0]))
    assert (quiet.verdict.word, quiet.floor.pairs) == ("faster", 0)
    assert noisy.floor.pairs == 10
    assert noisy.floor.floor > 0.1
    assert noisy.verdict.word in ("ambiguous", "same")


SLOW, FAST = replicas(), replicas(0.8)
[CALM] = several(SLOW, FAST).args[1]


@several(SLOW, FAST, *(replicas(factor) for factor in (1.0, 1.2, 0.9, 1.15)))
def test_days_that_lie_far_apart_in_the_history_widen_the_interval(scenes, runs):
    """Four earlier runs of one torch went up and down by a fifth: 20 % between two days prove nothing here."""
    [near], [far] = (sides(scenes, *names).cells for names in (CALM, runs[:2]))
    assert (near.verdict.word, far.verdict.word) == ("faster", "ambiguous")
    assert far.verdict.ratio == pytest.approx(near.verdict.ratio)


@several(
    replicas(),
    replicas(0.8),
    *(
        replicas(factor, environment=make_environment(torch=f"2.{number}"))
        for number, factor in enumerate((1.0, 1.2, 0.9, 1.15))
    ),
)
def test_a_new_torch_is_no_day(scenes, runs):
    """What another version changed is not the machine's restlessness."""
    found = between_runs(scenes, runs[:2])
    assert found
    assert all(machine != runs[0] for machine, *_ in found), "its machine, beside those of other tests"


def on_gpu(factor):
    return replicas(factor, accelerator="cuda")


@several(SLOW, FAST, *(on_gpu(factor) for factor in (1.0, 1.5, 0.7, 1.4)))
def test_days_of_another_accelerator_say_nothing(scenes, runs):
    """The GPU of the machine goes up and down by a half from run to run; what its CPU measures does not."""
    [calm], [beside] = (sides(scenes, *names).cells for names in (CALM, runs[:2]))
    assert (beside.verdict.low, beside.verdict.high) == pytest.approx((calm.verdict.low, calm.verdict.high))


def rows_of(table):
    return [dict(zip([column.title for column in table.columns], row, strict=True)) for row in table.rows]


@several(*([*replicas(factor), *replicas(0.5, backend="openxla+lazytensor")] for factor in (1.0, 0.8)))
def test_a_speedup_that_only_its_baseline_moved_says_so(scenes, runs):
    """Inductor takes a fifth less in the new run, lazy tensors as long as before: their speedup falls by as much."""
    [row] = rows_of(sides(scenes, *runs).speedup_changes)
    assert (row["speedup old"], row["speedup new"]) == pytest.approx((2.0, 1.6), rel=0.01)
    assert (row["by the backend"], row["by the baseline"]) == pytest.approx((1.0, 0.8), rel=0.01)
    assert row["new / old"] == pytest.approx(row["by the backend"] * row["by the baseline"])


@scene(*replicas(backend="eager"), *replicas(0.5))
def test_backends_say_from_when_on_the_new_one_is_ahead(scenes, run):
    """It compiles for longer and takes half the time of an iteration."""
    found = sides(scenes, "eager", "inductor", run)
    asked = "SELECT backend, time_to_steady_s, latency_s FROM results WHERE run_id = $run"
    rows = scenes.execute(asked, {"run": run}).fetchall()
    waits, times = ({row[0]: row[column] for row in rows} for column in (1, 2))
    [row] = rows_of(found.break_even)
    assert (row["wait old"], row["wait new"]) == pytest.approx((waits["eager"], waits["inductor"]))
    if waits["inductor"] <= waits["eager"]:
        assert row["ahead"] == "ahead from the start"
    else:
        behind, gain = waits["inductor"] - waits["eager"], times["eager"] - times["inductor"]
        assert (row["ahead"], row["iterations"]) == ("after", int(behind / gain) + 1)
    assert found.speedup_changes is None
    assert "Break-even" in render(comparison_report(found), "text")


@scene(*replicas(backend="eager"), *replicas(0.5))
def test_a_backend_that_only_waits_less_is_ahead_for_some_iterations(scenes, run):
    """Eager waits 11.4 ms less than inductor, and loses 5.7 ms in each iteration: about 2, so the draw decides."""
    found = sides(scenes, "inductor", "eager", run)
    [row], [cell] = rows_of(found.break_even), found.cells
    less_s = row["wait old"] - row["wait new"]
    assert 1e3 * less_s == pytest.approx(11.4, abs=0.3)
    ahead_n = math.ceil(less_s / (cell.new_s - cell.old_s)) - 1
    words = {1: "only for one iteration", 2: "only for the first 2 iterations"}
    assert (row["ahead"], row["iterations"]) == (words[ahead_n], None)


def test_of_several_records_of_the_peer_the_one_of_the_result_is_compared(tmp_path):
    """The last in its file counts, of several files that of the last path; the one that was read last was compared."""
    later = peer_record(total_time=(15, 1, 1, 0.3, 0.3, 0.3), timestamp=1_699_900_000.25)
    for name, records in {
        "b": [peer_record(total_time=(15, 1, 1, 0.2, 0.2, 0.2)), later],
        "a": [peer_record()],
    }.items():
        snapshot = ingest([write_peer(tmp_path / f"{name}.jsonl", records)], tmp_path / "store").snapshot
    with query.connect(snapshot) as con:
        runs = con.execute("SELECT run_id FROM results ORDER BY run_started").fetchall()
        (cell,) = compare(con, *(resolve(con, run) for (run,) in runs)).cells
    assert (cell.old_s, cell.new_s) == (0.2, 0.3)


def test_batch_sizes_of_the_peer_are_cells_of_their_own(tmp_path):
    """The peer records no requested batch size: the times of one were the verdict on another, which had no cell."""
    times = {("inductor", 4): 0.2, ("openxla+dynamo", 4): 0.1, ("inductor", 8): 0.4, ("openxla+dynamo", 8): 0.8}
    records = [
        peer_record(backend=backend, batch_size=batch, total_time=(15, 1, 1, *(seconds,) * 8), timestamp=day)
        for day in (1.6e9, 1.7e9)
        for (backend, batch), seconds in times.items()
    ]
    with query.connect(ingest([write_peer(tmp_path / "peer.jsonl", records)], tmp_path / "store").snapshot) as con:
        old, new = (run for (run,) in con.execute("SELECT run_id FROM runs ORDER BY run_started").fetchall())
        within = compare(con, resolve(con, "inductor", new), resolve(con, "openxla+dynamo", new))
        between = compare(con, resolve(con, old), resolve(con, new))
    assert sorted((cell.old_s, cell.new_s) for cell in within.cells) == [(0.2, 0.1), (0.4, 0.8)]
    assert sorted(row[5] for row in between.speedup_changes.rows) == pytest.approx([0.5, 2.0])


def test_runs_that_were_measured_in_other_ways_are_no_days(opened):
    """A run with one thread takes four times as long: that is no unrest of the machine, and hides no regression."""
    ways = [{"environment": make_environment(threads=threads)} for threads in (1, 8)] + [{"iterations_per_run": 20}]
    history = [
        replicas(factor, run_id=f"way-{number}", **way)
        for number, (factor, way) in enumerate(zip((4.0, 0.6, 0.9), ways, strict=True))
    ]
    con = opened(replicas(), replicas(0.8, run_id="run-2"), *history)
    assert between_runs(con, ["run-1", "run-2"]) == {}
    [cell] = sides(con, "run-1", "run-2").cells
    assert cell.verdict.word == "faster"


def test_across_a_mark_nothing_is_compared_and_the_break_is_no_unrest_of_the_machine(tmp_path):
    """Two runs before a new driver, and two after it that take twice as long."""
    for day, seconds in enumerate((0.01, 0.01, 0.02, 0.02)):
        facts = {"run_id": f"run-{day}", "timestamp": RUN_START + day * DAY}
        records = [make_record(per_iter=[seconds] * 8, **facts), make_record(backend="eager", **facts)]
        write_run(tmp_path / "runs" / str(day), records)
    ingest([tmp_path / "runs"], tmp_path / "store")
    at = datetime.fromtimestamp(RUN_START + 1.5 * DAY, UTC).replace(tzinfo=None)
    marks.add(tmp_path / "state.sqlite", marks.Mark(marked_at=at, text="new driver", who="ann", created_at=at))
    changepoints.update(tmp_path / "store", tmp_path / "state.sqlite")
    with query.connect(query.current_snapshot(tmp_path / "store")) as con:
        cells = {old: sides(con, old, "run-3").cells for old in ("run-0", "run-2")}
        [variance] = between_runs(con, []).values()
        sql = "SELECT n, otherwise_n FROM geomean_changes('eager', NULL, $old, 'run-3') WHERE variant = 'inductor'"
        means = {old: con.execute(sql, {"old": old}).fetchall() for old in cells}
        asked = query.with_baseline(query.Filters(run=tuple(f"run-{day}" for day in range(4))), "eager", None)
        weekly = {row["run_id"]: row["measured"] for row in query.fetch(con, query.named("weekly_speedups"), asked)}
    words = {old: {cell.verdict.word for cell in of} for old, of in cells.items()}
    assert words == {"run-0": {"not comparable"}, "run-2": {"ambiguous"}}
    assert {cell.verdict.reason for cell in cells["run-0"]} == {"a mark lies between the two runs"}
    assert variance == pytest.approx(4 * 0.015**2 / 8)
    assert means == {"run-0": [(0, 1)], "run-2": [(1, 0)]}
    assert weekly["run-0"] == weekly["run-1"] != weekly["run-2"] == weekly["run-3"]


@scene(
    *replicas(environment=OLD, rounds_n=5),
    *replicas(0.8, environment=NEW, first_round=5, rounds_n=5),
)
def test_sides_without_a_common_round_are_not_said_to_have_no_samples(scenes, run):
    """Where other programs disturb different turns of both sides, each has its own quiet ones."""
    [cell] = sides(scenes, "old", "new", run).cells
    assert (cell.verdict.word, cell.verdict.reason) == ("not comparable", "the two sides have no round in common")


@scene(*replicas(1.02e-4, scatter=0, environment=OLD), *replicas(1.16e-4, scatter=0, environment=NEW))
def test_times_of_a_microsecond_have_three_digits(scenes, run):
    report = render(comparison_report(sides(scenes, "old", "new", run)), "text")
    assert "0.00116" in report  # 1 us, and what the rounds drift
    assert "0.00132" in report


UNEVEN = [*replicas(), *replicas(0.97, backend="eager")]


@several(
    UNEVEN,
    [
        make_record(per_iter=times, replica=number, purpose="calibration", backend=backend)
        for number, each in enumerate(NOISE)
        for backend, times in (("eager", each), ("inductor", [0.01 * (1 + number / 1e4)] * 8))
    ],
)
def test_a_verdict_does_not_depend_on_which_backend_is_named_first(scenes, runs):
    """The floor is that of the noisier one."""
    [there], [back] = (sides(scenes, *names, runs[0]).cells for names in (("inductor", "eager"), ("eager", "inductor")))
    assert there.floor == back.floor
    assert there.floor.floor > 0.1
    assert there.verdict.word == back.verdict.word == "same"
    assert there.verdict.low == pytest.approx(1 / back.verdict.high)
