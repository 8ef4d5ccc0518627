"""What makes a record's numbers doubtful, found in its samples and in what the machine did."""

import msgspec
import pytest
from runner_makers import report

from runner.schedule import outcome
from runner.schedule.outcome import Outcome
from store import advice
from store.record import FallbackOp, MachineState, Quiet, Replacement, Turns, Until
from store.stats.median import median_interval


def finding_sentences(times, warm=1):
    return [advice.sentence(found) for found in outcome.of_report(report(times=times, warm=warm))]


def of_machine(**changes):
    return outcome.of_machine(MachineState(seconds=1.0, **changes))


def test_quiet_blocks_of_good_length_give_no_finding():
    assert finding_sentences((1.0, 0.5, *[0.1, 0.101] * 4)) == []


def test_a_replaced_op_that_fell_back_all_the_same_is_told():
    made = report(
        (1.0, 0.5, *[0.1, 0.101] * 4),
        replacements=[Replacement(op=op, way="opt_in", source="X") for op in ("nonzero", "masked_select")],
        fallback_ops=[
            FallbackOp(op=op, klass="no_lowering", calls_per_iteration=1.0, calls_compile=0)
            for op in ("nonzero", "sort")
        ],
    )
    (found,) = outcome.of_report(made)
    assert (found.code, found.text) == ("still_falls_back", "nonzero still ran on the host after their replacement")


def test_what_only_the_process_sees_is_told():
    """Times that are not those of the settings in the record are doubtful as any other."""
    changed = advice.finding("changed_settings", what="set 1 threads", wanted=2, aim="--threads decides")
    made = report((1.0, 0.5, *[0.1, 0.101] * 4), findings=[changed])
    assert outcome.of_experiment(Outcome(status="ok", report=made)) == [changed]
    assert advice.mark_of(changed.code) == "changed settings"


@pytest.mark.parametrize("count", [1, 2, 5])
def test_too_few_steady_blocks_for_an_interval_are_told(count):
    [sentence] = finding_sentences((1.0, 0.5, *[0.1] * count))
    assert sentence == (
        f"only {count} steady blocks, too few for an interval of the median: "
        "raise --repeat so that at least 6 blocks are steady"
    )


def test_blocks_that_have_an_interval_are_not_few():
    """One number decides both: a result has an interval of its own, or the warning that it has none."""
    for count in range(1, 12):
        steady = [0.1] * count
        assert (finding_sentences((1.0, 0.5, *steady)) == []) == (median_interval(steady) is not None)


@pytest.mark.parametrize(("half_width", "reached"), [(0.0312, "±3.12%"), (None, "unknown")])
def test_a_median_that_is_not_known_well_when_the_budget_ends_is_told(half_width, reached):
    until = Until(target=0.01, budget_s=5.0, spent_s=5.2, half_width=half_width)
    (found,) = outcome.of_report(report((1.0, 0.5, *[0.1, 0.101] * 4), until=until))
    assert (found.code, found.text) == (
        "not_stable",
        f"after 5 s and 8 steady blocks the interval of the median is {reached}, not ±1.00%",
    )
    assert "raise --time-budget" in found.next_step


def test_a_median_that_is_known_well_is_no_finding():
    until = Until(target=0.01, budget_s=5.0, spent_s=5.2, half_width=0.01, stable=True)
    assert outcome.of_report(report((1.0, 0.5, *[0.1, 0.101] * 4), until=until)) == []


def test_a_wide_spread_is_told_with_its_size():
    (found,) = outcome.of_report(report(times=(1.0, 0.5, *[0.10, 0.13] * 4)))
    assert found.code == "wide_spread"
    assert "spreads over 26% of the median" in found.text
    assert found.values["spread"] == pytest.approx(0.03 / 0.115)


