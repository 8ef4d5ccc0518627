"""Which block length and how many rounds: from long turns, what shorter ones and fewer would have given."""

from collections.abc import Sequence

import numpy as np

from store.record import Record
from tests.performance.trust_parts import disturbed
from tests.performance.trust_parts.origin import origin
from tests.performance.trust_parts.pairs import record_pairs
from tests.performance.trust_parts.trials import Trials, bursts

ROUNDS, BLOCKS = 10, 4
PAIRS = 15
CHOICES = ((1, 4), (2, 4), (5, 1), (5, 2), (5, 4), (10, 1), (10, 2), (10, 4))
"""Rounds and blocks of a turn."""
STATES = {"quiet": "quiet", "bursts": "beside bursts"}


def gather(trials: Trials) -> None:
    """Measure more rounds of longer turns than usual, quiet and disturbed."""
    turns = ("--rounds", str(ROUNDS), "--repeat", str(ROUNDS * BLOCKS), "--processes", str(2 * trials.times(PAIRS, 3)))
    trials.calibrate("turns-quiet", *disturbed.COMMON, *turns, backends=disturbed.BACKENDS)
    with bursts(seed=2):
        trials.calibrate("turns-bursts", *disturbed.COMMON, *turns, backends=disturbed.BACKENDS)


def tell(trials: Trials) -> list[str]:
    """Return how far identical pairs lie apart under each choice."""
    folders = {name: trials.folders(f"turns-{name}", disturbed.BACKENDS) for name in STATES}
    pairs = {name: [pair for folder in each for pair in record_pairs(folder)] for name, each in folders.items()}
    counts = {name: len(each) for name, each in pairs.items()}
    titles = " | ".join(f"{STATES[name]} (n = {counts[name]})" for name in STATES)
    lines = [
        *origin([folder for each in folders.values() for folder in each]),
        "Root mean square of the log-ratio of identical pairs of processes, in %:",
        "",
        f"| rounds | blocks of a turn | {titles} |",
        "|---|---|" + "---|" * len(STATES),
    ]
    for rounds, blocks in CHOICES:
        cells = " | ".join(f"{scatter(pairs[name], rounds, blocks):.2%}".rstrip("%") for name in STATES)
        lines.append(f"| {rounds} | {blocks} | {cells} |")
    apart = " | ".join(_apart(pairs[name]) for name in STATES)
    lines.append(f"| first half against second half | {BLOCKS} | {apart} |")
    return lines


def scatter(pairs: Sequence[tuple[Record, Record]], rounds: int, blocks: int) -> float:
    """Return the root mean square log-ratio over pairs, had they taken so many rounds and blocks."""
    ratios = []
    for first, second in pairs:
        one, two = (_rounds(each)[:rounds, :blocks] for each in (first, second))
        ratios.append(np.median(np.log(np.median(one, axis=1)) - np.log(np.median(two, axis=1))))
    return float(np.sqrt(np.mean(np.square(ratios))))


def _apart(pairs: Sequence[tuple[Record, Record]]) -> str:
    """Compare the first half of one process's time with the second half of the other's, as sides in sequence are."""
    half = ROUNDS // 2
    ratios = [
        np.log(np.median(_rounds(first)[:half])) - np.log(np.median(_rounds(second)[half:])) for first, second in pairs
    ]
    return f"{float(np.sqrt(np.mean(np.square(ratios)))):.2%}".rstrip("%")


def _rounds(record: Record) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the steady blocks by round, shape (rounds, blocks)."""
    blocks = record.measurement.blocks
    times = zip(record.metrics["total_time"], blocks.kind, strict=True)
    steady = [seconds for seconds, kind in times if kind == "steady"]
    return np.array(steady).reshape(ROUNDS, BLOCKS)
