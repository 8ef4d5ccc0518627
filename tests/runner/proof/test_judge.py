"""What the times of a proof's passes say."""

import pytest

from runner.proof.judge import Repetition, judge, line

N = 4
MS = 1e-3


def repetition(
    each_s: float = 10 * MS, fixed_s: float = 1 * MS, reported_s: float = 10 * MS, unfinished_s: float = 0.0
) -> Repetition:
    """Return passes whose times lie on a line."""
    seconds = tuple(fixed_s + each_s * count for count in (N, 2 * N, 4 * N))
    return Repetition(reported_s=reported_s, seconds=seconds, unfinished_s=(unfinished_s,) * 3)


def test_times_that_hold_all_work_pass():
    found = judge(N, [repetition()] * 3, None, sees=True)
    assert (found.verdict, found.reason) == ("passed", None)
    assert (found.slope_s, found.fixed_s) == pytest.approx((10 * MS, 1 * MS))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"each_s": 80 * MS, "reported_s": 0.26 * MS}, "takes 80 ms, but 0.26 ms are reported: some work is not timed"),
        ({"each_s": 7 * MS}, "takes 7 ms, but 10 ms are reported: iterations are skipped, or they overlap"),
        ({"unfinished_s": 3 * MS}, "the last output takes another 3 ms; 10 ms are reported"),
    ],
)
def test_what_is_off_each_time_has_failed(given, words):
    found = judge(N, [repetition(**given)] * 3, None, sees=True)
    assert found.verdict == "failed"
    assert words in found.reason


def test_an_overlap_of_less_than_a_millisecond_is_no_skipped_work():
    """Lazy tensors trace the next iteration meanwhile; of a short iteration that may be more than a third."""
    lazy = repetition(each_s=3.0 * MS, reported_s=3.9 * MS)
    assert judge(N, [lazy] * 3, None, sees=True).verdict == "passed"
    short = repetition(each_s=0.6 * MS, reported_s=0.9 * MS)
    assert judge(N, [short] * 3, None, sees=True).verdict == "unknown"


def test_what_is_off_at_times_is_unknown():
    """One slow repetition is noise; most of them are no proof of anything."""
    slow = repetition(each_s=13 * MS)
    assert judge(N, [repetition(), repetition(), slow], None, sees=True).verdict == "passed"
    assert judge(N, [repetition(), slow, slow], None, sees=True).verdict == "unknown"


def test_times_beside_a_line_have_failed():
    """Of 4 iterations 40 ms, of 8 only 41, of 16 already 160: a queue that fills and is emptied."""
    bent = Repetition(reported_s=10 * MS, seconds=(40 * MS, 41 * MS, 160 * MS), unfinished_s=(0.0,) * 3)
    found = judge(N, [bent] * 3, None, sees=True)
    assert found.verdict == "failed"
    assert "4, 8 and 16 iterations do not fit a line" in found.reason


def test_an_output_that_is_not_there_has_failed_whatever_the_times_are():
    found = judge(N, [repetition(each_s=99 * MS)] * 3, "the output of the last iteration", sees=True)
    assert (found.verdict, found.outputs_equal) == ("failed", False)
    assert "the output of the last iteration differs from eager's" in found.reason


def test_outputs_that_are_alike_for_all_inputs_prove_nothing():
    assert judge(N, [repetition()] * 3, None, sees=False).verdict == "unknown"


def test_the_line_is_that_of_least_squares():
    found = line([1, 2, 4], [1.0, 3.0, 4.0])
    assert (found.slope_s, found.fixed_s) == pytest.approx((13 / 14, 0.5))
    assert found.bend_s == pytest.approx(1.0)
