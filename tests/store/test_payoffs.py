"""What models gain without their fallback ops: view, query and report."""

import numpy as np
import pytest
from scipy import stats

from store import query
from store.errors import UsageError
from store.query import Filters
from store.record import FallbackOp, Replacement
from store.report import render
from store.report.payoffs import fallbacks_report, payoffs_report, sentences
from tests.store.factory import later, make_environment, make_record
from tests.store.peer_records import peer_record, write_peer
from tests.store.scenes import Scenes

LAZY = "openxla+lazytensor"


def op(name="nonzero", calls=4.0):
    return FallbackOp(op=name, klass="no_lowering", calls_per_iteration=calls, calls_compile=2)


def side(*ops, ms, processes=3, skew=0.0, model="alexnet", **facts):
    """Return the records of one side: what comes and goes from round to round meets both."""
    return [
        make_record(
            model=model,
            purpose="payoff",
            replica=replica,
            fallback_ops=ops,
            per_iter=[ms / 1e3 * (1 + 0.1 * (step % 5)) * (1 + skew * replica) for step in range(10)],
            **{"backend": LAZY, "verification_code": "PASS", "order": "interleaved", **facts},
        )
        for replica in range(processes)
    ]


def without(*ops, ms, replaced=("nonzero",), way="decomposition", **facts):
    stand_ins = [Replacement(op=each, way=way, source=f"torch.{each}", calls=9) for each in replaced]
    return side(*ops, ms=ms, without_fallback=replaced, replacements=stand_ins, **facts)


SCENES = Scenes()
scene = SCENES.scene


@pytest.fixture
def rows(scenes, run):
    """The payoffs of the run of a scene."""
    return query.fetch(scenes, "SELECT * FROM payoffs WHERE run_id = $run ORDER BY model, op", {"run": run})


@scene(*side(op(), ms=18.0), *without(ms=10.0, skew=0.01))
def test_a_payoff_is_the_latency_with_the_op_over_that_without(rows):
    [row] = rows
    assert row["payoff"] == pytest.approx(1.8, rel=0.02)
    ratios = np.log([1.8, 1.8 / 1.01, 1.8 / 1.02])
    half = stats.t.ppf(0.975, 2) * ratios.std(ddof=1) / np.sqrt(3)
    expected = np.exp([ratios.mean() - half, ratios.mean() + half])
    assert [row["payoff_low"], row["payoff_high"]] == pytest.approx(expected, rel=1e-6)
    assert (row["gain"], row["floor"]) == (1, 0.03)
    keys = ("op", "ways", "replaced_by", "replaced_calls_per_iteration", "newly_called", "replicas_ran_n")
    assert [row[key] for key in keys] == ["nonzero", ["decomposition"], ["torch.nonzero"], 4.0, [], 3]


@scene(*side(op(), ms=18.0), *without(ms=10.0), make_record(model="vgg16", backend=LAZY))
def test_a_run_of_payoffs_stands_in_no_view_of_results(scenes, run):
    """Neither the side with the op: it was measured for this only."""

    def distinct_rows(columns, view):
        return query.fetch(scenes, f"SELECT DISTINCT {columns} FROM {view} WHERE run_id = $run", {"run": run})

    for view in ("results", "history", "fallback_ops", "latest_results"):
        assert [row["model"] for row in distinct_rows("model", view)] in (["vgg16"], [])
    assert [row["planned_n"] for row in distinct_rows("planned_n", "geomeans('openxla+lazytensor', NULL)")] == [1]
    assert [row["planned_n"] for row in distinct_rows("planned_n", "runs")] == [1]


CALLED = (op(),)
NO_PAYOFF = [
    ({"ops": ()}, {}, "not called in steady iterations: nonzero"),
    ({"ops": [op(calls=0.0)]}, {}, "not called in steady iterations: nonzero"),
    ({}, {"ops": CALLED}, "still falls back although replaced: nonzero"),
    ({}, {"verification_code": "FAIL"}, "wrong answer without the op: verification FAIL"),
    ({"verification_code": "FAIL"}, {}, "wrong answer with the op: verification FAIL"),
    (
        {},
        {"verification_code": "VERIFIER_SKIPPED"},
        "the answer without the op is not verified: VERIFIER_SKIPPED",
    ),
    ({}, {"status": "compile_error", "message": "no shape"}, "without the op: compile_error: no shape"),
    ({"status": "crashed", "message": "signal 11"}, {}, "with the op: crashed: signal 11"),
    ({"order": "sequence"}, {}, "the two sides did not take turns"),
    (None, {}, "with the op: it did not run"),
]
"""What differs with the op, what differs without it, and the reason."""


