"""Sentences of geometric means say what their interval shows."""

import pandas as pd
import pytest

from dashboard.ui import answers


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (4.2, 0.37, 48.81, "No significant difference between"),
        (1.4, 1.02, 1.9, "faster** than inductor (95 % CI"),
        (0.4, 0.2, 0.9, "slower** than inductor (95 % CI"),
        (1.4, float("nan"), float("nan"), "faster** than inductor (no interval, geomean of 6 models) in"),
    ],
)
def test_a_mean_whose_interval_holds_1_is_no_difference(value, low, high, said):
    row = {
        "variant": "openxla+dynamo", "backend": "openxla+dynamo", "run_id": "a", "baseline_run_id": "a", "n": 6,
        "test": "eval", "accelerator": "cpu", "suite": "torchbench", "cross_device": False,
        "geomean": value, "geomean_low": low, "geomean_high": high,
    }  # fmt: skip
    [sentence] = answers.geomean_sentences(pd.DataFrame([row]), "inductor", pd.DataFrame({"speedup": []}))
    assert said in sentence
    assert sentence.endswith("in eval on cpu, torchbench")


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"slower": 0, "faster": 1, "same": 0}, "**x** is faster than inductor on **1 of 1 model**"),
        ({"slower": 2, "faster": 1, "unknown": 3},
         "**x** is slower than inductor on **2 of 6 models** (a), faster on 1, no interval on 3"),
        ({"same": 2}, "**x** shows no difference from inductor on **2 of 2 models**"),
    ],
)  # fmt: skip
def test_how_a_series_fares_leaves_out_what_is_none(numbers, said):
    assert answers.outcome_counts("x", "inductor", numbers, "model", " (a)") == said


@pytest.mark.parametrize(
    ("experiments", "said"),
    [(1, "the experiment has no valid result."), (8, "none of the 8 experiments has a valid result.")],
)
def test_a_view_of_failures_says_how_many_ran_and_the_most_frequent_reason(experiments, said):
    frame = pd.DataFrame({"speedup_reason": ["timeout"] * experiments, "ran": False, "status": "timeout"})
    sentence = answers.no_speedup(frame, "inductor")
    assert sentence == f"No speedup over **inductor**: {said} The most frequent reason is: timeout"


def test_the_most_frequent_of_several_reasons_says_how_frequent_it_is():
    reasons = ["timeout", "killed", "timeout", None]
    frame = pd.DataFrame({"speedup_reason": reasons, "ran": False, "status": "timeout"})
    assert answers.no_speedup(frame, "inductor").endswith("The most frequent reason (2 of 4 results) is: timeout")
    said = answers.no_speedup(frame.assign(ran=True), "inductor")
    assert said == "No speedup over **inductor** can be computed: timeout (2 of 4 results)"


def test_disturbed_results_are_one_reason_whatever_their_own_texts_count():
    texts = ["timeout", "timeout", "refused: 60 of 60 turns", "refused: 41 of 41 turns", "refused: 29 of 29 turns"]
    frame = pd.DataFrame({"speedup_reason": texts, "ran": True, "status": ["timeout"] * 2 + ["disturbed"] * 3})
    said = answers.no_speedup(frame, "inductor")
    assert said == "No speedup over **inductor** can be computed: disturbed by other programs (3 of 5 results)"


def test_a_mean_that_is_not_clear_says_how_many_models_are():
    place = {"test": "eval", "accelerator": "cpu", "suite": "torchbench", "variant": "openxla+dynamo"}
    ends = ((0.4, 0.5, 0.6), (0.05, 0.1, 0.2), (0.9, 1.0, 1.1), (1.1, 1.2, 1.3))
    models = [
        place | {"model": f"m{at}", "speedup": value, "speedup_low": low, "speedup_high": high}
        for at, (low, value, high) in enumerate(ends)
    ]
    row = place | {
        "backend": "openxla+dynamo", "run_id": "a", "baseline_run_id": "a", "n": 4, "cross_device": False,
        "geomean": 0.5, "geomean_low": 0.1, "geomean_high": 1.9,
    }  # fmt: skip
    [sentence] = answers.geomean_sentences(pd.DataFrame([row]), "inductor", pd.DataFrame(models))
    assert "90, geomean of 4 models, 2 slower, 1 faster) in eval" in sentence


def test_the_models_of_a_mean_are_those_of_its_own_environment():
    """Two environments of one run have a mean each; the models of the other one are not counted or named with it."""
    place = {"test": "eval", "accelerator": "cpu", "suite": "torchbench", "variant": "openxla+dynamo"}
    ends = {"old": (0.4, 0.5, 0.6), "new": (1.4, 1.5, 1.6)}
    models = [
        place
        | {"environment": name, "model": f"{name}{at}", "speedup": value, "speedup_low": low, "speedup_high": high}
        for name, (low, value, high) in ends.items()
        for at in range(2 if name == "old" else 1)
    ]
    mean = place | {
        "backend": "openxla+dynamo", "run_id": "a", "baseline_run_id": "a", "cross_device": False,
        "geomean_low": None, "geomean_high": None,
    }  # fmt: skip
    means = [
        mean | {"environment": "old", "n": 2, "geomean": 0.5},
        mean | {"environment": "new", "n": 1, "geomean": 1.5},
    ]
    of_old, of_new = answers.geomean_sentences(pd.DataFrame(means), "inductor", pd.DataFrame(models))
    assert "(no interval, geomean of 2 models, 2 slower)" in of_old
    assert f"(95 % CI 1.40\N{EN DASH}1.60{answers.TIMES}, new0 only)" in of_new


def test_many_means_of_one_series_are_summed_up_by_the_results_behind_them():
    """The interval of each mean contains 1; what a reader has to know is that nearly all results are slower."""
    place = {"variant": "openxla+dynamo", "accelerator": "cpu"}
    mean = place | {"backend": "openxla+dynamo", "cross_device": False, "run_id": "a", "baseline_run_id": "a", "n": 2}
    mean |= {"geomean_low": 0.1, "geomean_high": 1.9}
    wheres = {
        ("torchbench", "eval"): 0.5,
        ("torchbench", "train"): 0.4,
        ("timm_models", "eval"): 0.8,
        ("dummy", "eval"): 9.0,
    }
    rows = [mean | {"suite": suite, "test": test, "geomean": value} for (suite, test), value in wheres.items()]
    speedups = [
        place | {"suite": suite, "test": test, "model": str(at), "speedup": value}
        | {"speedup_low": value - 0.1, "speedup_high": value + 0.1}
        for suite, test in wheres
        for at, value in enumerate((0.5, 0.95 if test == "train" else 0.6))
    ]  # fmt: skip
    first, *others = answers.geomean_sentences(pd.DataFrame(rows), "inductor", pd.DataFrame(speedups))
    assert first == (
        "**openxla\\+dynamo** is slower than inductor on **5 of 6 results**, no difference shown on 1 "
        "(3 geomeans, one for each suite and test, from 0.40\N{MULTIPLICATION SIGN} to 0.80\N{MULTIPLICATION SIGN})"
    )
    assert len(others) == len(rows)
    equal = pd.DataFrame([row | {"geomean": 0.8} for row in rows])
    alike, *_ = answers.geomean_sentences(equal, "inductor", pd.DataFrame(speedups))
    assert alike.endswith("(3 geomeans, one for each suite and test, all 0.80\N{MULTIPLICATION SIGN})")
    few = answers.geomean_sentences(pd.DataFrame(rows[:2]), "inductor", pd.DataFrame(speedups))
    assert len(few) == len(rows[:2])
