"""The words of a record: what its fields may say."""

from __future__ import annotations

from typing import Literal

SCHEMA_VERSION = 1

Test = Literal["eval", "train"]
TESTS: dict[str, Test] = {"eval": "eval", "train": "train", "inference": "eval", "training": "train"}
"""What other tools call a test → our word."""
Accelerator = Literal["cpu", "cuda", "tpu", "xpu"]
Status = Literal[
    "ok",
    "verify_only",
    "never_steady",
    "disturbed",
    "invalid",
    "skipped",
    "load_error",
    "compile_error",
    "run_error",
    "oom",
    "timeout",
    "crashed",
]
Phase = Literal["load", "compile", "warmup", "measure", "verify", "profile"]
BlockKind = Literal["first", "warmup", "steady", "disturbed"]
"""`disturbed`: taken in the steady state, in a turn that other programs disturbed; it is in no statistic."""
FallbackClass = Literal["no_lowering", "opt_in_lowering", "host_read"]
Purpose = Literal["benchmark", "calibration", "confirmation", "payoff"]
Lowering = Literal["decomposition", "opt_in"]
CacheState = Literal["cold", "warm"]
StartMethod = Literal["fork", "interpreter"]
UntilRule = Literal["stable"]
Weights = Literal["random", "pretrained"]
ProofVerdict = Literal["passed", "failed", "unknown"]
VerificationCode = Literal[
    "PASS",
    "FAIL",
    "EAGER_FAILED",
    "EXCEPTION_RAISED",
    "NONDETERMINISTIC_EAGER_RUN",
    "VERIFIER_SKIPPED",
    "VERIFIER_DIDNT_RUN",
]
"""PyTorch/XLA's codes; skipped is never pass."""

FAILED: frozenset[str] = frozenset({"invalid", "load_error", "compile_error", "run_error", "oom", "timeout", "crashed"})
"""Statuses of an experiment that was attempted and gave no usable number."""

REFUSED: frozenset[str] = frozenset({"disturbed"})
"""Statuses of an experiment that ran, and whose number is refused for what the machine did; measuring again helps."""

SKIP = "SKIP"
"""`metrics.error` of a skipped experiment, as the peer writes it."""
