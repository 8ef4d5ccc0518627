"""The answer of a run in one sentence per model and test, and the marks beside each number."""

import re
from collections import defaultdict
from types import SimpleNamespace

import msgspec
import pytest

from store.advice import finding
from store.paired import answer, baseline_of, paired_report
from store.paired.answer import TIMES, answers
from store.paired.judged import experiments
from store.paired.read import speedups_table
from store.query import Filters, connect, fetch, named, with_baseline
from store.record import Quiet
from store.report import render
from store.report.render import text
from store.report.table import shown
from tests.store.factory import make_config, make_record
from tests.store.scenes import Scenes

QUIET = (0.0100, 0.0101, 0.0099, 0.0100, 0.0101, 0.0099, 0.0100, 0.0100)
TURNS = {"order": "interleaved", "verification_code": "PASS"}


def processes(count=3, factor=1.0, blocks_n=8, **facts):
    """Return records of processes that took turns; one takes half a percent longer than the one before it."""
    return [
        make_record(
            replica=replica,
            per_iter=[factor * each * (1 + replica / 200) for each in QUIET[:blocks_n]],
            **TURNS,
            **facts,
        )
        for replica in range(count)
    ]


def scattered(factors, seconds=0.01, **facts):
    """Return records of processes that differ as much as these factors do."""
    return [
        make_record(replica=replica, per_iter=[seconds * factor] * 8, **TURNS, **facts)
        for replica, factor in enumerate(factors)
    ]


SCENES = Scenes()
scene = SCENES.scene


@pytest.fixture(scope="module")
def scenes(ingested):
    with connect(ingested(*SCENES)) as con:
        yield con


@pytest.fixture(scope="module")
def speedups(scenes):
    """The rows of each run, all read at once."""
    runs = tuple(records[0].run.run_id for records, _ in SCENES)
    found = defaultdict(list)
    for row in fetch(scenes, named("speedups"), with_baseline(Filters(run=runs), "inductor", None)):
        found[row["run_id"]].append(row)
    return found


@pytest.fixture
def report(scenes, run, speedups):
    """What the report of a run says of its models, without means, legend and next steps: most of its time."""
    compared = experiments(scenes, speedups[run], "inductor")
    return SimpleNamespace(answer=answers(compared, "inductor"), people=(speedups_table(compared),))


@pytest.fixture
def whole(scenes, run):
    return paired_report(scenes, Filters(run=(run,)))


def marks(report):
    return {row[1]: row[6] for row in report.people[0].rows}


@scene(*processes(), *processes(backend="eager", factor=0.5), *processes(backend="openxla+dynamo", factor=2))
def test_the_fastest_is_named_with_factor_interval_and_verdict(report):
    [sentence] = report.answer
    assert sentence.startswith(
        "resnet18 eval: eager is fastest, 2.00\N{MULTIPLICATION SIGN} faster than inductor (95 % CI 1.9"
    )
    assert sentence.endswith("), confirmed.")


@scene(*processes(), *processes(backend="eager", factor=2), *processes(backend="openxla+dynamo", factor=4))
def test_a_fastest_baseline_is_told_with_the_one_that_comes_next(report):
    """Slower is a factor above 1, and its interval turns round with it."""
    [sentence] = report.answer
    said = "resnet18 eval: inductor is fastest; eager, the next, is 2.00\N{MULTIPLICATION SIGN} slower (95 % CI 1.9"
    assert sentence.startswith(said)
    low, high = sentence.partition("95 % CI ")[2].partition(")")[0].split(" to ")
    assert float(low) < 2 < float(high)


@scene(*processes(1), *processes(1, backend="eager", factor=0.005))
def test_a_latency_below_a_millisecond_keeps_its_digits(report):
    """Two decimals of 0.0525 ms would be off by a tenth, and disagree with the speedup beside them."""
    table = report.people[0]
    column = table.columns[2]
    assert column.title == "ms"
    shown_ms = {row[1]: float(shown(row[2], column)) for row in table.rows}
    assert shown_ms["eager"] < 0.1
    assert shown_ms["inductor"] / shown_ms["eager"] == pytest.approx(200, rel=0.005)


@scene(*processes(1, factor=1e-4), *processes(1, backend="eager", factor=1.16e-4))
def test_a_latency_of_a_microsecond_has_three_digits(report):
    table = report.people[0]
    shown_ms = {row[1]: shown(row[2], table.columns[2]) for row in table.rows}
    assert shown_ms == {"inductor": "0.00100", "eager": "0.00116"}


