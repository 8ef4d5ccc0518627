"""Which cells of a run get more processes: the cheapest to settle first, as far as the time goes."""

import pytest

from store.compare.settle import (
    Pair,
    RunCell,
    SpentProcesses,
    extensions,
    judged,
    most_processes,
    pairs,
    process_seconds,
    saved_time_sentence,
    settle_sentence,
    state,
)
from store.record import MachineState
from store.stats.verdicts import Verdict
from tests.store.factory import make_config, make_environment, make_record, plan_for

MOST = 12


def cell(name, *, group="g", baseline="base", word="ambiguous", processes=3, needed=6):
    pair = Pair(
        group=group,
        axis="variant",
        baseline=(f"{group}/{baseline}", "default"),
        member=(f"{group}/{name}", "default"),
        old=baseline,
        new=name,
    )
    return RunCell(pair=pair, verdict=Verdict(word, "a reason", processes=processes, needed=needed))


def seconds(*cells, each=2.0):
    return {key: each for cell in cells for key in cell.pair.members}


def chosen(cells, left_s=1e6, each=2.0):
    found, unpaid = extensions(cells, MOST, seconds(*cells, each=each), left_s)
    names = [([key[0].rpartition("/")[2] for key in one.members], one.processes, one.seconds) for one in found]
    return names, [one.pair.new for one in unpaid]


def test_processes_double_from_look_to_look():
    assert [most_processes(3, looks) for looks in (1, 2, 3)] == [3, 6, 12]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"word": "faster"}, "settled"),
        ({"word": "not comparable"}, "settled"),
        ({"needed": 12}, "reachable"),
        ({"needed": 13}, "out of reach"),
        ({"needed": None}, "out of reach"),
        ({"processes": 12, "needed": 13}, "measured enough"),
    ],
)
def test_what_more_processes_can_do(changes, expected):
    assert state(cell("a", **changes), MOST) == expected


def test_only_what_is_ambiguous_and_within_reach_is_measured_again_with_its_baseline():
    cells = [cell("a", word="same"), cell("b"), cell("c", needed=None), cell("d", processes=12)]
    assert chosen(cells) == ([(["base", "b"], 3, 12.0)], [])


def test_cells_of_a_group_share_their_baseline():
    """Three members, three processes of two seconds each."""
    assert chosen([cell("a"), cell("b")]) == ([(["base", "a", "b"], 3, 18.0)], [])


def test_what_needs_the_fewest_processes_comes_first():
    cells = [cell("a", group="far", needed=11), cell("b", group="near", needed=4)]
    found, _ = extensions(cells, MOST, seconds(*cells), 1e6)
    assert [each.cells[0].pair.group for each in found] == ["near", "far"]


def test_what_does_not_fit_is_left_and_what_is_cheaper_goes_on():
    """12 s for a pair, 6 s for one member more: 19 s pay for one pair and its sibling, not for another group."""
    cells = [cell("a", needed=4), cell("b", group="other", needed=5), cell("c", needed=6)]
    assert chosen(cells, left_s=19) == ([(["base", "a", "c"], 3, 18.0)], ["b"])
    assert chosen(cells, left_s=11) == ([], ["a", "b", "c"])


def test_a_cell_that_was_measured_twice_as_often_gets_twice_as_many():
    assert chosen([cell("a", processes=6)]) == ([(["base", "a"], 6, 24.0)], [])


def test_an_experiment_that_nobody_has_timed_costs_as_much_as_the_mean():
    unknown = cell("a")
    [found], _ = extensions([unknown], MOST, {unknown.pair.baseline: 4.0}, 1e6)
    assert found.seconds == 3 * (4.0 + 4.0)


def test_what_a_short_operator_repeats_takes_its_time():
    """Of ten seconds, one process took nine: it repeated each of eight blocks of a millisecond a thousand times."""
    short, other = (
        make_record(backend=backend, per_iter=[0.001] * 8, first=1.0, warmup=(), order="interleaved")
        for backend in ("eager", "inductor")
    )
    short.measurement.blocks.inner_loops = [1, *[1000] * 8]
    for record in (short, other):
        record.machine = MachineState(seconds=10.0)
    seconds_of = process_seconds([short, other], {record.key: "group" for record in (short, other)})
    assert seconds_of == {short.key: pytest.approx(9.0), other.key: pytest.approx(1.008)}


def test_it_says_what_a_look_leads_to():
    cells = [cell("a"), cell("b", word="same"), cell("c", needed=99)]
    found, _ = extensions(cells, MOST, seconds(*cells), 1e6)
    assert (
        settle_sentence(cells, found)
        == "2 of 3 cells are ambiguous; 6 further processes for 1 of them take about 12 s."
    )
    assert settle_sentence(cells[1:], ()) == "1 of 2 cells are ambiguous; none gets further processes."


