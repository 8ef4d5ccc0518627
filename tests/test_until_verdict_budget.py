"""The budget of `--until-verdict`, by a clock that is moved; real processes are in test_until_verdict.py."""

import types

import pytest

from runner.settings import Settings
from store.compare.settle import Pair, RunCell
from store.stats.verdicts import Verdict
from tests.store.factory import make_record, plan_for
from xlabench import until_verdict
from xlabench.until_verdict import UntilVerdict

PLAN = plan_for([make_record(backend=name, model=model) for model in ("a", "b") for name in ("inductor", "eager")])
KEYS = [(entry.experiment_id, entry.environment) for entry in PLAN]


def cell(index: int, word: str = "ambiguous", processes: int = 3) -> RunCell:
    """Return the cell of one of the two models."""
    baseline, member = KEYS[2 * index : 2 * index + 2]
    group = PLAN[2 * index].group
    pair = Pair(group=group, axis="variant", baseline=baseline, member=member, old="inductor", new="eager")
    return RunCell(pair=pair, verdict=Verdict(word, "a reason", processes=processes, needed=4 + index))


class Asked(UntilVerdict):
    """Gets its verdicts from a list, one entry per look, and a process takes two seconds."""

    def __init__(self, budget_s: float, *looks: list[RunCell]) -> None:
        settings = Settings(until_verdict=True, time_budget_s=budget_s, processes=3)
        super().__init__(
            folder=types.SimpleNamespace(settings=settings, file=types.SimpleNamespace(plan=PLAN)),
            follower=types.SimpleNamespace(finish=lambda: None),
        )
        self.looks, self.done = list(looks), 12

    def _judge(self) -> tuple[RunCell, ...]:
        return tuple(self.looks.pop(0))

    def _process_seconds(self) -> dict[tuple[str, str], float]:
        return dict.fromkeys(KEYS, 2.0)

    def _processes(self) -> int:
        return self.done


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch):
    state = types.SimpleNamespace(now=100.0)
    monkeypatch.setattr(until_verdict, "time", types.SimpleNamespace(monotonic=lambda: state.now))
    return state


def carry_out(until: Asked, clock, seconds: float) -> list[tuple[str, int]]:
    """Measure all that is asked for, each group in so many seconds; return models and numbers of processes."""
    found = []
    while (asked := until()) is not None:
        clock.now += seconds
        until.done += len(asked.entries) * asked.processes
        found.append((asked.entries[0].config.model_name, asked.processes))
    return found


def test_each_look_doubles_the_processes_of_what_is_left_and_the_third_only_reports(clock) -> None:
    first, second = [cell(0), cell(1)], [cell(0, processes=6), cell(1, "same", 6)]
    third = [cell(0, "faster", 12), cell(1, "same", 6)]
    until = Asked(1000.0, first, second, third)
    assert carry_out(until, clock, 10.0) == [("a", 3), ("b", 3), ("a", 6)]
    assert until.report().startswith(
        "Verdicts: 2 of 2 ambiguous cells settled (faster 1, slower 0, same 1) with 24 further processes in 30 s."
    )


def test_a_group_that_would_not_end_in_time_is_not_begun(clock) -> None:
    """Two groups of 12 s are planned for 30 s; the first takes 20, so that the second one has to stay."""
    cells = [cell(0), cell(1)]
    after = [cell(0, "slower", 6), cell(1)]
    until = Asked(30.0, cells, after, after)
    assert carry_out(until, clock, 20.0) == [("a", 3)]
    assert "Still ambiguous: 1 (1: the time budget of 30 s does not suffice)." in until.report()


def test_without_anything_ambiguous_nothing_is_asked_for(clock) -> None:
    cells = [cell(0, "same"), cell(1, "faster")]
    until = Asked(30.0, cells, cells)
    assert carry_out(until, clock, 1.0) == []
    assert "2 cells, none ambiguous" in until.report()