@scene(*processes(), *processes(backend="eager", factor=2))
def test_a_title_has_the_minute_of_its_run_and_a_note_what_n_is(whole):
    assert re.search(r", \d{4}-\d\d-\d\d \d\d:\d\d UTC\)$", whole.title)
    assert any(note.startswith("n is the number of steady blocks behind a latency") for note in whole.notes)


@scene(*processes(1), *processes(1, backend="eager", factor=0.5))
def test_one_process_makes_a_suspicion(report):
    assert report.answer[0].endswith("suspected (1 of 3 processes).")
    assert marks(report) == {"inductor": "baseline", "eager": "suspected"}


@scene(
    *(
        make_record(backend=backend, replica=replica, per_iter=[seconds] * 8)
        for replica in range(3)
        for backend, seconds in (("inductor", 0.01), ("eager", 0.005))
    )
)
def test_sides_that_took_no_turns_make_a_suspicion(report):
    assert "suspected (the sides were not interleaved), unverified." in report.answer[0]


@scene(*processes(), *scattered((0.7, 1.2, 0.9), backend="eager"))
def test_what_is_not_told_apart_is_no_answer(report):
    """Processes of one side differ as much as the sides do."""
    [sentence] = report.answer
    assert sentence.startswith("resnet18 eval: no significant difference between eager and inductor: eager measured 1.")
    assert marks(report)["eager"] == "ambiguous"


@scene(*processes(), *processes(backend="eager"))
def test_equally_fast_is_an_answer(report):
    [sentence] = report.answer
    assert sentence.startswith("resnet18 eval: none is faster than inductor: eager is 1.00")
    assert marks(report)["eager"] == "same"


@scene(*processes(), *processes(backend="eager", factor=0.5), *processes(backend="openxla+dynamo", factor=0.501))
def test_who_cannot_be_told_from_the_fastest_is_named(report):
    assert report.answer[0].endswith("; openxla+dynamo may be as fast.")


@scene(
    *processes(),
    *processes(backend="eager", factor=1.5),
    *scattered((0.3, 1.2, 2.0), 0.02, backend="openxla+dynamo"),
)
def test_who_may_be_as_fast_as_the_baseline_is_named(report):
    """The next is shown to be slower; another one's processes differ too much to say."""
    [sentence] = report.answer
    assert sentence.startswith("resnet18 eval: inductor is fastest; eager, the next, is 1.5")
    assert sentence.endswith("; openxla+dynamo may be as fast.")


MOVING = (0.001, 0.010, 0.100, 0.002, 0.050, 0.005, 0.080, 0.020)


@scene(
    make_record(per_iter=MOVING, **TURNS),
    make_record(backend="eager", per_iter=[each / 2 for each in MOVING], **TURNS),
)
def test_a_verdict_that_the_shown_interval_contradicts_is_ambiguous(whole):
    """Rounds agree in their ratio, while both sides move too much for an interval that is clear of 1."""
    eager = whole.tables[0].rows[0]
    titles = [column.title for column in whole.tables[0].columns]
    assert eager[titles.index("eager verdict")] == "ambiguous"
    assert eager[titles.index("eager speedup, low")] < 1
    assert eager[titles.index("eager marks")] == "ambiguous"
    assert "no significant difference" in whole.answer[0]


@scene(*scattered((1.0, 1.0, 1.0)), *scattered((1.0185, 1.0185, 1.0184), backend="eager"))
def test_a_difference_that_is_not_above_the_noise_floor_names_it(report):
    """Its interval excludes 1: without a reason, the sentence would contradict it."""
    [sentence] = report.answer
    assert "no significant difference between eager and inductor: eager measured 1.02" in sentence
    assert "; the interval excludes 1, but the difference is not above the noise floor of 3.0%" in sentence


@scene(*scattered((1.0, 1.0)), *scattered((1.02, 1.09), backend="eager"))
def test_processes_that_differ_more_than_their_blocks_are_named(report):
    """Of two processes, the interval of the verdict is wide, whatever their blocks say."""
    assert "; the interval over processes contains 1 and reaches beyond the noise floor" in report.answer[0]


@scene(make_record(status="oom", message="no room\nfor it"), make_record(backend="eager"))
def test_without_a_baseline_there_is_no_answer_but_its_reason(report):
    assert report.answer == ("resnet18 eval: no answer: inductor failed (out of memory): no room.",)
    assert marks(report)["eager"] == "no baseline, unverified"


