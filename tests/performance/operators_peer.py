"""Eager times of single operators beside PARAM's own, both tools in turns: theirs, ours, ours, theirs and so on.

Each round starts both commands anew over the same file, with as many iterations and one thread each. A line per
operator and mode: the median of the rounds' ratios (ours over theirs) with its interval, the medians in microseconds,
and the largest factor between neighbouring rounds of PARAM alone: within that, nobody can tell two tools apart.

Mode `alone` is like beside like: on the CPU PARAM's `continuous` reads the clock before and after each call, as our
`discrete` does, and the inputs of a forward ask for no gradient, which PARAM would prepare and we would not. In
`continuous` and `discrete` both get that flag and the file as it is; docs/operator-timing.md lists what then differs.
One iteration of ours repeats a call for a millisecond, one of theirs is one call: of calls of microseconds pass
`--times 100`, so that theirs gets as warm and its median rests on as many.
An operator that PARAM itself cannot run is left out, with its words.
$PARAM_DIR names a checkout of github.com/facebookresearch/param.
`python tests/performance/operators_peer.py FILE … [--rounds 10] [-w 50] [-i 300] [--times 1] [--mode discrete]`
"""

import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from operator_parts import param

ROOT = Path(__file__).resolve().parents[2]
MODES = {
    "alone": ("continuous", "discrete"),
    "continuous": ("continuous", "continuous"),
    "discrete": ("discrete", "discrete"),
}
"""Their `--exec-mode` and ours."""
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
    parser.add_argument("--mode", action="append", choices=MODES, default=[], help="default: alone")
    parser.add_argument("--quantile", type=float, default=0.5, help="of a command's iterations; 0.1 on a busy machine")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("-w", "--warmup", type=int, default=50)
    parser.add_argument("-i", "--iteration", type=int, default=300)
    parser.add_argument("--times", type=int, default=1, help="iterations and warm-up of theirs for each of ours")
    options = parser.parse_args()
    param.checkout()
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        asked = list(itertools.product(options.files, options.mode or ["alone"]))
        files = {each: prepared(*each, Path(folder), backward=options.backward) for each in asked}
        for number in range(options.rounds):
            for (_, mode), file in files.items():
                pairs = _round(file, mode, options, ours_first=number % 2 == 1)
                for name, pair in pairs.items():
                    found[mode, name].append(pair)
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    _print(found)


def prepared(file: Path, mode: str, folder: Path, *, backward: bool) -> Path:
    """Write the file as both can run it, and say what is left out."""
    content = json.loads(file.read_text(encoding="utf-8"))
    if mode == "alone" and not backward:
        without_gradients(content)
    place = folder / mode
    place.mkdir(exist_ok=True)
    for name in list(content):
        (alone := place / f"one-{len(list(place.iterdir()))}.json").write_text(json.dumps({name: content[name]}))
        (scratch := alone.with_suffix("")).mkdir()
        reason = param.refuses(alone, scratch)
        if reason is not None:
            print(f"{file.name}: without {name}, which PARAM itself cannot run: {reason}", flush=True)
            del content[name]
    (made := place / file.name).write_text(json.dumps(content))
    return made


def without_gradients(tree: Any) -> None:
    """Let no tensor ask for a gradient."""
    if isinstance(tree, dict):
        if tree.get("type") == "tensor":
            tree["requires_grad"] = False
        tree = list(tree.values())
    for each in tree if isinstance(tree, list) else ():
        without_gradients(each)


def _round(file: Path, mode: str, options: argparse.Namespace, *, ours_first: bool) -> dict[str, tuple[float, float]]:
    their_mode, our_mode = MODES[mode]
    tools = {"theirs": (theirs, their_mode, options.times), "ours": (ours, our_mode, 1)}
    times = {}
    for name in sorted(tools, reverse=not ours_first):
        measure, how, often = tools[name]
        words = ["-w", str(options.warmup * often), "-i", str(options.iteration * often), "--exec-mode", how]
        words += ["--backward"] if options.backward else []
        times[name] = measure(file, words, options.quantile)
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
