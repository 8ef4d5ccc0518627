"""What a run tells while it goes."""

import io
import types

import pytest
from runner_makers import ended, entry, facts, record, report

from runner.schedule import progress
from runner.schedule.examine import Extras
from runner.schedule.groups import Member
from runner.schedule.outcome import Outcome
from runner.schedule.progress import ProgressView, duration, title, verdict
from runner.schedule.records import make_record
from store.advice import finding
from store.record import Finding, Until, Verification

ENTRIES = [entry("eager"), entry("inductor"), entry("inductor", "dummy_nonzero")]
MEMBERS = [Member(each) for each in ENTRIES]


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""
    state = types.SimpleNamespace(now=100.0)
    monkeypatch.setattr(progress, "time", types.SimpleNamespace(monotonic=lambda: state.now))
    return state


@pytest.fixture
def terminal(monkeypatch):
    """A terminal of 120 columns, as far as rich can tell."""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def view(clock, request):
    if "terminal" in request.fixturenames:
        request.getfixturevalue("terminal")
    return ProgressView(stream=io.StringIO(), members=MEMBERS)


def lines(view):
    return view.stream.getvalue().splitlines()


def take(view, clock, which, seconds, status="ok"):
    view.begin(Member(which))
    clock.now += seconds
    view.end(Member(which), 0, record(which, status))


def test_off_a_terminal_a_process_is_one_plain_line_when_it_has_finished(view, clock):
    """No control character, no wrapping; neither phases nor rounds, of which a run has hundreds."""
    view.begin(MEMBERS[0])
    view.phase("load")
    view.phase("measure")
    view.turn(MEMBERS[0], 0, 3)
    assert lines(view) == []
    view.end(MEMBERS[0], 0, record(ENTRIES[0]))
    measured = "100 ms per iteration (median of 6 blocks), first block 1 s"
    assert lines(view) == [f"[1/3] dummy/dummy eval eager on cpu: {measured}"]


def test_off_a_terminal_processes_that_take_turns_are_announced(view, clock):
    """The first of them finishes minutes later, and until then a log would be empty."""
    view.interleave(MEMBERS[:2])
    assert lines(view) == ["dummy/dummy eval on cpu: 2 processes take turns; their results follow together."]


def test_on_a_terminal_nothing_is_announced(view, clock, terminal):
    view.interleave(MEMBERS[:2])
    assert lines(view) == []


def test_on_a_terminal_a_live_line_says_what_goes_on(view, clock, terminal):
    """It goes away when the process has finished, and the line of the result stays."""
    view.begin(MEMBERS[0])
    view.phase("load")
    view.turn(MEMBERS[0], 0, 3, further=True)
    view.end(MEMBERS[0], 0, record(ENTRIES[0]))
    shown = view.stream.getvalue()
    assert "[1/3] dummy/dummy eval eager on cpu: loading" in shown
    assert "eager on cpu: interleaved, round 4 of its group, until stable" in shown
    assert lines(view)[-1].endswith("100 ms per iteration (median of 6 blocks), first block 1 s")


def test_a_doubtful_time_carries_its_doubts(view):
    """What holds for the whole machine is no doubt of one result."""
    of = record(ENTRIES[0])
    of.findings = [finding("far_off", far=1, n=6, off=0.5), finding("governor", governor="powersave")]
    assert verdict(of) == "100 ms per iteration (median of 6 blocks), first block 1 s; far off"


def test_how_well_the_median_is_known_stands_beside_it(view, clock):
    of = record(ENTRIES[0])
    of.measurement.until = Until(target=0.01, budget_s=60, half_width=0.0123)
    assert verdict(of) == "100 ms ± 1.2% per iteration (median of 6 blocks), first block 1 s"
    of.measurement.until.half_width = None
    assert verdict(of) == "100 ms per iteration (median of 6 blocks), first block 1 s"


def test_what_is_refused_gives_its_reason_and_no_number():
    """It has steady blocks all the same."""
    of = record(ENTRIES[0])
    of.status = "disturbed"
    of.findings = [Finding(code="disturbed", text="refused: 7 of 10 turns were disturbed", next_step="end them")]
    assert verdict(of) == "disturbed: 7 of 10 turns were disturbed"


def test_a_long_line_stays_one_line_and_brackets_stay(view):
    view.note("[bold] " + "x" * 400)
    assert lines(view) == ["[bold] " + "x" * 400]