def unclaimed():
    """Return the records of one model for each case."""
    records = []
    for place, (with_op, without_op, _) in enumerate(NO_PAYOFF):
        for make, ops, ms, changes in ((side, CALLED, 18.0, with_op), (without, (), 10.0, without_op)):
            if changes is not None:
                facts = {"ops": ops, "model": f"m{place}", **changes}
                records += make(*facts.pop("ops"), ms=ms, **facts)
    return records


@scene(*unclaimed())
def test_where_nothing_may_be_claimed_there_is_a_reason_and_no_number(rows):
    assert [row["model"] for row in rows] == [f"m{place}" for place in range(len(NO_PAYOFF))]
    for row, (_, _, reason) in zip(rows, NO_PAYOFF, strict=True):
        assert row["payoff_reason"].endswith(reason)
        assert (row["payoff"], row["payoff_low"], row["payoff_high"]) == (None, None, None)


BRIDGE = {"backend": "openxla+dynamo", "test": "train"}


@scene(
    *side(op(), ms=18.0, **BRIDGE),
    *without(ms=10.0, **BRIDGE, status="compile_error", message="AttributeError: no shape_env"),
    *side(op(), ms=18.0, model="vgg16", **BRIDGE),
    *without(ms=10.0, model="vgg16", **BRIDGE),
)
def test_what_does_not_compile_without_its_op_is_told_under_dynamo_and_in_training(scenes, run, rows):
    """Beside a model that gains: its payoff stands, and the failure is a sentence with its reason, not a number."""
    assert {row["model"]: (row["test"], row["payoff_low"] is None, row["gain"]) for row in rows} == {
        "alexnet": ("train", True, None), "vgg16": ("train", False, 1),
    }  # fmt: skip
    [gain, told] = sentences(scenes, run)
    assert gain.startswith("lower nonzero → torchbench/vgg16 train openxla+dynamo 1.80")
    assert told == (
        "lower nonzero → torchbench/alexnet train openxla+dynamo: no payoff measured: "
        "without the op: compile_error: AttributeError: no shape_env"
    )


BOTH = ("masked_select", "nonzero")


@scene(*side(op(), op("masked_select", 2.0), ms=18.0), *without(op("sort"), ms=10.0, replaced=BOTH))
def test_several_ops_are_replaced_together_and_new_ones_are_named(rows):
    [row] = rows
    assert (row["op"], row["replaced_calls_per_iteration"], row["newly_called"]) == (
        "masked_select, nonzero", 6.0, ["sort"],
    )  # fmt: skip


@scene(*side(op(), ms=18.0), *without(ms=10.0), *side(op(), ms=30.0, attempt=2), *without(ms=10.0, attempt=2))
def test_of_several_attempts_the_newest_counts(rows):
    [row] = rows
    assert row["payoff"] == pytest.approx(3.0, rel=0.01)


@scene(*side(op(), ms=18.0), *without(ms=10.0), *side(op(), ms=30.0, attempt=2))
def test_sides_of_two_attempts_are_not_divided(rows):
    """A run that was stopped in its second attempt: only in the first did both sides take turns."""
    [row] = rows
    assert (row["payoff"], row["with_latency_s"]) == (pytest.approx(1.8, rel=0.01), pytest.approx(0.0216))


