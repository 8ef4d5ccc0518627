"""How well results hold on a machine that is in use: `python tests/performance/crowded.py [--home DIR]`.

One plan is measured idle, beside each condition (one busy loop, two, bursts of 0.2 to 2 s), and idle once more. The
idle runs are the truth; a cell or ratio whose two idle runs differ by more than 5 % counts apart, as the machine moved.
All conditions of a model follow each other, as a host may be 1.8 times as fast an hour later.
Of the accepted results it prints how many lie within 10 % of idle (with the Clopper-Pearson bound), how far ratios
between backends move, how many were refused, what each condition cost, and what the peer's rule (mean after the
third block) and HUD's (median of all timed blocks) make of the same samples. Of refused results it prints whether
their bounds hold the idle latency, and whether a bound of a speedup that is clear of 1 contradicts the idle speedup.
With `--new-homes` each condition has a home of its own, which knows nothing of idle runs. Parts that are measured are
kept in `--home`, so that a call goes on where another one stopped. It says what else the machine did: run it on an
idle one.
"""

import argparse
import contextlib
import json
import math
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from scipy.stats import beta
from tabulate import tabulate

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from store.stats.median import lower_rank

MODELS = ("huggingface/BertTiny", "timm_models/test_vit2", "timm_models/test_resnet", "timm_models/test_efficientnet")
CLOSE, SAME_IDLE = 1.10, 1.05
LOOP = "while True: pass"
BURSTS = """
import random, time
random.seed(7)
while True:
    end = time.monotonic() + random.uniform(0.2, 2.0)
    while time.monotonic() < end:
        pass
    time.sleep(random.uniform(0.2, 2.0))
"""
CONDITIONS = {
    "idle": (),
    "one loop": (LOOP,),
    "two loops": (LOOP, LOOP),
    "bursts": (BURSTS, BURSTS),
    "idle again": (),
}


@contextlib.contextmanager
def beside(programs):
    """Run programs in sessions of their own, as another user's would be; end them afterwards, also on SIGTERM."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started = [subprocess.Popen([sys.executable, "-c", each], start_new_session=True) for each in programs]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


def measure(folder: Path, words: list[str]) -> float:
    """Measure the plan into a folder; return seconds."""
    began = time.monotonic()
    command = [sys.executable, "-m", "xlabench", "run", "--output-dirname", str(folder), "--no-ingest", *words]
    with folder.with_suffix(".log").open("w") as log:
        subprocess.run(command, stdout=log, stderr=log, check=False)
    return time.monotonic() - began


def cells(folder: Path) -> dict[tuple[str, str, str], dict]:
    """Return what each cell of a run has: its quiet blocks, all its blocks, how many processes were refused."""
    found: dict[tuple[str, str, str], dict] = {}
    for line in (folder / "results.jsonl").read_text().splitlines():
        record = json.loads(line)
        key = (record["model"]["model_name"], record["experiment"]["test"], record["variant"])
        cell = found.setdefault(
            key,
            {
                "quiet": [],
                "all": [],
                "peer": [],
                "bounds": None,
                "refused": 0,
                "processes": 0,
                "turns": 0,
                "lost": 0,
                "probe": [],
            },
        )
        quiet = record["measurement"].get("quiet") or {}
        if quiet.get("at_least_s"):
            cell["bounds"] = quiet["at_least_s"], quiet["at_most_s"]
        kinds, times = record["measurement"]["blocks"]["kind"], record["metrics"].get("total_time", [])
        removed = record["measurement"]["blocks"].get("removed_s") or [0.0] * len(times)
        measured = [time + less for time, less in zip(times, removed, strict=True)]
        timed = [time for time, kind in zip(measured, kinds, strict=True) if kind in ("steady", "disturbed")]
        cell["processes"] += 1
        cell["refused"] += record["status"] == "disturbed"
        if record["status"] == "ok":
            cell["quiet"] += [time for time, kind in zip(times, kinds, strict=True) if kind == "steady"]
        # What a runner without the rule has: the first blocks in the number that was asked for.
        cell["all"] += timed[: record["repeat"]]
        cell["peer"] += measured[3 : 3 + record["repeat"]]
        reasons = (quiet.get("turns") or {}).get("reason", [])
        cell["turns"] += len(reasons)
        cell["lost"] += sum(reason is not None for reason in reasons)
        cell["probe"] += [each for each in (quiet.get("turns") or {}).get("threads_probe_s", []) if each]
    return found


def accepted(cell: dict) -> bool:
    """Say whether the store would give a result: one process of its own is enough."""
    return bool(cell["quiet"])


def bound(hits: int, n: int) -> float:
    """Return the lower end of the one-sided 95 % Clopper-Pearson interval of a share."""
    return float(beta.ppf(0.05, hits, n - hits + 1)) if hits else 0.0


def apart(a: float, b: float) -> float:
    return math.exp(abs(math.log(a / b)))


def ratios(found: dict, rule: str, baseline: str = "inductor") -> dict[tuple[str, str, str], float]:
    """Return the speedups over a baseline, by a rule's statistic."""
    number = {key: statistic(cell, rule) for key, cell in found.items()}
    return {
        key: number[key[0], key[1], baseline] / value
        for key, value in number.items()
        if key[2] != baseline and value and number.get((key[0], key[1], baseline))
    }