@scene(make_record(backend="eager"))
def test_a_baseline_that_was_not_asked_for_is_named(report):
    assert report.answer == ("resnet18 eval: no answer: inductor was not measured.",)


def refused(**facts):
    """Return a record of which too many turns were disturbed."""
    record = make_record(status="disturbed", order="interleaved", **facts)
    why = "7 of 10 turns were disturbed by other programs (gcc, make); end them, or leave them a core"
    record.findings = [finding("disturbed", why=why)]
    return record


@scene(refused(), *processes(backend="eager", factor=0.5))
def test_a_disturbed_baseline_is_no_answer_and_says_what_to_do(report):
    [sentence] = report.answer
    assert sentence == (
        "resnet18 eval: no answer: inductor is refused: 7 of 10 turns were disturbed by other programs (gcc, make); "
        "measure again with --retry-failed."
    )
    assert marks(report) == {"inductor": "disturbed", "eager": "no baseline"}


@scene(*(refused(backend=backend) for backend in ("inductor", "eager", "openxla+dynamo")))
def test_a_reason_that_all_results_share_is_given_once(whole):
    """The reason stands in the rows of the model, so there is no table of what is not paired below them."""
    reasons = [row[7] for row in whole.people[0].rows]
    assert reasons[0].startswith("refused: 7 of 10 turns were disturbed")
    assert reasons[1:] == ["for the reason given above"] * 2
    assert "Not paired" not in [table.title for table in whole.people]


@scene(
    *(each for model in "ab" for each in processes(model=model)),
    *processes(model="a", backend="eager", factor=0.5),
    refused(model="b", backend="eager"),
)
def test_a_disturbed_backend_is_named_beside_the_answer_and_is_in_no_mean(whole):
    """Tables list it with its reason, apart from what has failed."""
    assert whole.answer[0].endswith(", confirmed.")
    assert whole.answer[1] == (
        "b eval: no answer: eager is refused: 7 of 10 turns were disturbed by other programs (gcc, make); "
        "measure again with --retry-failed."
    )
    unpaired = {row[2]: row[3:] for row in whole.people[2].rows if row[1] == "eager"}
    assert unpaired["disturbed here: measure again with --retry-failed"] == (1, "b")
    assert set(unpaired) == {"disturbed here: measure again with --retry-failed"}, "it is named once"
    legend = {row[0]: row[1:] for row in whole.people[-1].rows}
    assert legend["disturbed"][::2] == (1, "measure again with --retry-failed")
    assert "end them, or leave them a core" in " ".join(text(whole, 80).split())


def bounded(at_least_s, at_most_s, **facts):
    """Return a refused record whose waits bound what one iteration takes on a quiet machine."""
    record = refused(**facts)
    record.measurement.quiet = Quiet(rule=2, policy="libraries", at_least_s=at_least_s, at_most_s=at_most_s)
    return record


BOUNDS = [
    (0.0125, 0.0190, f"between 1.22{TIMES} and 1.92{TIMES} slower"),
    (0.0050, 0.0080, f"between 1.23{TIMES} and 2.05{TIMES} faster"),
    (0.0125, 0.0290, f"at least 1.22{TIMES} slower"),
    (0.0080, 0.0125, None),
]


def with_bounds():
    """Give a test each of them, with the report of a run of its own."""
    runs = [scene(*processes(), bounded(*ends, backend="openxla+dynamo")).args[1][0] for *ends, _ in BOUNDS]
    return pytest.mark.parametrize(
        ("run", "at_least_s", "at_most_s", "words"), [(run, *each) for run, each in zip(runs, BOUNDS, strict=True)]
    )


@with_bounds()
def test_bounds_of_a_refused_result_are_shown_where_they_are_clear_of_1(
    scenes, report, run, at_least_s, at_most_s, words
):
    """Both ends are shown if they are less than a factor of 2 apart, else the nearer one."""
    found = fetch(scenes, "FROM speedups('inductor', NULL) WHERE run_id = $run", {"run": run})
    rows = {row["variant"]: row for row in found}
    row = rows["openxla+dynamo"]
    assert (row["speedup"], row["speedup_low"]) == (None, None)
    assert 0.0099 / at_most_s <= row["speedup_at_least"] < 0.0100 / at_most_s
    assert rows["inductor"]["speedup_at_least"] is None
    shown = {row[1]: row[7] for row in report.people[0].rows}["openxla+dynamo"]
    [sentence] = report.answer
    if words is None:
        assert "slower" not in shown + sentence
        assert sentence.startswith("resnet18 eval: no answer: openxla+dynamo is refused: 7 of 10 turns")
    else:
        assert shown.startswith(f"{words} than the baseline on a quiet machine; refused: 7 of 10 turns")
        assert sentence == (
            f"resnet18 eval: only bounds, as other programs disturbed it: openxla+dynamo is {words} than inductor; "
            "measure again with --retry-failed."
        )