def record(backend, **changes):
    return make_record(backend=backend, **changes)


def named(found):
    return [(pair.old, pair.new, pair.member[1]) for pair in found]


def test_variants_are_compared_with_inductor_and_without_it_with_eager():
    with_it = plan_for([record(name) for name in ("eager", "inductor", "openxla+dynamo")])
    without = plan_for([record(name, model="vgg16") for name in ("openxla+lazytensor", "eager")])
    assert named(pairs([*with_it, *without])) == [
        ("inductor", "eager", "default"),
        ("inductor", "openxla+dynamo", "default"),
        ("eager", "openxla+lazytensor", "default"),
    ]


def test_what_was_skipped_is_no_baseline():
    plan = plan_for([record("inductor", status="skipped"), record("eager"), record("openxla+dynamo")])
    assert named(pairs(plan)) == [("eager", "openxla+dynamo", "default")]


def test_environments_are_compared_with_the_first_one():
    """And variants within each environment."""
    environments = [make_environment(name=name) for name in ("old", "new", "newest")]
    plan = plan_for([record(name, environment=each) for each in environments for name in ("inductor", "eager")])
    assert sorted(named(pairs(plan))) == [
        *(("inductor", "eager", name) for name in ("new", "newest", "old")),
        *(("old", name, name) for name in ("new", "new", "newest", "newest")),
    ]


def test_the_verdicts_are_those_of_the_comparison(stored):
    """Eager takes twice as long; what has no record has no verdict."""
    records = []
    for backend, time in (("inductor", 0.010), ("eager", 0.020)):
        for replica in range(3):
            made = record(backend, per_iter=[time] * 8, replica=replica)
            made.measurement.order = "interleaved"
            records.append(made)
    con = stored(records, [make_config(backend="openxla+dynamo")])
    plan = plan_for(records, [make_config(backend="openxla+dynamo")])
    [found] = [each for each in judged(con, "run-1", pairs(plan)) if each.verdict.word != "not comparable"]
    assert (found.pair.new, found.verdict.word, found.verdict.processes) == ("eager", "slower", 3)


def report(before, after, *, spent_s=40.0, processes=6, unpaid=(), each=2.0):
    spent = SpentProcesses(processes=processes, seconds=spent_s, budget_s=60.0, unpaid=frozenset(unpaid))
    return saved_time_sentence(before, after, spent, seconds(*after, each=each), first=3, looks=3).splitlines()


def test_it_says_what_was_settled_what_is_left_and_what_was_saved():
    """One cell of three got three more processes: its two members alone, not all four at 10 s each."""
    before = [cell("a"), cell("b", needed=40), cell("c", word="faster", needed=None)]
    after = [cell("a", word="slower", processes=6), *before[1:]]
    assert report(before, after, each=10.0) == [
        "Verdicts: 1 of 2 ambiguous cells settled (faster 0, slower 1, same 0) with 6 further processes in 40 s.",
        "Still ambiguous: 1 (1: more than 12 processes would be needed).",
        (
            "Measuring every cell with 6 processes would have taken 12 further processes and about 120 s: "
            "saved about 80 s (67%)."
        ),
        "Verdicts may be computed 3 times, so this run has 98.3 % intervals.",
    ]


def test_where_all_cells_were_ambiguous_nothing_is_saved():
    before, after = [cell("a")], [cell("a", processes=6, word="same")]
    assert report(before, after)[1].endswith("about 12 s: nothing saved.")


def test_every_reason_for_what_is_left_is_named():
    late = cell("e")
    cells = [cell("a", processes=12), cell("b", needed=None), cell("c"), cell("d", needed=4), late]
    [left] = [
        line for line in report(cells, cells, unpaid=[each.pair for each in cells[2:4]]) if "Still ambiguous" in line
    ]
    assert left == (
        "Still ambiguous: 5 (2: the time budget of 60 s does not suffice; "
        "1: measured by 12 processes, the limit; "
        "1: more than 12 processes would be needed; 1: the verdicts were computed as often as allowed)."
    )


def test_where_nothing_is_ambiguous_it_says_so():
    cells = [cell("a", word="same", needed=None)]
    assert report(cells, cells, processes=0)[0] == "Verdicts: 1 cell, none ambiguous: no further process was measured."
    assert report([], [], processes=0) == [
        "Verdicts: the run has no two variants or environments of a model to compare."
    ]
