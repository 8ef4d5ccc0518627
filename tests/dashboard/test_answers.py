"""Sentences of geometric means say what their interval shows."""

from __future__ import annotations

import pandas as pd
import pytest

from dashboard import answers
from dashboard.words import interval


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.37, 48.81, f", 95 % {interval(0.37, 48.81)}: no difference shown) in"),
        (1.02, 1.9, f", 95 % {interval(1.02, 1.9)}) in"),
        (0.2, 0.9, f", 95 % {interval(0.2, 0.9)}) in"),
        (float("nan"), float("nan"), "(geomean of 6 models) in"),
    ],
)
def test_a_mean_whose_interval_holds_1_is_no_difference(low, high, told):
    row = {
        "variant": "openxla+dynamo", "backend": "openxla+dynamo", "run_id": "a", "baseline_run_id": "a", "n": 6,
        "test": "eval", "accelerator": "cpu", "suite": "torchbench", "cross_device": False,
        "geomean": 1.4, "geomean_low": low, "geomean_high": high,
    }  # fmt: skip
    [said] = answers.geomean_sentences(pd.DataFrame([row]), "inductor")
    assert f"{told} eval on cpu, torchbench" in said
    assert ("no difference" in said) == ("no difference" in told)