@scene(
    *processes(),
    *processes(backend="eager", factor=0.5),
    bounded(0.0125, 0.0190, backend="openxla+dynamo"),
    refused(backend="openxla"),
)
def test_bounds_stand_behind_the_answer_and_before_what_has_no_number(report):
    assert report.answer[0].endswith(
        f", confirmed; openxla+dynamo is between 1.22{TIMES} and 1.92{TIMES} slower (disturbed); "
        "no number for openxla (disturbed); measure again with --retry-failed."
    )


UNDIVIDED = {
    "a wrong answer": {"verification_code": "FAIL"},
    "another type": {"dtype": "bfloat16"},
    "another batch": {"batch_size": 4},
    "none of these": {},
}


@scene(
    *(
        record
        for model, facts in UNDIVIDED.items()
        for record in (
            *processes(model=model),
            bounded(0.0200, 0.0400, backend="openxla+dynamo", model=model, **facts),
        )
    )
)
def test_what_may_not_be_divided_has_no_bounds(scenes, run):
    sql = "SELECT model, speedup_at_least FROM speedups('inductor', NULL) WHERE run_id = $run AND variant <> 'inductor'"
    found = {row["model"]: row["speedup_at_least"] for row in fetch(scenes, sql, {"run": run})}
    assert {model for model in UNDIVIDED if found[model] is None} == UNDIVIDED.keys() - {"none of these"}


@scene(*processes(), *processes(backend="eager", factor=0.5), make_record(backend="openxla+dynamo", status="crashed"))
def test_what_gave_no_number_is_named_after_the_answer(report):
    assert report.answer[0].endswith(", confirmed; no number for openxla+dynamo (crashed).")


@scene(*processes(batch_size=8), *processes(backend="eager", factor=0.5, batch_size=1))
def test_what_was_measured_otherwise_is_not_said_to_be_missing(report):
    said = "resnet18 eval: no answer: eager is not comparable: batch size 1 against 8."
    assert report.answer == (said,)


@scene(
    *processes(batch_size=8),
    *processes(backend="eager", factor=2, batch_size=8),
    *processes(backend="openxla+dynamo", factor=0.1, batch_size=1),
)
def test_a_fastest_of_those_that_can_be_compared_names_the_others(report):
    [sentence] = report.answer
    assert sentence.startswith("resnet18 eval: inductor is fastest; eager, the next, is 2.00")
    assert sentence.endswith("; no number for openxla+dynamo (not comparable).")


@scene(
    make_record(status="verify_only", verification_code="PASS"),
    make_record(backend="eager", status="verify_only", verification_code="FAIL"),
    make_record(backend="openxla+dynamo", status="verify_only", verification_code="EAGER_FAILED"),
)
def test_what_was_only_verified_shows_its_verdicts(report):
    assert report.answer == ("resnet18 eval: no answer: answers were verified, nothing was timed.",)
    assert marks(report) == {
        "inductor": "verified only",
        "eager": "verified only, wrong answer",
        "openxla+dynamo": "verified only, eager failed",
    }


FEW = [*processes(blocks_n=3), *processes(blocks_n=3, backend="eager", factor=0.5)]


@scene(*FEW)
def test_processes_of_few_blocks_without_their_mark_have_no_interval(report):
    assert {row[1]: row[5] for row in report.people[0].rows} == {"inductor": None, "eager": None}


@scene(*(msgspec.structs.replace(each, findings=[finding("few_blocks", n=3, wanted=6)]) for each in FEW))
def test_processes_of_few_blocks_have_the_interval_of_their_scatter(report):
    """Three blocks have no interval of their own."""
    low, high = map(float, {row[1]: row[5] for row in report.people[0].rows}["eager"].split("\N{EN DASH}"))
    assert 1.9 < low < 2 < high < 2.1
    assert ", confirmed, few blocks" in report.answer[0]