def test_the_spread_of_a_finding_is_that_of_the_result():
    """Both stand next to each other, so quartiles are interpolated, and the median of six is between two blocks."""
    (found,) = outcome.of_report(report(times=(1.0, 0.5, 0.1, 0.1, 0.105, 0.106, 0.114, 0.115)))
    assert found.values["spread"] == pytest.approx((0.112 - 0.10125) / 0.1055)


def test_a_block_is_far_off_the_median_that_the_result_has():
    (found,) = outcome.of_report(report(times=(1.0, 0.5, *[0.1] * 4, *[0.102] * 3, 0.1525)))
    assert found.text == "1 of 8 steady blocks are 50% or more off the median"


def test_one_outlier_is_no_wide_spread_but_is_told():
    (found,) = outcome.of_report(report(times=(1.0, 0.5, *[0.1] * 9, 0.3)))
    assert (found.code, found.text) == ("far_off", "1 of 10 steady blocks are 50% or more off the median")


def test_short_blocks_are_told():
    assert finding_sentences((1.0, 0.5, *[0.0004] * 6)) == ["a steady block takes 0.4 ms: raise --iterations-per-run"]


def test_a_short_iteration_in_a_long_block_is_no_finding():
    times = (1.0, 0.5, *[0.0004] * 6)
    assert outcome.of_report(report(times=times, inner_loops=[1, 1, *[4] * 6])) == []


@pytest.mark.parametrize(("floor_s", "found"), [(0.04, 1), (0.03, 0)])
def test_a_time_below_three_times_an_empty_sync_is_told(floor_s, found):
    made = report(times=(1.0, 0.5, *[0.1] * 6))
    made.metrics["empty_sync_s"] = [floor_s]
    texts = [advice.sentence(each) for each in outcome.of_report(made) if each.code == "near_floor"]
    text = "an iteration takes 1e+05 µs, below 3 times the 4e+04 µs of an empty sync"
    assert texts == [f"{text}: compare larger inputs of the operator: this one gets no verdict"][:found]


def test_a_floor_is_of_one_iteration_as_is_the_time_beside_it():
    made = report(times=(1.0, 0.5, *[0.1] * 6))
    made.metrics.update(per_iter_time=[0.1, 0.05, *[0.01] * 6], empty_sync_s=[0.005])
    (found,) = outcome.of_report(made)
    assert found.text == "an iteration takes 1e+04 µs, below 3 times the 5e+03 µs of an empty sync"


@pytest.mark.parametrize("each", [report(times=(1.0,)), report(times=(1.0, 0.9), warm=1)])
def test_without_steady_blocks_there_is_nothing_to_find(each):
    assert outcome.of_report(each) == []
    assert outcome.of_experiment(Outcome(status="crashed")) == []


def test_warm_up_is_no_part_of_the_spread():
    assert finding_sentences((50.0, 20.0, 10.0, *[0.1] * 6), warm=2) == []


@pytest.mark.parametrize(
    ("changes", "code", "says"),
    [
        ({"others_share": 0.25}, "busy_machine", "other processes used 25% of the CPUs' time"),
        ({"steal_share": 0.031}, "steal", "3.1%"),
        ({"throttle_events": 3}, "throttled", "3 times"),
        ({"swap_traffic_bytes": 5 << 20}, "swap", "5 MiB"),
        ({"governor": "powersave"}, "governor", "powersave"),
        ({"accelerator_processes": 2}, "shared_accelerator", "2 other processes"),
    ],
)
def test_a_machine_that_disturbs_is_told(changes, code, says):
    (found,) = of_machine(**changes)
    assert (found.code, says in found.text) == (code, True)
    assert found.next_step


def test_a_quiet_machine_and_one_that_tells_nothing_are_no_finding():
    quiet = {"others_share": 0.09, "steal_share": 0.009, "throttle_events": 0, "swap_traffic_bytes": 4096}
    assert of_machine(**quiet, governor="performance", accelerator_processes=0, swap_used_bytes=1 << 30) == []
    assert of_machine() == []


