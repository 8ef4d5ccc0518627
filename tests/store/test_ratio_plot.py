"""A picture of speedups shows each of them, and says so where there is none."""

import pytest

from store.errors import UsageError
from store.paired import paired_report
from store.report.ratio_plot import plot_ratios
from store.report.table import Picture, RatioMark
from tests.store.factory import make_record


def test_the_picture_has_what_the_report_has(stored):
    """The baseline over itself is left out, and so is what has no speedup."""
    con = stored(
        [
            *(make_record(model=model, per_iter=[0.010] * 8) for model in ("a", "b", "c")),
            *(make_record(model=model, backend="eager", per_iter=[0.040] * 8) for model in ("a", "b")),
            make_record(model="c", backend="eager", status="oom"),
        ]
    )
    marks = paired_report(con).picture.marks
    assert [(mark.label, mark.variant, mark.value, mark.n) for mark in marks] == [
        ("a eval", "eager", pytest.approx(0.25), None),
        ("b eval", "eager", pytest.approx(0.25), None),
        ("GEOMEAN eval", "eager", pytest.approx(0.25), 2),
    ]
    assert marks[0].low <= marks[0].value <= marks[0].high
    assert marks[2].low is None


def test_a_run_of_the_baseline_alone_is_drawn(stored):
    """One model has no mean."""
    con = stored([make_record(model="a")])
    assert [(mark.label, mark.variant) for mark in paired_report(con).picture.marks] == [("a eval", "inductor")]


@pytest.mark.parametrize("value", [1.0, 1.001, 0.02, 300.0])
def test_any_ratio_can_be_drawn(value):
    pytest.importorskip("matplotlib", reason="pictures need the extra `plots`")
    picture = Picture(axis="speedup", marks=(RatioMark(label="a", variant="v", backend="eager", value=value),))
    assert plot_ratios(picture, "title", "png").startswith(b"\x89PNG")


def test_nothing_to_draw_is_a_usage_error():
    with pytest.raises(UsageError, match="nothing to draw"):
        plot_ratios(Picture(axis="speedup", marks=()), "title", "png")