@scene(*processes(1), make_record(backend="eager", per_iter=[0.001] * 8, verification_code="FAIL"))
def test_a_wrong_answer_wins_nothing(report):
    assert report.answer == ("resnet18 eval: no answer: eager gave a wrong answer.",)
    assert marks(report)["eager"] == "wrong answer"


def found(records, *findings):
    """Return records of which the first ones have these findings."""
    for record, some in zip(records, findings, strict=False):
        record.findings = some
    return records


WIDE, FAR = finding("wide_spread", spread=0.3), finding("far_off", far=1, n=8, off=0.5)


@scene(
    *found(
        [*processes(1), *processes(1, backend="eager", factor=0.5)],
        [WIDE, finding("governor", governor="powersave")],
        [FAR],
    )
)
def test_findings_mark_their_row_and_every_number_that_rests_on_them(whole):
    assert marks(whole) == {"inductor": "baseline, wide spread", "eager": "suspected, far off; baseline: wide spread"}
    assert whole.answer[0].endswith("suspected (1 of 3 processes), far off; baseline: wide spread.")
    legend = {row[0]: row[3] for row in whole.people[-1].rows}
    assert legend["far off"] == "inspect the samples, and measure again while nothing else runs"
    assert legend["(no mark)"].startswith("set it to `performance`")
    assert "unverified" not in legend


@scene(*processes(), *processes(backend="eager", factor=0.5))
def test_the_answer_is_the_last_thing_that_a_terminal_shows(whole):
    said = text(whole, 60)
    assert " ".join(said.split()).endswith(f"* {whole.answer[0]}")
    wide = [line for line in said.splitlines() if len(line) > 60]
    assert wide == [f"    {step.command}" for step in whole.steps], "a command stands in one line, to be copied"


@scene(
    *found(
        [
            record
            for each in ("a", "b")
            for backend in ("inductor", "eager", "openxla+dynamo", "openxla+lazytensor")
            for record in processes(1, model=each * 30, backend=backend)
        ],
        [],
        [WIDE, FAR],
    )
)
def test_lines_fit_the_terminal(whole, monkeypatch):
    """Where nobody says how wide it is, it has 80 columns."""
    for columns, most in (("", 80), ("120", 120)):
        monkeypatch.setenv("COLUMNS", columns)
        lengths = [len(line) for line in render(whole, "text").splitlines()]
        assert most - 8 < max(lengths) <= most


@scene(
    *processes(1, model="a"),
    *processes(1, model="b"),
    *processes(1, model="a", backend="eager", factor=0.5),
    make_record(model="b", backend="eager", status="oom"),
    *processes(1, model="a", backend="openxla+dynamo"),
)
def test_instead_of_a_mean_over_one_model_it_is_named(whole):
    """A series of which only one model was planned has no row: that of the model says it all."""
    rows = {row[1]: row for row in whole.people[1].rows}
    assert rows["eager"][2:5] == (1, "a alone", None)
    assert rows["inductor"][2:4] == (2, "baseline")
    assert "openxla+dynamo" not in rows


@scene(make_record(backend="eager"), make_record(backend="openxla+dynamo"))
def test_a_run_without_inductor_is_compared_with_eager(scenes, run):
    assert baseline_of(scenes, run) == "eager"
    assert baseline_of(scenes, "no-such-run") is None


EAGER, XLA = {"backend": "eager"}, {"backend": "openxla+dynamo"}
GRAPHS, MODE = {"cudagraphs": True}, {"compile_mode": "reduce-overhead"}


CHOICES = [
    ((EAGER, {}, MODE), "inductor"),
    ((EAGER, GRAPHS), "inductor"),
    ((EAGER, MODE), "eager"),
    ((MODE, XLA), "inductor mode=reduce-overhead"),
    ((XLA,), "inductor"),
]
CHOSEN = {
    scene(*(make_record(**settings) for settings in measured)).args[1][0]: baseline for measured, baseline in CHOICES
}


@pytest.mark.parametrize("run", CHOSEN)
def test_inductor_in_another_mode_is_the_last_choice(scenes, run):
    """With CUDA graphs, which the HUD's preset turns on, it is the usual baseline."""
    baseline = baseline_of(scenes, run)
    assert baseline == CHOSEN[run]
    rows = fetch(scenes, named("speedups"), with_baseline(Filters(run=(run,)), baseline, None))
    told = answers(experiments(scenes, rows, baseline), baseline)
    assert len(rows) == 1 or not any("was not measured" in sentence for sentence in told)


