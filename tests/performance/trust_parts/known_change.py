"""A/B: environments in which the same model has 2, 5, 10 and 20 % more work: how often is that found?"""

import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np

from store.choose import newest_snapshot
from store.compare.calibration import floor_for, floors_without
from store.query import connect, fetch, named
from store.run_file import read_run_file
from store.stats.effects import effects, paired_log_ratios, round_variance
from store.stats.floors import Floor
from store.stats.verdicts import Verdict, judge
from tests.performance.trust_parts.origin import origin
from tests.performance.trust_parts.pairs import PROCESSES, Rate
from tests.performance.trust_parts.trials import Trials

STEPS = 100
MORE = (2, 5, 10, 20)
"""Percent of work."""
TRIALS = 40
FLOOR_PAIRS = 20
SUITE = {"XLABENCH_SUITES": "tests.performance.trust_parts.work_suite:SUITE"}
COMMON = ("--suite-name", "work", "--accelerator", "cpu", "--test", "eval", "--threads", "1")
BACKEND = ("--xla", "None", "--dynamo", "None")


def gather(trials: Trials) -> None:
    """Calibrate the model, then measure all amounts of work side by side."""
    pythons = {name: _environment(trials.home / "environments" / name, steps) for name, steps in _amounts().items()}
    floors = ("--processes", str(2 * trials.times(FLOOR_PAIRS, 5)), "--env", f"base={pythons['base']}")
    trials.measure("calibrate", "work-floors", *COMMON, *BACKEND, *floors, **SUITE)
    axes = [word for name, python in pythons.items() for word in ("--env", f"{name}={python}")]
    processes = ("--processes", str(PROCESSES * trials.times(TRIALS)), "--twins", "0")
    trials.measure("run", "work", *COMMON, *BACKEND, *axes, *processes, **SUITE)


def tell(trials: Trials) -> list[str]:
    """Return the power curve."""
    rounds, floor = _read(trials)
    lines = [
        *origin([trials.folder("work")]),
        f"The noise floor is {floor.floor:.1%} ({floor.pairs} A/A pairs). A trial has {PROCESSES} processes a side.",
        "",
        "| more work | measured (mean) | effect / floor | found slower (95 % bounds) | ambiguous | same | wrong sign |",
        "|---|---|---|---|---|---|---|",
    ]
    for more in MORE:
        verdicts = _trials(rounds["base"], rounds[f"plus{more}"], floor)
        words = [verdict.word for verdict in verdicts]
        change = float(np.mean([1 / verdict.ratio - 1 for verdict in verdicts if verdict.ratio]))
        lines.append(
            f"| {more} % | {change:.1%} | {change / floor.floor:.1f} | {Rate(words.count('slower'), len(words))} "
            f"| {words.count('ambiguous')} | {words.count('same')} | {words.count('faster')} |"
        )
    return lines


def _amounts() -> dict[str, int]:
    return {"base": STEPS, **{f"plus{more}": STEPS * (100 + more) // 100 for more in MORE}}


def _environment(folder: Path, steps: int) -> Path:
    """Return the python of an environment with this one's packages and a package that says the amount of work."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = next((folder / "lib").glob("python*")) / "site-packages"
    (packages / "ours.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    (packages / "work_amount.py").write_text(f"STEPS = {steps}\n")
    return python


def _read(trials: Trials) -> tuple[dict[str, dict[tuple[int, int], float]], Floor]:
    """Return each environment's round medians by process and round, and the model's floor."""
    run = read_run_file(trials.folder("work")).run.run_id
    with connect(newest_snapshot(trials.home / "store")) as con:
        rows = fetch(con, named("process_rounds"), {"run": run})
        floor = floor_for(floors_without(con, [run]), rows[0])
    found: dict[str, dict[tuple[int, int], float]] = {}
    for row in rows:
        medians = zip(row["rounds"], row["rounds_s"], strict=True)
        found.setdefault(row["environment"], {}).update({(row["replica"], number): value for number, value in medians})
    return found, floor


def _trials(base: dict[tuple[int, int], float], new: dict[tuple[int, int], float], floor: Floor) -> list[Verdict]:
    """Judge each three processes as a comparison of their own."""
    old, late = _grid(base), _grid(new)
    verdicts: list[Verdict] = []
    for start in range(0, min(len(old), len(late)) - PROCESSES + 1, PROCESSES):
        sides = old[start : start + PROCESSES], late[start : start + PROCESSES]
        ratios, within = paired_log_ratios(*sides), round_variance(*sides)
        found = effects([ratios], floor.variance, floor.freedom, within=[within])
        verdicts += judge(found, floor.floor, [None], interleaved=True)
    return verdicts


def _grid(medians: dict[tuple[int, int], float]) -> Any:
    processes, rounds = (sorted({key[axis] for key in medians}) for axis in (0, 1))
    return np.array([[medians.get((process, each), np.nan) for each in rounds] for process in processes])