def statistic(cell: dict, rule: str) -> float | None:
    values = cell[{"ours": "quiet", "HUD": "all", "peer": "peer"}[rule]]
    if not values:
        return None
    return statistics.fmean(values) if rule == "peer" else statistics.median(values)


def compare(condition: str, found: dict, before: dict, after: dict, seconds: float, idle_s: float) -> list[list]:
    """Return a row for each rule."""
    rows = []
    for rule in ("ours", "HUD", "peer"):
        close = n = moved = refused = 0
        for key, cell in found.items():
            idle = [statistic(each[key], rule) for each in (before, after) if key in each and each[key]["quiet"]]
            if rule == "ours" and not accepted(cell):
                refused += 1
                continue
            now = statistic(cell, rule)
            if len(idle) < 2 or None in idle or now is None:
                continue
            if apart(*idle) > SAME_IDLE:
                moved += 1
                continue
            n += 1
            close += apart(now, math.sqrt(idle[0] * idle[1])) <= CLOSE
        logs, still = ratio_logs(found, before, after, rule)
        rows.append(
            [
                condition,
                rule,
                len(found),
                refused if rule == "ours" else "-",
                moved,
                n,
                f"{close}/{n}" if n else "-",
                f"{bound(close, n):.2f}" if n else "-",
                f"{math.exp(statistics.median(logs)):.3f}" if logs else "-",
                f"{math.exp(statistics.median(map(abs, logs))):.3f}" if logs else "-",
                f"{math.exp(max(map(abs, logs))):.2f}" if logs else "-",
                len(logs),
                f"{math.exp(statistics.median(still)):.3f}" if still else "-",
                len(still),
                f"{sum(cell['lost'] for cell in found.values())}/{sum(cell['turns'] for cell in found.values())}",
                f"{seconds / idle_s:.2f}",
            ]
        )
    return rows


def ratio_logs(found: dict, before: dict, after: dict, rule: str) -> tuple[list[float], list[float]]:
    """Return the log of each speedup, crowded over idle (geometric mean of both idle runs).

    Returns:
        All, and those of speedups whose two idle runs differ by no more than a cell's may.
    """
    now = ratios(found, rule)
    idle = [ratios(each, rule) for each in (before, after)]
    both = idle[0].keys() & idle[1].keys()
    logs = {key: math.log(value / math.sqrt(idle[0][key] * idle[1][key])) for key, value in now.items() if key in both}
    return list(logs.values()), [log for key, log in logs.items() if apart(idle[0][key], idle[1][key]) <= SAME_IDLE]