@scene(*processes(1, requested_batch_size=4), *processes(1, requested_batch_size=8), *processes(1, model="b"))
def test_batch_sizes_are_told_apart_where_a_model_has_several(report):
    assert sorted(sentence.partition(":")[0] for sentence in report.answer) == [
        "b eval",
        "resnet18 eval at batch size 4",
        "resnet18 eval at batch size 8",
    ]


def of_two_precisions():
    """Return one model under two precisions of matrix products, as a plan file may have it: lazy tensors win in one."""
    return [
        *processes(backend="inductor", matmul_precision="highest"),
        *processes(backend="openxla", factor=2.0, matmul_precision="highest"),
        *processes(backend="inductor", factor=0.5, matmul_precision="high"),
        *processes(backend="openxla", factor=0.25, matmul_precision="high"),
    ]


@scene(*of_two_precisions())
def test_precisions_of_one_model_are_two_experiments(report):
    high, highest = sorted(report.answer)
    assert high.startswith("resnet18 eval high: openxla is fastest, 2.00\N{MULTIPLICATION SIGN} faster than inductor")
    assert highest.startswith("resnet18 eval highest: inductor is fastest; openxla, the next, is 2.00")
    assert all(sentence.endswith("confirmed.") for sentence in report.answer)


@scene(*of_two_precisions())
def test_no_row_of_the_models_is_dropped_for_its_precision(whole):
    [models] = [table for table in whole.tables if table.title == "Models"]
    assert [column.title for column in models.columns][:3] == ["model", "test", "matmul_precision"]
    assert sorted(row[2] for row in models.rows) == ["high", "highest"]


@pytest.mark.parametrize(
    ("needed", "words"),
    [
        (None, ""),
        (30, "; measure with --processes 30 to settle it"),
        (323, "; it would take 323 processes to settle it"),
    ],
)
def test_nobody_is_told_to_measure_with_hundreds_of_processes(needed, words):
    result = SimpleNamespace(verdict=SimpleNamespace(needed=needed))
    assert answer._needed(result) == words


@scene(
    *processes(),
    *processes(backend="eager", factor=2),
    planned=[make_config(model=f"model_{number}") for number in range(5)],
)
def test_experiments_that_a_run_did_not_reach_share_one_sentence(report):
    measured, rest = report.answer
    assert measured.startswith("resnet18 eval: inductor is fastest")
    assert rest == (
        "model_0 eval, model_1 eval, model_2 eval and 2 more: no answer: not measured so far; if the run has ended, "
        "repeat its command to continue."
    )


def lost(factors, backend, kept):
    """Return processes of five blocks each, too few for an interval, of which only the first `kept` gave a result."""
    return [
        make_record(
            backend=backend,
            replica=replica,
            per_iter=[0.01 * factor] * 5,
            **({"status": "ok"} if replica < kept else {"status": "crashed", "message": "killed by signal 11"}),
            **TURNS,
        )
        for replica, factor in enumerate(factors)
    ]


@scene(*lost((1.0, 1.4, 1.4), "inductor", 3), *lost((1.2, 1.2, 1.2), "eager", 1))
def test_a_slower_that_the_number_beside_it_denies_is_ambiguous(report):
    """Its one process is slower than the baseline's beside it, and faster than the baseline's processes together."""
    said = "resnet18 eval: no significant difference between eager and inductor: "
    said += "eager measured 1.17\N{MULTIPLICATION SIGN} faster"
    assert report.answer[0].startswith(said)
    assert marks(report)["eager"] == "ambiguous"


@scene(*lost((1.4, 1.0, 1.0), "inductor", 3), *lost((1.2, 1.2, 1.2), "eager", 1))
def test_a_faster_that_the_number_beside_it_denies_is_ambiguous(report):
    said = "resnet18 eval: no significant difference between eager and inductor: "
    said += "eager measured 1.20\N{MULTIPLICATION SIGN} slower"
    assert report.answer[0].startswith(said)


@scene(*lost((1.0, 1.0, 1.4, 1.4, 1.4), "inductor", 5), *lost((1.0,) * 5, "eager", 2))
def test_a_same_that_the_number_beside_it_denies_is_ambiguous(report):
    said = "resnet18 eval: no significant difference between eager and inductor: "
    said += "eager measured 1.40\N{MULTIPLICATION SIGN} faster"
    assert report.answer[0].startswith(said)
