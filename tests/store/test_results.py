"""Which record of an experiment is shown, and what stands where there is none."""

import math

import pytest

from runner.process.own_process import with_variables
from store import query
from store.ingest import ingest
from store.record import Quiet
from tests.store.factory import (
    demo_records,
    make_config,
    make_environment,
    make_record,
    plan_for,
    write_lines,
    write_run,
)
from tests.store.peer_records import peer_record, write_peer
from tests.store.scenes import Scenes

SCENES = Scenes()
scene = SCENES.scene


@pytest.fixture
def every(scenes, run):
    """Ask for the results of the run of a scene."""

    def ask(columns, where="true"):
        sql = f"SELECT {columns} FROM results WHERE run_id = $run AND {where} ORDER BY 1"
        return scenes.execute(sql, {"run": run}).fetchall()

    return ask


@pytest.fixture
def one(every):
    def ask(columns, where="true"):
        [row] = every(columns, where)
        return row

    return ask


@scene(
    make_record(
        per_iter=[0.001 * step for step in (3, 1, 2, 4, 5, 8, 7, 6)],
        first=0.5,
        warmup=[0.02],
        iterations_per_run=2,
        batch_size=9,
    )
)
def test_a_result_has_the_numbers_of_its_steady_blocks(one):
    """Steady 1..8 ms in blocks of 2 iterations, first block 1 s and one warm-up block of 20 ms per iteration."""
    latency, low, high, spread, n = one("latency_s, latency_low_s, latency_high_s, latency_spread, steady_n")
    assert (latency, low, high, n) == (pytest.approx(0.0045), 0.001, 0.008, 8)
    assert spread == pytest.approx((0.00625 - 0.00275) / 0.0045)
    assert one("throughput_per_s") == (pytest.approx(2000.0),)
    first, to_steady, peer = one("first_iteration_s, time_to_steady_s, compile_peer_s")
    assert first == pytest.approx(1.0 - 0.009)
    assert to_steady == pytest.approx((1.0 - 0.009) + (0.04 - 0.009))
    assert peer == pytest.approx(1.0 - (0.04 + 0.072) / 9)


def looped(loops):
    """Return a short operator: a first block of 1 s, and warm-up blocks of 3 and 2 us, which repeat; 1 us is steady."""
    record = make_record(first=1.0, warmup=(3e-6, 2e-6), per_iter=[1e-6] * 8, model=f"loops {len(loops)}")
    record.measurement.blocks.inner_loops = loops
    return record


@scene(looped([1, 1000, 2000, *[2000] * 8]), looped([1, 1000]), looped([]))
def test_a_user_waits_for_every_repetition_of_a_warm_up_block(every):
    """Of a list that does not fit the blocks nothing is known."""
    once = 1.0 - 1e-6 + 2e-6 + 1e-6
    assert every("model, time_to_steady_s, first_iteration_s") == [
        ("loops 0", pytest.approx(once, rel=1e-9), pytest.approx(0.999999)),
        ("loops 11", pytest.approx(1.0 - 1e-6 + 2e-3 + 2e-3, rel=1e-9), pytest.approx(0.999999)),
        ("loops 2", pytest.approx(once, rel=1e-9), pytest.approx(0.999999)),
    ]


@scene(*(make_record(backend=name) for name in ("eager", "inductor", "openxla+lazytensor", "openxla+dynamo")))
def test_compiler_time_is_dynamos_or_xlas_own_and_never_both(every):
    assert every("backend, compiler_time_s, compiler_source") == [
        ("eager", None, None),
        ("inductor", 0.7, "dynamo"),
        ("openxla+dynamo", 0.7, "dynamo"),
        ("openxla+lazytensor", 0.6, "XLA CompileTime"),
    ]


def on_cpu():
    record = make_record(environment=make_environment(accelerator=None))
    record.experiment.accelerator_model = "Example CPU"
    return record


@scene(on_cpu(), planned=[make_config(model="vgg16")])
def test_planned_and_measured_results_of_a_cpu_are_of_one_series(every):
    """A machine without another accelerator names its CPU, so an unfinished run does not look like two machines."""
    assert every("DISTINCT accelerator_model") == [("Example CPU",)]
    assert every("count(*)") == [(2,)]


