"""A/A: identical experiments compared as different ones are; how often is a difference seen that is not there?"""

from collections import defaultdict
from collections.abc import Sequence

from store.stats.verdicts import Verdict
from tests.performance.trust_parts.origin import origin
from tests.performance.trust_parts.pairs import PROCESSES, Rate, called, cells_of, others
from tests.performance.trust_parts.trials import Trials

MODELS = ("dummy", "test_vit2", "test_resnet", "BertTiny")
WHAT = ("--suite-name", "dummy", "--suite-name", "timm_models", "--suite-name", "huggingface")
BACKENDS = {
    "torch": ("--xla", "None", "--dynamo", "None", "--dynamo", "inductor", "--cache", "warm"),
    "xla": ("--xla", "PJRT", "--dynamo", "None"),
}
"""Inductor finds what a sibling has compiled, which saves most of the time; XLA's cache cannot be read on a CPU."""
CELLS = 13
"""Of each of the twelve experiments: 156 together."""
FLOOR_PAIRS = 6


def common(models: Sequence[str]) -> tuple[str, ...]:
    """Return the flags that select models; each is small."""
    return (*WHAT, "--filter", f"^({'|'.join(models)})$", "--test", "eval", "--accelerator", "cpu")


def gather(trials: Trials) -> None:
    """Calibrate the floors, then the pairs that are judged by them."""
    floors, pairs = 2 * trials.times(FLOOR_PAIRS, 3), 2 * PROCESSES * trials.times(CELLS)
    trials.calibrate("aa-floors", *common(MODELS), "--processes", str(floors), backends=BACKENDS)
    trials.calibrate("aa", *common(MODELS), "--processes", str(pairs), backends=BACKENDS)


def tell(trials: Trials) -> list[str]:
    """Return a table of rules, and one of backends."""
    folders = trials.folders("aa", BACKENDS)
    cells = cells_of(trials.home, folders)
    verdicts = [verdict for _, verdict in cells]
    by_backend: dict[str, list[Verdict]] = defaultdict(list)
    for row, verdict in cells:
        by_backend[row["variant"]].append(verdict)
    lines = [
        *origin(folders),
        f"{len(MODELS)} models were measured under three backends; {PROCESSES} pairs of processes form a cell.",
        "",
        "| rule | called different (95 % bounds) |",
        "|---|---|",
        f"| xlabench: cells, floors of other runs | {called(verdicts)} |",
    ]
    lines += [f"| {name} | {rate} |" for name, rate in others(folders).items()]
    lines += ["", "| backend | cells | called different | same | ambiguous |", "|---|---|---|---|---|"]
    for backend, each in sorted(by_backend.items()):
        words = [verdict.word for verdict in each]
        lines.append(
            f"| {backend} | {len(each)} | {Rate(sum(w in ('faster', 'slower') for w in words), len(words))} "
            f"| {words.count('same')} | {words.count('ambiguous')} |"
        )
    return lines
