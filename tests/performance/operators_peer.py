"""Eager times of single operators beside PARAM's own, both tools in turns: theirs, ours, ours, theirs and so on.

Each round starts both commands anew over the same file, with the same flags and one thread each. A line per operator
and mode: the median of the rounds' ratios (ours over theirs) with its interval, the medians in microseconds, and the
largest factor between neighbouring rounds of PARAM alone: within that, nobody can tell two tools apart.
In mode `continuous` both time the call alone; in `discrete` PARAM's time has work of its own (docs/operators.md).
$PARAM_DIR names a checkout of github.com/facebookresearch/param.
`python tests/performance/operators_peer.py FILE … [--rounds 10] [-w 50] [-i 300] [--mode discrete] [--quantile 0.5]`
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from operator_parts import param

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
MODES = ("continuous", "discrete")
Times = dict[str, float]
"""Milliseconds, a quantile of a command's iterations, by `id pass`."""


def theirs(file: Path, words: Sequence[str], quantile: float) -> Times:
    """Run PARAM's command once."""
    with tempfile.TemporaryDirectory() as folder:
        return _times(param.measured(file, Path(folder), *words), quantile)


def ours(file: Path, words: Sequence[str], quantile: float) -> Times:
    """Run our command once, with the same flags."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "runner.suites.operators", "-c", str(file), "-o", f"{folder}/ours", *words]
        home = {"XLABENCH_HOME": f"{folder}/home"}
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=os.environ | home)
        (written,) = Path(folder).glob("ours_*.json")
        lines = [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]
    return _times([line for line in lines if "op_name" in line], quantile)


def _times(lines: list[dict[str, object]], quantile: float) -> Times:
    return {
        f"{line['op_name']}|{line['id']} {name}": _quantile(metric["measure.time"], quantile)
        for line in lines
        for name, metric in line["metric"].items()  # type: ignore[attr-defined]
    }


def _quantile(values: Sequence[float], quantile: float) -> float:
    return sorted(values)[round(quantile * (len(values) - 1))]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return order statistics around the median of which 95 % or more lie around the true one (binomial)."""
    ordered, n = sorted(values), len(values)
    left_out, outside = 0, 0.0
    while left_out < n // 2 and outside + math.comb(n, left_out) / 2**n <= 0.025:
        outside += math.comb(n, left_out) / 2**n
        left_out += 1
    first = max(left_out - 1, 0)
    return ordered[first], ordered[n - 1 - first]


def line(name: str, found: Sequence[tuple[float, float]]) -> tuple[str, float]:
    """Return what is said of an operator, and the median of its ratios.

    Args:
        name: the operator, its mode and its pass.
        found: by round, milliseconds of theirs and ours.
    """
    ratios = [own / their for their, own in found]
    low, high = interval(ratios)
    alone = [abs(math.log(b[0] / a[0])) for a, b in pairwise(found)]
    noise = math.exp(max(alone, default=0.0))
    middle = statistics.median(ratios)
    agree = low <= 1 <= high or 1 / noise <= middle <= noise
    times = " / ".join(f"{statistics.median(each) * 1e3:.1f}" for each in zip(*found, strict=True))
    text = f"{name}: {middle:.3f} [{low:.3f}, {high:.3f}], theirs / ours {times} us"
    text += f", theirs against itself up to a factor of {noise:.3f}"
    return f"{text}: {'agree' if agree else 'DIFFER'}", middle


def main() -> None:
    """Measure, and print a line per operator and mode, then the geometric mean of each mode."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--mode", action="append", choices=MODES, default=[], help="default: continuous")
    parser.add_argument("--quantile", type=float, default=0.5, help="of a command's iterations; 0.1 on a busy machine")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("-w", "--warmup", default="50")
    parser.add_argument("-i", "--iteration", default="300")
    options = parser.parse_args()
    param.checkout()
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for number in range(options.rounds):
        for file in options.files:
            for mode in options.mode or MODES[:1]:
                words = ["-w", options.warmup, "-i", options.iteration, "--exec-mode", mode]
                words += ["--backward"] if options.backward else []
                for name, pair in _round(file, words, options.quantile, ours_first=number % 2 == 1).items():
                    found[mode, name].append(pair)
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    _print(found)


def _round(file: Path, words: Sequence[str], quantile: float, *, ours_first: bool) -> dict[str, tuple[float, float]]:
    tools = {"theirs": theirs, "ours": ours}
    order = sorted(tools, reverse=not ours_first)
    times = {name: tools[name](file.resolve(), words, quantile) for name in order}
    if times["theirs"].keys() != times["ours"].keys():
        sys.exit(f"{file}: not the same cases: {sorted(times['theirs'].keys() ^ times['ours'].keys())}")
    return {name: (their, times["ours"][name]) for name, their in times["theirs"].items()}


def _print(found: dict[tuple[str, str], list[tuple[float, float]]]) -> None:
    middles = defaultdict(list)
    for (mode, name), pairs in found.items():
        text, middle = line(f"{mode} {name}", pairs)
        middles[mode].append(math.log(middle))
        print(text)
    for mode, logs in middles.items():
        print(f"{mode}: geometric mean of {len(logs)} operators {math.exp(statistics.fmean(logs)):.3f}")


if __name__ == "__main__":
    main()