@scene(make_record(), planned=[make_config(model="vgg16", batch_size=4)])
def test_a_planned_experiment_without_a_record_is_not_run_and_knows_its_machine(one, run):
    assert one("status, ran, reason, machine_id, torch, requested_batch_size, latency_s", "model = 'vgg16'") == (
        "not_run", False, "planned, and not measured so far", run, "2.9.1", 4, None,
    )  # fmt: skip


def test_a_skipped_plan_entry_without_a_record_is_skipped(tmp_path):
    record = make_record(status="skipped", message="needs CUDA")
    folder = write_run(tmp_path / "run", [record])
    write_lines(folder / "results.jsonl", [])
    with query.connect(ingest([folder], tmp_path / "store").snapshot) as con:
        assert con.execute("SELECT status, reason FROM results").fetchall() == [("skipped", "needs CUDA")]


@scene(
    *(make_record(backend=name, per_iter=[0.1] * 8) for name in ("eager", "inductor")),
    make_record(backend="eager", per_iter=[0.2] * 8, attempt=2),
)
def test_the_newest_attempt_of_a_group_counts_only_when_it_is_complete(one):
    """Attempt 2 has a record of one of two members: attempt 1 is shown, as both were then measured together."""
    assert one("latency_s, attempt, group_complete", "backend = 'eager'") == (0.1, 1, True)


@scene(
    *(
        make_record(backend=name, per_iter=[0.1 * attempt] * 8, attempt=attempt)
        for attempt in (1, 2)
        for name in ("eager", "inductor")
    )
)
def test_the_newest_complete_attempt_counts(every):
    assert every("DISTINCT latency_s, attempt") == [(0.2, 2)]


@scene(*(make_record(backend="eager", per_iter=[0.1 * n] * 8, attempt=n) for n in (1, 2)), planned=[make_config()])
def test_without_a_complete_attempt_the_newest_record_counts(one):
    assert one("latency_s, attempt, group_complete", "backend = 'eager'") == (0.2, 2, False)


@scene(make_record(backend="eager"), make_record(status="skipped", message="no compiler"))
def test_a_skipped_member_does_not_keep_a_group_from_being_complete(one):
    assert one("group_complete", "backend = 'eager'") == (True,)
    assert one("status, reason", "backend = 'inductor'") == ("skipped", "no compiler")


FAST, SLOW = [0.010 + 0.001 * n for n in range(6)], [0.020 + 0.001 * n for n in range(6)]


@scene(make_record(per_iter=FAST, replica=0), make_record(per_iter=SLOW, replica=1))
def test_replicas_are_pooled_and_the_interval_spans_theirs(one):
    latency, low, high, n, replicas = one("latency_s, latency_low_s, latency_high_s, steady_n, replicas_n")
    assert latency == pytest.approx((FAST[5] + SLOW[0]) / 2)
    assert (low, high, n, replicas) == (FAST[0], SLOW[5], 12, 2)


@scene(
    make_record(status="crashed", message="killed by signal 11", replica=0),
    make_record(replica=1),
    make_record(replica=2),
)
def test_a_failed_replica_is_told_and_the_others_count(one):
    status, n, warnings = one("status, steady_n, warnings")
    assert (status, n) == ("ok", 16)
    assert warnings == ["1 of 3 processes gave no result: killed by signal 11"]


@scene(make_record(per_iter=[]))
def test_an_ok_without_steady_blocks_is_invalid(one):
    assert one("status, ran, reason") == ("invalid", False, "no steady block was recorded")


def misfit():
    record = make_record()
    record.measurement.blocks.kind = ["first"]
    return record


@scene(misfit())
def test_kinds_that_do_not_fit_the_blocks_are_invalid(one):
    assert one("status, reason, latency_s") == (
        "invalid",
        "blocks.kind has 1 entries for 10 timed blocks",
        None,
    )


@scene(make_record(status="never_steady"))
def test_a_never_steady_experiment_shows_no_latency(one):
    assert one("status, ran, latency_s, reason") == ("never_steady", False, None, "its times never became steady")


@scene(make_record(per_iter=[0.1, None, 0.3]))
def test_a_null_sample_is_left_out(one):
    assert one("latency_s, steady_n, peer_exec_s") == (pytest.approx(0.2), 2, None)