def test_the_number_counts_on_and_the_time_left_shrinks(view, clock):
    """Each backend is estimated by its own mean, an unknown one by the mean of all."""
    assert view.time_left() is None
    take(view, clock, ENTRIES[0], 4.0)
    assert view.time_left() == pytest.approx(8.0)
    take(view, clock, ENTRIES[1], 20.0)
    assert view.time_left() == pytest.approx(20.0)
    view.begin(MEMBERS[2])
    view.end(MEMBERS[2], 0, record(ENTRIES[2]))
    assert view.time_left() == 0


def test_the_live_line_says_how_much_time_is_left(view, clock, terminal):
    take(view, clock, ENTRIES[0], 4.0)
    view.begin(MEMBERS[1])
    assert "[2/3] dummy/dummy eval inductor on cpu: starting, about 8 s left" in view.stream.getvalue()


def test_a_failure_is_told_with_phase_and_first_line(view, clock):
    take(view, clock, ENTRIES[0], 1.0, status="compile_error")
    assert lines(view)[-1] == "[1/3] dummy/dummy eval eager on cpu: compile_error in measure: it broke"


def test_a_failure_without_words_does_not_stop_the_run():
    of = record(ENTRIES[0], "run_error")
    of.error.message = " \n"
    assert verdict(of).startswith("run_error in measure")


def test_a_long_failure_is_cut_to_its_first_line():
    of = record(ENTRIES[0], "run_error")
    of.error.message = "\n" + "x" * 500 + "\nsecond line"
    assert verdict(of) == "run_error in measure: " + "x" * 159 + "…"


def test_what_never_became_steady_says_how_many_blocks_it_had():
    part = report(times=(1.0, 0.9, 0.8), warm=2)
    of = make_record(ENTRIES[0], facts(), ended("never_steady", report=part))
    assert verdict(of) == "never_steady after 3 blocks"


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (Verification(code="PASS"), "PASS"),
        (Verification(code="FAIL", first_failed="grad.fc.weight"), "FAIL at grad.fc.weight"),
    ],
)
def test_the_verdict_about_the_answer_is_told(found, text):
    """Beside the time, or alone where nothing was timed."""
    extras = Extras(verification=found)
    timed = make_record(ENTRIES[0], facts(), ended(), extras=extras)
    assert verdict(timed).endswith(f"s; {text}")
    assert verdict(make_record(ENTRIES[0], facts(), Outcome(status="verify_only"), extras=extras)) == (
        f"verified only: {text}"
    )


def test_the_median_of_an_even_number_lies_between_the_middle_two():
    part = report(times=(2.0, 0.5, 0.1, 0.3), warm=1)
    assert verdict(make_record(ENTRIES[0], facts(), ended(report=part))).startswith("200 ms per iteration")


def test_the_title_names_the_experiment():
    assert title(entry("openxla+lazytensor", test="train")) == "dummy/dummy train openxla+lazytensor on cpu"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (3720, "1 h 2 min")],
)
def test_durations_read_as_people_say_them(seconds, text):
    assert duration(seconds) == text


def test_with_several_processes_each_is_counted_and_named(clock):
    view = ProgressView(stream=io.StringIO(), members=MEMBERS[:1], replicas=2)
    for replica in range(2):
        view.begin(MEMBERS[0], replica)
        view.end(MEMBERS[0], replica, record(ENTRIES[0]))
    assert [line.partition(": ")[0] for line in lines(view)] == [
        f"[{number}/2] dummy/dummy eval eager on cpu, process {number} of 2" for number in (1, 2)
    ]


def test_a_process_costs_the_time_it_ran_not_that_of_its_siblings(clock):
    view = ProgressView(stream=io.StringIO(), members=MEMBERS[:1], replicas=2)
    view.begin(MEMBERS[0])
    clock.now += 100.0
    view.end(MEMBERS[0], 0, record(ENTRIES[0]), 3.0)
    assert view.time_left() == 3.0


def test_what_is_left_out_is_not_waited_for(clock):
    view = ProgressView(stream=io.StringIO(), members=MEMBERS[:1], replicas=3)
    view.begin(MEMBERS[0])
    view.end(MEMBERS[0], 0, record(ENTRIES[0], "crashed"))
    view.leave_out(MEMBERS[0], 2)
    assert view.time_left() == 0
