"""How far other programs move an accepted result: `python tests/performance/crowded_phases.py [--home DIR]`.

`crowded.py` compares separate runs, so it sees what the host itself did between them: on a virtual machine whose
speed other guests change, most idle results move by more than 5 % within minutes. Here the busy loops work and rest in
phases of three seconds while one run goes on (bursts as in `crowded.py`), and each process is compared with itself: its
accepted turns next to the loops with its turns in the pauses between them. What changes slower than a phase, and what
one process has and the next has not (memory layout, where its threads sit), cancels.
It prints per condition and backend how many accepted results lie within 10 % of the same process's idle ones (with
the Clopper-Pearson bound), how far latencies and ratios over inductor move, and how many turns the rule refused.
As a control it compares every second pause with the pauses between them in the same way: what differs there is the
model's own spread, in half as many blocks, and no rule can do better. Cells whose pauses differ by at most 5 % among
themselves (steady cells) are also counted alone.
The loops are judged once more as in a new home: there they never rest, so a process learns its own waiting next to them
or not at all. Bursts leave idle turns in a new home, too.
Parts that are measured are kept in `--home`. Run it on a machine that does nothing else.
"""

import argparse
import json
import math
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from crowded import BURSTS, CLOSE, MODELS, SAME_IDLE, apart, beside, bound, measure
from tabulate import tabulate

from runner.schedule.own_waits import LEAST_IDLE_TURNS, WAIT_SHARE, hide_delays, is_delayed
from runner.schedule.quiet import FURTHER_TURNS, OWN_WAIT_LIMIT, OWN_WAITING, WAITS

PHASE_S = 3.0
LOOP_IN_PHASES = f"""
import time
while True:
    rest = {PHASE_S} - time.time() % {2 * PHASE_S}
    if rest <= 0:
        time.sleep({PHASE_S} + rest)
"""
"""Two of these work at the same time, as their phases follow the clock."""
CONDITIONS = {
    "one loop": (LOOP_IN_PHASES,),
    "two loops": (LOOP_IN_PHASES, LOOP_IN_PHASES),
    "bursts": (BURSTS, BURSTS),
}
IDLE_CPUS, BUSY_CPUS = 0.05, 0.3
"""Other programs' CPUs up to which a turn is idle, as in the rule, and from which it is one next to the loops."""
LEAST_BLOCKS = 6
"""Accepted blocks that a result needs on each side, as in the rule."""
LEAST_SHARE = 0.5 / (0.5 + FURTHER_TURNS)
"""Share of the turns next to the loops that a result needs: half of the planned ones, before too many are disturbed."""


@dataclass(frozen=True)
class Phases:
    """What one process took in the two kinds of phases."""

    idle_s: float
    busy_s: float
    """Median of the accepted blocks next to the loops; nan of too few: refused."""
    turns_n: int
    """Turns next to the loops."""
    lost_n: int
    """Turns of these that were refused."""
    pauses: float
    """Median of the blocks in every second pause over that of the other pauses; nan of too few: no control."""

    @property
    def accepted(self) -> bool:
        return not math.isnan(self.busy_s)

    @property
    def moved(self) -> float:
        return self.busy_s / self.idle_s


Cell = tuple[str, str, str]
"""Model, test, backend."""