def test_fallback_ops_are_counted_and_zero_only_where_they_were_looked_for(demo_con):
    found = dict(
        demo_con.execute("SELECT status, list_sort(list(DISTINCT fallback_ops_n)) FROM results GROUP BY 1").fetchall()
    )
    assert found["ok"] == [0, 3]
    assert not any(found["not_run"])
    assert not any(found["oom"])


def test_foreign_records_of_one_timestamp_are_one_run_without_a_plan(tmp_path):
    write_peer(tmp_path / "a.jsonl", [peer_record(), peer_record(backend="eager"), peer_record(timestamp=5)])
    with query.connect(ingest([tmp_path / "a.jsonl"], tmp_path / "store").snapshot) as con:
        assert con.execute("SELECT planned_n, plan_known, source FROM runs ORDER BY 1").fetchall() == [
            (1, False, "peer"),
            (2, False, "peer"),
        ]


def test_own_records_without_a_run_json_have_no_known_plan(tmp_path):
    write_lines(tmp_path / "a.jsonl", [make_record()])
    with query.connect(ingest([tmp_path / "a.jsonl"], tmp_path / "store").snapshot) as con:
        found = con.execute("SELECT plan_known, run_label, source FROM results").fetchall()
        assert found == [(False, "nightly", "xlabench")]


def test_run_status_counts_every_planned_experiment_once(demo_con):
    found = demo_con.execute(
        """SELECT sum(planned_n), sum(skipped_n), sum(runnable_n), sum(ran_n), sum(never_steady_n), sum(failed_n),
        sum(timeout_n), sum(oom_n), sum(crashed_n), sum(not_run_n), sum(verified_n), bool_and(verify_asked)
        FROM run_status WHERE run_id = '11111111-aaaa'"""
    ).fetchall()
    assert found == [(48, 1, 47, 40, 1, 4, 1, 1, 1, 2, 40, True)]


@scene(
    make_record(environment=make_environment("old", torch="2.8.0")), make_record(environment=make_environment("new"))
)
def test_environments_of_a_run_are_results_of_their_own(every):
    assert every("environment, torch") == [
        ("new", "2.9.1"),
        ("old", "2.8.0"),
    ]


def test_the_factory_plans_what_it_records():
    records = demo_records("r", 1.0, 1.0, "x")
    entries = plan_for(records)
    assert {entry.experiment_id for entry in entries} == {record.experiment_id for record in records}
    assert math.isclose(sum(entry.runnable for entry in entries), len(entries) - 1)


GIVEN = {"OMP_WAIT_POLICY": "passive", "OMP_PLACES": " 0, 2-3", "LD_PRELOAD": "a.so", "MKL_A": "AVX2", "MKL_A2": "1"}
"""A list, as of cores, may have commas and blanks."""
LEFT_OUT = {"TRITON_CACHE_DIR": "/a", "XLA_FLAGS": "--b", "PJRT_DEVICE": "CPU", "OMP_NUM_THREADS": "3", "MKL_X": ""}
POLICIES = (None, "libraries, nice -20", "OMP_WAIT_POLICY=PASSIVE, nice -20")


def with_policy(policy):
    """Return a record of an experiment of its own, measured where every variable was set."""
    variables = GIVEN | LEFT_OUT | {"platform": "Linux"}
    record = make_record(model=str(policy), environment=make_environment(variables=variables))
    record.measurement.quiet = None if policy is None else Quiet(rule=1, policy=policy)
    return record


@scene(*map(with_policy, POLICIES))
def test_a_policy_names_the_variables_that_change_how_the_libraries_work(every):
    """Also that of a record from before it did so, which names none of them, or those of threads alone."""
    given = with_variables("libraries", GIVEN | LEFT_OUT | {"platform": "Linux"})
    assert given == "LD_PRELOAD=A.SO, MKL_A2=1, MKL_A=AVX2, OMP_PLACES=0,2-3, OMP_WAIT_POLICY=PASSIVE"
    expected = (given, f"{given}, nice -20", f"{given}, nice -20")
    assert dict(every("model, policy")) == dict(zip(map(str, POLICIES), expected, strict=True))