@pytest.mark.parametrize(
    ("probes_ms", "found"),
    [
        ([0.40] * 10, []),
        ([0.40] * 8 + [0.49, 0.50], []),
        ([0.35, *[0.40] * 8, 0.90], []),  # one turn met a clock that fell, and one that rose
        ([0.40] * 5 + [0.60] * 5, ["the same fixed work took 0.40 to 0.60 ms between turns"]),
        ([0.40] * 3 + [0.60] * 3, []),  # too few turns
        ([0.40] * 7 + [None] * 3, []),
    ],
)
def test_cores_that_change_their_speed_are_told_though_nobody_here_is_busy(probes_ms, found):
    probes = [None if each is None else each / 1e3 for each in probes_ms]
    quiet = Quiet(rule=2, policy="libraries", turns=Turns(probe_s=probes, reason=[None] * len(probes)))
    finding_sentences = outcome.of_experiment(Outcome(status="ok", quiet=quiet))
    assert [each.text.partition(", so ")[0] for each in finding_sentences] == found


def test_cores_that_are_slow_only_together_are_told():
    """A step took 1.4 times as long in some turns, and the probe of each core by itself saw nothing."""
    turns = Turns(probe_s=[0.4e-3] * 10, threads_probe_s=[1e-3] * 6 + [1.4e-3] * 4, reason=[None] * 10)
    [found] = outcome.of_cores(turns)
    assert "took 1.00 to 1.40 ms between turns" in found.text
    turns.probe_s = [0.4e-3] * 5 + [0.8e-3] * 5
    [found] = outcome.of_cores(turns)
    assert "took 0.40 to 0.80 ms" in found.text


def test_disturbed_turns_are_no_sign_of_uneven_cores():
    turns = Turns(probe_s=[0.0004] * 8 + [0.0008] * 4, reason=[None] * 8 + ["slow core"] * 4)
    assert outcome.of_cores(turns) == []
    turns.reason = [None] * 12
    assert [each.code for each in outcome.of_cores(turns)] == ["uneven_cores"]


def test_every_code_says_what_and_what_to_do():
    """A code without words would be a record that nobody can read."""
    values = dict.fromkeys(("n", "wanted", "spread", "far", "off", "ms", "share", "events", "mib"), 1)
    values |= {"us": 8, "floor_us": 4, "times": 3, "spent_s": 1, "target": 0.01, "reached": "unknown", "ops": "nonzero"}
    values |= {"what": "set 1 threads", "aim": "--threads decides"}
    values |= {"why": "8 of 10 turns", "disturbed": 8, "low_ms": 0.4, "high_ms": 0.6}
    for code, entry in advice.TABLE.items():
        found = advice.finding(code, **values, governor="powersave", places="metrics.x")
        assert "{" not in found.text + found.next_step
        assert entry.summary
        assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found


def test_the_code_of_a_later_version_stands_for_itself():
    assert advice.summary("gamma_rays") == "gamma rays"


def test_the_presence_of_others_is_no_doubt_where_turns_were_judged():
    """It is known then which turns they disturbed."""
    machine = MachineState(seconds=10.0, others_share=0.5)
    unjudged = Outcome(status="ok", machine=machine)
    assert [each.code for each in outcome.of_experiment(unjudged)] == ["busy_machine"]
    judged = Outcome(status="ok", machine=machine, quiet=Quiet(rule=1, policy="libraries"))
    assert outcome.of_experiment(judged) == []


@pytest.mark.parametrize(
    ("share", "idle", "doubted"), [(0.1, False, True), (0.1, True, False), (0.04, False, False), (0.1, None, False)]
)
def test_waiting_that_was_learned_next_to_others_only_is_a_doubt(share, idle, doubted):
    quiet = Quiet(rule=6, policy="libraries", own_wait_share=share, own_wait_idle=idle)
    machine = MachineState(seconds=10.0, others_share=0.5)
    found = outcome.of_experiment(Outcome(status="ok", machine=machine, quiet=quiet))
    assert [each.code for each in found] == ["busy_machine"] * doubted