def phases(record: dict, *, new_home: bool) -> Phases | None:
    """Split a process's blocks by phase; None if it has too few idle ones.

    `new_home`: judge the turns next to the loops as a process does that has no idle ones.
    """
    quiet = record["measurement"]["quiet"]
    turns = quiet["turns"]
    own = own_wait_in_a_new_home(turns) if new_home else quiet["own_wait_share"]
    reasons = reasons_by_this_rule(turns, own, idle=not new_home)
    kinds, times = record["measurement"]["blocks"]["kind"], record["metrics"]["total_time"]
    removed = record["measurement"]["blocks"].get("removed_s") or [0.0] * len(times)
    parts = zip(times, removed, kinds, strict=True)
    blocks = iter([time + less for time, less, kind in parts if kind in ("steady", "disturbed")])
    idle: tuple[list[float], list[float]] = [], []
    busy: list[float] = []
    turns_n = lost_n = pause = 0
    in_pause = False
    columns = [turns[key] for key in ("blocks", "others_cpus", "wait_share")]
    for count, cpus, wait, reason in zip(*columns, reasons, strict=True):
        taken = [next(blocks) for _ in range(count)]
        if cpus is None or IDLE_CPUS <= cpus < BUSY_CPUS:
            continue
        if cpus < IDLE_CPUS:
            idle[pause % 2].extend(taken if reason is None else [])
            in_pause = True
            continue
        pause += in_pause
        in_pause = False
        turns_n += 1
        lost_n += reason is not None
        delay = 0.0 if own is None or wait is None else max(0.0, wait - own)
        busy += [time * (1 - delay) for time in taken] if reason is None else []
    undisturbed = idle[0] + idle[1]
    if len(undisturbed) < LEAST_BLOCKS or not turns_n:
        return None
    return Phases(
        idle_s=statistics.median(undisturbed),
        busy_s=median(busy) if turns_n - lost_n >= LEAST_SHARE * turns_n else math.nan,
        turns_n=turns_n,
        lost_n=lost_n,
        pauses=median(idle[0]) / median(idle[1]),
    )


def median(blocks: list[float]) -> float:
    """Return the median of as many blocks as the rule needs, else nan."""
    return statistics.median(blocks) if len(blocks) >= LEAST_BLOCKS else math.nan


def reasons_by_this_rule(turns: dict, own: float | None, *, idle: bool) -> list[str | None]:
    """Judge the turns next to the loops of a process whose own waiting is known, whatever rule measured it.

    `idle`: it is known from idle turns.
    """
    waits = zip(turns["wait_share"], turns["others_cpus"], strict=True)
    idle_waits = [wait for wait, cpus in waits if wait is not None and cpus is not None and cpus < IDLE_CPUS]
    hidden = own is not None and (hide_delays(idle_waits, own) if idle else own >= OWN_WAIT_LIMIT)

    def judged(cpus: float | None, wait: float | None, reason: str | None) -> str | None:
        if (cpus or 0.0) < BUSY_CPUS or reason not in (None, WAITS, OWN_WAITING):
            return reason
        if hidden:
            return OWN_WAITING
        much = wait is None or (wait >= WAIT_SHARE and (own is None or is_delayed(wait, own)))
        return WAITS if much else None

    parts = [turns[key] for key in ("others_cpus", "wait_share", "reason")]
    return [judged(*row) for row in zip(*parts, strict=True)]


def own_wait_in_a_new_home(turns: dict) -> float | None:
    """Return what the turns next to the loops alone show of the process's own waiting; None of too few."""
    parts = [turns[key] for key in ("others_cpus", "wait_share", "delay_share")]
    undelayed = [
        wait
        for cpus, wait, delay in zip(*parts, strict=True)
        if (cpus or 0.0) >= BUSY_CPUS and wait is not None and delay is not None and delay < WAIT_SHARE
    ]
    return statistics.median(undelayed) if len(undelayed) >= LEAST_IDLE_TURNS else None