def test_the_newest_measurement_of_a_series_and_op_is_reported(stored_runs):
    """Another machine is another series: its measurement stays in what is asked for without a run."""

    def day(ms, **facts):
        made = [*_later(op(), ms=ms, **facts), *_later(ms=10.0, without_fallback=("nonzero",), **facts)]
        return [lambda made=each, **run: make_record(**{**made, **run}) for each in made]

    con = stored_runs(day(18.0), day(25.0), day(20.0, environment=make_environment(machine_id="beef")))
    assert len(query.fetch(con, "SELECT * FROM payoffs")) == 3
    newest, others = sorted(payoffs_report(con).answer, reverse=True)
    assert newest.startswith("lower nonzero → torchbench/alexnet eval openxla+lazytensor 2.50")
    assert others.startswith("lower nonzero → torchbench/alexnet eval openxla+lazytensor 2.00")
    assert len(payoffs_report(con, Filters(run=("run-1", "run-2"))).answer) == 2


@pytest.mark.parametrize(
    "otherwise", [{"environment": make_environment(threads=1)}, {"batch_size": 1}], ids=["threads", "batch"]
)
def test_a_result_has_the_payoff_that_was_measured_with_its_threads_and_batch_size(stored_runs, otherwise):
    """The newest one was measured otherwise: it says nothing of what lowering the op saves here."""

    def day(ms, **facts):
        made = [*_later(op(), ms=ms, **facts), *_later(ms=10.0, without_fallback=("nonzero",), **facts)]
        return [later(**each) for each in made]

    result = later(model="alexnet", backend=LAZY, fallback_ops=[op()])
    con = stored_runs([result], day(18.0), day(30.0, **otherwise))
    [row] = query.fetch(con, "SELECT payoff_run_id, payoff FROM fallback_payoffs")
    assert (row["payoff_run_id"], row["payoff"]) == ("run-2", pytest.approx(1.8, rel=0.01))


def _later(*ops, ms, **facts):
    fixed = {
        "model": "alexnet",
        "backend": LAZY,
        "purpose": "payoff",
        "verification_code": "PASS",
        "order": "interleaved",
    }
    times = [ms / 1e3 * (1 + 0.001 * (step % 5)) for step in range(10)]
    return [{**fixed, "per_iter": times, "fallback_ops": ops, "replica": replica, **facts} for replica in range(3)]


@scene(
    *side(op(), ms=18.0),
    *without(ms=10.0),
    *side(op("sort"), ms=10.0, model="dcgan"),
    *without(ms=20.0, model="dcgan", replaced=("sort",), way="opt_in"),
    *side(op("sort"), ms=10.0, model="vgg16", processes=1),
    *without(ms=10.0, model="vgg16", replaced=("sort",), processes=1),
    *side(ms=10.0, model="resnet18"),
    *without(ms=10.0, model="resnet18"),
)
def test_the_sentence_says_by_what_and_how_sure(scenes, run, rows):
    assert {row["model"]: row["gain"] for row in rows if row["payoff"]} == {"alexnet": 1, "vgg16": None, "dcgan": -1}
    times = "\N{MULTIPLICATION SIGN}"
    assert sentences(scenes, run) == [
        f"lower nonzero → torchbench/alexnet eval {LAZY} 1.80{times} [1.80, 1.80], by torch's decomposition",
        (
            f"lower sort → torchbench/vgg16 eval {LAZY} 1.00{times}, by torch's decomposition: "
            "one process gives no interval"
        ),
        (
            f"lower sort → torchbench/dcgan eval {LAZY} 0.50{times} [0.50, 0.50], "
            "by PyTorch/XLA's opt-in lowering: slower than falling back"
        ),
        f"lower nonzero: not called in steady iterations of torchbench/resnet18 eval {LAZY}",
    ]


@scene(*side(op(), ms=18.0), *without(ms=10.0), *side(ms=10.0, model="dcgan"), *without(ms=9.0, model="dcgan"))
def test_the_report_has_every_row_and_its_reason(scenes, run):
    made = payoffs_report(scenes, Filters(run=(run,)))
    [table] = made.tables
    assert [row[0] for row in table.rows] == ["nonzero", "nonzero"]
    assert [row[-1] for row in table.rows] == [None, "not called in steady iterations: nonzero"]
    assert [mark.value for mark in made.picture.marks] == [pytest.approx(1.8, rel=0.01)]
    with pytest.raises(UsageError, match="--without-fallback OP"):
        payoffs_report(scenes, Filters(run=(run,), model=("vgg16",)))


