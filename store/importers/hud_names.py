"""File names of the TorchDynamo harness's runner, its metrics under our names, and its accuracy as our codes.

A file name is `BACKEND_SUITE_DTYPE_MODE_DEVICE_KIND.csv`, read and written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

import msgspec

from store.harness_csv import COUNTERS
from store.importers.shape import Failure
from store.verification import NOT_LOADED, SKIPPED_BY_TABLE, TIMED_OUT

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
"""Column or metric of the harness → ours, with the unit in the name; another metric keeps its name."""

ACCURACY = "accuracy"

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
    """Return the code and the failure of a status of the harness; an unknown status is a failure."""
    if accuracy in _PASSES:
        return _PASSES[accuracy], None
    for beginning, code, status, phase in _FAILURES:
        if accuracy.startswith(beginning):
            return code, Failure(status, phase, accuracy)
    return "VERIFIER_DIDNT_RUN", Failure("run_error", "verify", accuracy or "no accuracy status")


def of_accuracy(numbers: Mapping[str, float]) -> dict[str, float]:
    """Rename the numbers of an accuracy run: its compile time is dynamo's own, not the wall time of a warm-up."""
    renamed = {"compilation_latency_s": "dynamo_compile_time_s"}
    return {renamed.get(name, name): value for name, value in numbers.items()}


def not_measured(speedup: float | None) -> Failure | None:
    """Return the failure of a performance row without a speedup, for which the harness writes 0."""
    return None if speedup else Failure("run_error", "measure", "no speedup: the performance run failed")


SUITES = ("torchbench", "huggingface", "timm_models", "timm")
"""Suites of the harness; one of the names contains the separator."""
_MODES = {"inference": "eval", "training": "train", "inference-with-freezing": "eval"}
_DTYPES = "float32|float16|bfloat16|float64|amp_bf16|amp_fp16|amp|none|notset|unknown"
_DEVICES = "cpu|cuda|xpu|tpu|mps|hpu|rocm"
_NAME = re.compile(
    rf"(?P<head>.+)_(?P<dtype>{_DTYPES})_(?P<mode>{'|'.join(sorted(_MODES, key=len, reverse=True))})"
    rf"_(?P<device>{_DEVICES})(?:_(?P<model>.+?))?_(?P<kind>performance|accuracy)\.(?:csv|json)"
)
_NO_DTYPE = {"none", "notset", "unknown"}


class FileNameParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a file name."""

    variant: str
    suite: str
    dtype: str | None
    test: str
    accelerator: str
    kind: str
    accelerator_model: str | None = None
    """The part between device and kind, such as `h100`."""


def parse(name: str) -> FileNameParts | None:
    """Return the parts of a file name; None if it does not have the form of the harness."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    backend, suite = _split(match["head"])
    if not backend:
        return None
    freezing = " freezing" if match["mode"].endswith("freezing") else ""
    return FileNameParts(
        variant=unquote(backend) + freezing,
        suite=unquote(suite),
        dtype=None if match["dtype"] in _NO_DTYPE else match["dtype"],
        test=_MODES[match["mode"]],
        accelerator=match["device"],
        kind=match["kind"],
        accelerator_model=unquote(match["model"]) if match["model"] else None,
    )


def file_name(parts: FileNameParts) -> str:
    """Return the file name of these parts; characters that would separate parts or folders are written as %XX."""
    suite = parts.suite if parts.suite in SUITES else _plain(parts.suite)
    words = [quote(parts.variant, safe="+=,"), suite, parts.dtype or "unknown"]
    words += ["training" if parts.test == "train" else "inference", parts.accelerator]
    words += [_plain(parts.accelerator_model)] if parts.accelerator_model else []
    return "_".join([*words, parts.kind]) + ".csv"


def _plain(word: str) -> str:
    return quote(word, safe="").replace("_", "%5F")


def _split(head: str) -> tuple[str, str]:
    for suite in SUITES:
        if head.endswith(f"_{suite}"):
            return head.removesuffix(f"_{suite}"), suite
    backend, _, suite = head.rpartition("_")
    return backend, suite