def read(folder: Path, *, new_home: bool = False) -> dict[Cell, Phases]:
    """Return the phases of each process of a run."""
    cells: dict[Cell, Phases] = {}
    for line in (folder / "results.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["status"] in ("ok", "disturbed") and (split := phases(record, new_home=new_home)):
            cells[record["model"]["model_name"], record["experiment"]["test"], record["variant"]] = split
    return cells


def ratio_moves(cells: dict[Cell, Phases], backend: str, baseline: str = "inductor") -> tuple[list[float], int]:
    """Return how far each speedup over the baseline moves, and how many are on the other side of 1 by over 5 %."""
    moves = []
    wrong = 0
    for (model, test, variant), own in cells.items():
        base = cells.get((model, test, baseline))
        if variant != backend or base is None or not (own.accepted and base.accepted):
            continue
        idle, busy = base.idle_s / own.idle_s, base.busy_s / own.busy_s
        moves.append(busy / idle)
        wrong += (idle > 1) != (busy > 1) and min(apart(idle, 1), apart(busy, 1)) > SAME_IDLE
    return moves, wrong


def row(condition: str, backend: str, cells: dict[Cell, Phases]) -> list[object]:
    """Return a line of the table: a backend's cells, or all."""
    own = {key: cell for key, cell in cells.items() if backend in ("all", key[2])}
    moved = [cell.moved for cell in own.values() if cell.accepted]
    close = sum(apart(each, 1) <= CLOSE for each in moved)
    steady = [cell.moved for cell in own.values() if cell.accepted and apart(cell.pauses, 1) <= SAME_IDLE]
    steady_close = sum(apart(each, 1) <= CLOSE for each in steady)
    controls = [cell.pauses for cell in own.values() if not math.isnan(cell.pauses)]
    backends = {key[2] for key in own} - {"inductor"}
    ratios = [ratio_moves(cells, each) for each in sorted(backends)]
    moves = [move for each, _ in ratios for move in each]
    return [
        condition,
        backend,
        len(own),
        sum(not cell.accepted for cell in own.values()),
        f"{close}/{len(moved)}",
        f"{bound(close, len(moved)):.2f}",
        f"{steady_close}/{len(steady)}",
        f"{sum(apart(each, 1) <= CLOSE for each in controls)}/{len(controls)}",
        f"{geomean(moved):.3f}",
        f"{max((apart(each, 1) for each in moved), default=math.nan):.2f}",
        len(moves),
        f"{statistics.median(moves):.3f}" if moves else "-",
        f"{geomean(moves):.3f}" if moves else "-",
        f"{max(apart(each, 1) for each in moves):.2f}" if moves else "-",
        sum(wrong for _, wrong in ratios),
        f"{sum(cell.lost_n for cell in own.values())}/{sum(cell.turns_n for cell in own.values())}",
    ]


def geomean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


HEADERS = [
    "condition",
    "backend",
    "cells",
    "refused",
    "within 10 %",
    "at least",
    "steady cells",
    "control: pauses",
    "latency, geomean",
    "latency, worst off",
    "ratios",
    "ratio, median",
    "ratio, geomean",
    "ratio, worst off",
    "wrong side",
    "turns lost",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=Path("xlabench-data/crowded-phases"))
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--conditions", nargs="+", default=list(CONDITIONS), choices=list(CONDITIONS))
    parser.add_argument("--repeat", default="160", help="blocks of a process, two a turn")
    parser.add_argument("--flags", default="", help="further flags of `xlabench run`, as --own-priority")
    parsed = parser.parse_args()
    words = [
        "--repeat",
        parsed.repeat,
        "--rounds",
        str(int(parsed.repeat) // 2),
        "--processes",
        "1",
        "--no-wait-quiet",
        *parsed.flags.split(),
    ]
    rows = []
    for condition in parsed.conditions:
        cells: dict[Cell, Phases] = {}
        in_new_home: dict[Cell, Phases] = {}
        for model in parsed.models:
            folder = parsed.home / model.replace("/", "-") / condition.replace(" ", "-")
            kept = folder.with_suffix(".seconds")
            if not kept.exists():
                folder.parent.mkdir(parents=True, exist_ok=True)
                home = ["--home", str(parsed.home), "--suite-name", model.partition("/")[0], "--only", model]
                with beside(CONDITIONS[condition]):
                    kept.write_text(str(measure(folder, [*words, *home])))
            cells |= read(folder)
            in_new_home |= read(folder, new_home=True)
            load = Path("/proc/loadavg").read_text().split()[0]
            print(f"{model}, {condition}: {float(kept.read_text()):.0f} s, load {load}", flush=True)
        judged = {condition: cells}
        if condition != "bursts":
            judged[f"{condition}, new home"] = in_new_home
        for name, known in judged.items():
            rows += [row(name, backend, known) for backend in [*sorted({key[2] for key in known}), "all"]]
    print(tabulate(rows, headers=HEADERS))


if __name__ == "__main__":
    sys.exit(main())
