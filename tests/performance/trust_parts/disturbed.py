"""A/A beside a process that bursts on a core: interleaved against in sequence."""

from tests.performance.trust_parts import identical
from tests.performance.trust_parts.origin import origin
from tests.performance.trust_parts.pairs import PROCESSES, called, cells_of, others
from tests.performance.trust_parts.trials import Trials, bursts

MODELS = ("dummy", "test_vit2", "BertTiny")
BACKENDS = {"torch": ("--xla", "None", "--dynamo", "None"), "xla": ("--xla", "PJRT", "--dynamo", "None")}
ONE_THREAD = ("--threads", "1")
"""Eager's two threads wait for each other at every op, so that beside a busy core a model of 5 ms takes a second; XLA
has its own pool, which this does not change.
"""
COMMON = (*identical.common(MODELS), *ONE_THREAD)
CELLS = 10
"""Of each of the six experiments: 60 together, for each arrangement."""
ARRANGEMENTS = {"processes": "interleaved", "off": "in sequence"}


def gather(trials: Trials) -> None:
    """Take the floors of the quiet machine, then pairs while it is disturbed."""
    processes = str(2 * PROCESSES * trials.times(CELLS))
    trials.calibrate("quiet-floors", *COMMON, "--processes", "12", backends=BACKENDS)
    for how in ARRANGEMENTS:
        with bursts():
            trials.calibrate(f"bursts-{how}", *COMMON, "--processes", processes, "--interleave", how, backends=BACKENDS)


def tell(trials: Trials) -> list[str]:
    """Return a table of arrangements."""
    lines = [
        *origin([folder for how in ARRANGEMENTS for folder in trials.folders(f"bursts-{how}", BACKENDS)]),
        (
            f"{len(MODELS)} models were measured with one thread under eager and lazy tensors. Another process "
            f"worked and rested in turn, for 0.3 s in the mean. {PROCESSES} pairs of processes form a cell; the "
            "floors are of the idle machine. A comparison in sequence is judged here as an interleaved one is; "
            "`compare` calls such a difference *suspected* only."
        ),
        "",
        "| arrangement | rule | called different (95 % bounds) |",
        "|---|---|---|",
    ]
    for how, name in ARRANGEMENTS.items():
        folders = trials.folders(f"bursts-{how}", BACKENDS)
        verdicts = [verdict for _, verdict in cells_of(trials.home, folders)]
        lines.append(f"| {name} | xlabench | {called(verdicts)} |")
        lines += [f"| {name} | {rule} | {rate} |" for rule, rate in others(folders).items()]
    return lines
