"""The words of the TorchDynamo harness and the HUD: its numbers under our names, its accuracy as our codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.harness_csv import COUNTERS
from store.importers.shape import Failure
from store.verification import NOT_LOADED, SKIPPED_BY_TABLE, TIMED_OUT

if TYPE_CHECKING:
    from collections.abc import Mapping

METRICS = {
    "speedup": "hud_speedup",
    "abs_latency": "abs_latency_ms",
    "baseline": "prior_speedup",
    "speedup_vs_baseline": "speedup_vs_prior",
    "compilation_latency": "compilation_latency_s",
    "compression_ratio": "compression_ratio",
    "eager_peak_mem": "eager_peak_gb",
    "dynamo_peak_mem": "dynamo_peak_gb",
    "cache_lookup_latency": "cache_lookup_latency_s",
    "time_baseline": "time_baseline_s",
    "time_xla": "time_xla_s",
    **{name: name for name in COUNTERS},
}
"""Their column or metric → ours, with the unit in the name; a metric that is not here keeps its name."""

ACCURACY = "accuracy"
KINDS = ("performance", "accuracy", "xla")
"""What a row says: numbers of the performance run, the answer's status, or medians against lazy XLA (`--xla`)."""

_FAILURES: tuple[tuple[str, str, str, str], ...] = (
    (NOT_LOADED, "VERIFIER_DIDNT_RUN", "load_error", "load"),
    (TIMED_OUT, "VERIFIER_DIDNT_RUN", "timeout", "verify"),
    ("infra_error", "VERIFIER_DIDNT_RUN", "crashed", "verify"),
    ("OOM", "EXCEPTION_RAISED", "oom", "verify"),
    ("eager_1st_run_OOM", "EAGER_FAILED", "oom", "verify"),
    ("eager_2nd_run_OOM", "EAGER_FAILED", "oom", "verify"),
    ("eager_two_runs_differ", "NONDETERMINISTIC_EAGER_RUN", "invalid", "verify"),
    ("not_bitwise_equivalent", "FAIL", "invalid", "verify"),
    ("fail_accuracy", "FAIL", "invalid", "verify"),
    ("fail_batch_invariance", "FAIL", "invalid", "verify"),
    ("fail_to_run", "EXCEPTION_RAISED", "run_error", "verify"),
    ("eager_", "EAGER_FAILED", "run_error", "verify"),
)
"""The beginning of a status → verification code, status, phase; the first that fits."""

_PASSES = {"pass": "PASS", "eager_variation": "PASS", SKIPPED_BY_TABLE: "VERIFIER_SKIPPED"}


def judged(accuracy: str) -> tuple[str, Failure | None]:
    """Return the code and the failure that a status of theirs stands for; one unknown to us is a failure."""
    if accuracy in _PASSES:
        return _PASSES[accuracy], None
    for beginning, code, status, phase in _FAILURES:
        if accuracy.startswith(beginning):
            return code, Failure(status, phase, accuracy)
    return "VERIFIER_DIDNT_RUN", Failure("run_error", "verify", accuracy or "no accuracy status")


def of_accuracy(numbers: Mapping[str, float]) -> dict[str, float]:
    """Return an accuracy run's numbers: its compile time is what dynamo reports, not the wall time of a warm-up."""
    renamed = {"compilation_latency_s": "dynamo_compile_time_s"}
    return {renamed.get(name, name): value for name, value in numbers.items()}


def not_measured(speedup: float | None) -> Failure | None:
    """Return the failure of a performance row that gives none: the harness writes 0 there."""
    return None if speedup else Failure("run_error", "measure", "no speedup: the performance run failed")