@scene(*side(op(), ms=10.2), *without(ms=10.0))
def test_an_effect_below_the_noise_floor_is_no_gain(rows):
    """However narrow its interval is."""
    [row] = rows
    assert row["payoff_low"] > 1
    assert row["gain"] == 0


CALLERS = [
    make_record(model=name, backend=LAZY, fallback_ops=[op(), op("sort")]) for name in ("alexnet", "dcgan", "vgg16")
]


@scene(
    *CALLERS,
    *side(op(), ms=15.0),
    *without(ms=10.0),
    *side(op(), ms=30.0, model="dcgan", processes=1),
    *without(ms=10.0, model="dcgan", processes=1),
    *side(op("sort"), ms=15.0, model="vgg16"),
    *without(ms=10.0, model="vgg16", replaced=("sort",), verification_code="FAIL"),
)
def test_the_ranking_shows_a_proven_gain_with_its_own_interval_before_a_larger_one_of_one_process(scenes, run):
    chosen = Filters(run=(run,)).parameters() | {"order": "payoff"}
    nonzero, sort = query.fetch(scenes, query.named("fallback_ranking"), chosen)
    keys = ("op", "payoffs_n", "gain", "payoff", "payoff_low", "payoff_high", "payoff_model", "payoff_reason")
    proven = ["nonzero", 2, 1, *[pytest.approx(1.5)] * 3, "alexnet", None]
    assert [nonzero[key] for key in keys] == proven
    unproven = ["sort", 0, *[None] * 5, "wrong answer without the op: verification FAIL"]
    assert [sort[key] for key in keys] == unproven
    [answer] = fallbacks_report(scenes, Filters(run=(run,))).answer
    assert "without it alexnet was 1.50\N{MULTIPLICATION SIGN} faster, measured" in answer


def ran(*models, **facts):
    """Give a test the run of these models under XLA, of one that failed there, and of one of another backend."""
    others = (make_record(model="dcgan", backend=LAZY, status="crashed"), make_record(model="vgg16"))
    return scene(*others, *(make_record(model=model, backend=LAZY, **facts) for model in models)).args[1][0]


LOWERED = {
    ran("a"): "The one XLA result that ran calls no op that could be lowered in its steady iterations.",
    ran("a", "b"): "None of the 2 XLA results that ran calls an op that could be lowered in its steady iterations.",
    ran("a", fallback_ops=[op(calls=1.0)]): "nonzero is the op to lower first: 1 call per iteration, not profiled, in "
    "1 model.",
}


def test_records_of_other_tools_say_nothing_of_fallback_ops(stored, tmp_path):
    con = stored(paths=[write_peer(tmp_path / "results.jsonl", [peer_record(backend=LAZY)])])
    why = "No result of an XLA backend was measured by xlabench, so no fallback ops are known."
    with pytest.raises(UsageError, match=why):
        fallbacks_report(con)


NOTHING_RAN = ran()


def test_where_no_xla_backend_ran_nothing_is_known_of_fallback_ops(scenes):
    with pytest.raises(UsageError, match="No result of an XLA backend ran, so no fallback ops are known"):
        fallbacks_report(scenes, Filters(run=(NOTHING_RAN,)))


NOTHING_TO_LOWER = ran("resnet")


@pytest.mark.parametrize(("form", "begins"), [("csv", "# op,class,ranked by,"), ("tab", "╒═")])
def test_without_fallback_ops_the_report_has_its_header(scenes, form, begins):
    """A script could not tell an empty answer from a command that had printed nothing."""
    report = fallbacks_report(scenes, Filters(run=(NOTHING_TO_LOWER,)))
    printed = render(report, form)
    assert printed.startswith(begins)
    assert len(printed.splitlines()) == (1 if form == "csv" else 4), printed


@pytest.mark.parametrize("run", LOWERED)
def test_the_report_says_what_to_lower_first_or_how_many_results_call_nothing_that_could_be(scenes, run):
    assert fallbacks_report(scenes, Filters(run=(run,))).answer == (LOWERED[run],)