def told_by_bounds(condition: str, found: dict, before: dict, after: dict, baseline: str = "inductor") -> str:
    """Return how often bounds of refused latencies hold the idle one, and how often those of a speedup are wrong."""
    idle = {
        key: math.sqrt(statistics.median(before[key]["quiet"]) * statistics.median(after[key]["quiet"]))
        for key in before.keys() & after.keys()
        if accepted(before[key]) and accepted(after[key])
    }
    held = n = told = clear = wrong = 0
    for key, cell in found.items():
        base_key = (*key[:2], baseline)
        own, base = ends(cell), ends(found.get(base_key))
        if cell["bounds"] and not accepted(cell) and key in idle:
            n += 1
            held += cell["bounds"][0] <= idle[key] <= cell["bounds"][1]
        refused = not accepted(cell) or not accepted(found[base_key]) if base_key in found else False
        if key == base_key or not refused or base_key not in idle or key not in idle:
            continue
        told += 1
        if own and base and (base[0] / own[1] > 1 or base[1] / own[0] < 1):
            clear += 1
            wrong += (base[0] / own[1] > 1) != (idle[base_key] / idle[key] > 1)
    return (
        f"{condition}: bounds hold the idle latency of {held} of {n} refused results; "
        f"{clear} of {told} speedups without a number have a bound clear of 1, {wrong} of them on the wrong side"
    )


def host(condition: str, found: dict, before: dict) -> str:
    """Return how fast the host was: what the probe of all threads took, over what it took in the first idle run."""
    times = [
        statistics.median(cell["probe"]) / statistics.median(before[key]["probe"])
        for key, cell in found.items()
        if cell["probe"] and before.get(key, {}).get("probe")
    ]
    if not times:
        return f"{condition}: the probe of all threads is unknown"
    return (
        f"{condition}: the probe of all threads took {statistics.median(times):.2f} times as long as in the first idle "
        f"run ({min(times):.2f} to {max(times):.2f} in {len(times)} cells)"
    )


def ends(cell: dict | None) -> tuple[float, float] | None:
    """Return what is known of a latency: the median's interval where it was accepted, else the bounds."""
    if cell is None or not accepted(cell):
        return cell["bounds"] if cell else None
    ordered, rank = sorted(cell["quiet"]), lower_rank(len(cell["quiet"]))
    return (ordered[rank - 1], ordered[-rank]) if rank else None


HEADERS = [
    "condition",
    "rule",
    "cells",
    "refused",
    "idle moved",
    "n",
    "within 10 %",
    "at least",
    "ratio, median",
    "ratio, median off",
    "ratio, worst off",
    "n",
    "ratio that idle runs agree on, median",
    "n",
    "turns lost",
    "time",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=Path("xlabench-data/crowded"))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--conditions", nargs="+", default=list(CONDITIONS), choices=list(CONDITIONS))
    parser.add_argument("--new-homes", action="store_true", help="a home of its own for each condition")
    parser.add_argument("--flags", default="", help="further flags of `xlabench run`, as --own-priority")
    parsed = parser.parse_args()
    words = ["--processes", str(parsed.processes), *parsed.flags.split()]
    found = {name: {} for name in parsed.conditions}
    seconds = dict.fromkeys(parsed.conditions, 0.0)
    for model in parsed.models:
        suite = model.partition("/")[0]
        for name in parsed.conditions:
            folder = parsed.home / model.replace("/", "-") / name.replace(" ", "-")
            kept = folder.with_suffix(".seconds")
            if not kept.exists():
                folder.parent.mkdir(parents=True, exist_ok=True)
                home = parsed.home / f"home {name}" if parsed.new_homes else parsed.home
                with beside(CONDITIONS[name]):
                    kept.write_text(
                        str(measure(folder, [*words, "--home", str(home), "--suite-name", suite, "--only", model]))
                    )
            seconds[name] += float(kept.read_text())
            now = cells(folder)
            found[name] |= now
            # A host that refuses idle cells, as its hypervisor takes CPU time, gives no reference: end the call there.
            told = f"refused {sum(not accepted(cell) for cell in now.values())} of {len(now)} cells"
            load = Path("/proc/loadavg").read_text().split()[0]
            print(f"{model}, {name}: {float(kept.read_text()):.0f} s, load {load}, {told}", flush=True)
    before, after = found["idle"], found.get("idle again", found["idle"])
    rows = [
        row
        for name in parsed.conditions
        for row in compare(name, found[name], before, after, seconds[name], seconds["idle"])
    ]
    print(tabulate(rows, headers=HEADERS))
    for name in parsed.conditions:
        print(told_by_bounds(name, found[name], before, after))
        print(host(name, found[name], before))


if __name__ == "__main__":
    main()
