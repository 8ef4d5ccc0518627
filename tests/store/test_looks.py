"""Verdicts that are asked for again while processes are added: together they raise no more false alarms than one."""

import numpy as np
import pytest

from store.compare import compare, comparison_report, resolve
from store.compare.calibration import false_alarms
from store.report import render
from store.stats.effects import LEVEL, effects, level_of
from store.stats.verdicts import judge, rate_of
from tests.store.factory import make_environment, make_record
from tests.store.scenes import Scenes

CELLS, FIRST, LOOKS = 4000, 3, 3
SCATTER, PRIOR = 0.01, 8
FLOOR = 0.001
"""Far below the scatter: with it nothing is ever the same, so that every cell is looked at as often as may be."""


def false_alarm_rate(level):
    """Return how many of equal cells are called different, measured on by doubling while they are ambiguous.

    Each cell is judged alone, so that the adjustment for many cells hides nothing.
    """
    random = np.random.default_rng(17)
    known = np.mean(random.normal(0, SCATTER, (CELLS, PRIOR)) ** 2, axis=1)
    ratios = random.normal(0, SCATTER, (CELLS, FIRST << (LOOKS - 1)))
    called = np.zeros(CELLS, bool)
    for look in range(LOOKS):
        found = effects(ratios[:, : FIRST << look], known, float(PRIOR), level=level)
        clear = (found.low > 0) | (found.high < 0)
        called |= clear & (np.abs(found.log_ratio) > np.log1p(FLOOR)) & (found.p < rate_of(level))
    return float(np.mean(called))


def test_three_looks_at_equal_things_raise_at_most_five_percent_of_false_alarms():
    """Looking as often at 95 % each time would raise nearly twice as many as promised."""
    assert false_alarm_rate(level_of(LOOKS)) <= 0.05
    assert false_alarm_rate(LEVEL) > 0.07


def test_a_cell_is_judged_by_the_level_of_its_interval():
    """Clear of 1 at 95 %: one look calls it faster, the first of three leaves it ambiguous and says what it needs."""
    values = [[0.04, 0.06, 0.05]]
    once, thrice = (effects(values, 0.0011, 4.0, level=level_of(looks)) for looks in (1, 3))
    assert (once.low[0] > 0) == (thrice.low[0] < 0)
    [one], [three] = (judge(found, 0.01, [None], interleaved=True) for found in (once, thrice))
    assert (one.word, three.word) == ("faster", "ambiguous")
    assert three.needed == 4


def test_q_has_to_be_below_the_share_of_one_look():
    """p of 0.03 is clear of 1 in no interval of 98.3 %; below a rate of its own it never counts either."""
    assert rate_of(LEVEL) == pytest.approx(0.05)
    assert rate_of(level_of(3)) == pytest.approx(0.05 / 3)


def processes(factor, looks, count=3, **changes):
    """Return the records of processes whose ratios to those of another factor scatter by a few percent."""
    wobble = (1.0, 1.02, 0.98)
    records = []
    for replica in range(count):
        other = wobble[replica % 3] if factor != 1 else 1.0
        record = make_record(per_iter=[0.01 * factor * other] * 8, replica=replica, **changes)
        record.measurement.order = "interleaved"
        record.measurement.looks = looks
        records.append(record)
    return records


def both(looks):
    """Return both sides of a run whose verdicts may be asked for so often."""
    sides = {name: make_environment(name=name) for name in ("old", "new")}
    return [*processes(1.0, looks, environment=sides["old"]), *processes(0.9, looks, environment=sides["new"])]


def with_twins(looks):
    """Return results and their twins, 3.1 % apart, give or take 2.5 % in each of three processes."""
    originals = processes(1.0, looks)
    twins = [
        make_record(
            per_iter=[0.01 / 1.031] * 8, replica=record.replica, purpose="calibration", twin_of=record.record_id
        )
        for record in originals
    ]
    for twin, wobble in zip(twins, (1.025, 0.975, 1.0), strict=True):
        twin.metrics["per_iter_time"] = [time * wobble for time in twin.metrics["per_iter_time"]]
        twin.metrics["total_time"] = list(twin.metrics["per_iter_time"])
        twin.measurement.looks = looks
    return [*originals, *twins]


SCENES = Scenes()
RUNS = {looks: SCENES.scene(*both(looks)).args[1][0] for looks in (1, 3)}


@pytest.fixture(scope="module")
def compared(scenes):
    """The comparisons of a run that is looked at once, and of one that is looked at three times."""
    return [compare(scenes, resolve(scenes, "old", run), resolve(scenes, "new", run)) for run in RUNS.values()]


def test_every_comparison_of_a_run_knows_its_looks(compared):
    """From its records, so that a later report cannot forget them."""
    once, thrice = compared
    assert (once.looks, thrice.looks) == (1, 3)
    [narrow], [wide] = once.cells, thrice.cells
    assert wide.verdict.ratio == pytest.approx(narrow.verdict.ratio)
    assert wide.verdict.low < narrow.verdict.low
    assert wide.verdict.high > narrow.verdict.high


def test_a_report_says_which_level_its_verdicts_have(compared):
    once, thrice = (render(comparison_report(each), "text") for each in compared)
    assert "needs a 95 % interval" in once
    said = " ".join(thrice.split())
    assert "needs a 98.3 % interval" in said
    assert "q below 1.7 %" in said
    assert "computed up to 3 times, which share the 5 % of false alarms" in said


def of_twins(looks):
    return SCENES.scene(*with_twins(looks)).args[1][0]


@pytest.mark.parametrize(("run", "called"), [(of_twins(1), 1), (of_twins(3), 0)])
def test_twins_are_judged_by_the_level_of_their_run(scenes, run, called):
    """A false alarm of one look, none of three."""
    found = false_alarms(scenes, run)
    assert (found.twins, found.called) == (1, called)
