"""A picture of speedups shows each of them, and says so where there is none."""

import re
import struct
import sys

import pytest

from store.errors import MissingPackage, UsageError
from store.paired import paired_report
from store.report.pictures import plot_ratios
from store.report.table import Picture, RatioMark
from tests.store.factory import make_record

PNG = b"\x89PNG"


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


@pytest.mark.parametrize("label", ["a", "W" * 12, "torch.add(float[2048,2048], float[2048,2048]) train"])
def test_the_names_of_rows_are_whole(label):
    assert f">{label}0<" in plot_ratios(picture(1.5, label=label), "title", "svg").decode()


@pytest.mark.parametrize("value", [1.0, 1.001, 0.02, 300.0])
def test_any_ratio_can_be_drawn(value):
    assert plot_ratios(picture(value), "title", "png").startswith(PNG)


def picture(*values, label="a", n=None):
    marks = (RatioMark(label=f"{label}{i}", variant="v", backend="eager", value=v, n=n) for i, v in enumerate(values))
    return Picture(axis="speedup", marks=tuple(marks))


def size(png):
    """Return width and height, which the head of a PNG holds."""
    return struct.unpack(">II", png[16:24])


def test_it_is_as_wide_as_asked_for_and_at_least_as_high():
    few, many = picture(1.5), picture(*[1.5] * 60)
    width, height = size(plot_ratios(few, "title", "png", 6.0))
    assert width == 2 * 600
    assert height < 2 * 200
    assert size(plot_ratios(few, "title", "png", 6.0, 4.0))[1] == pytest.approx(2 * 400, abs=40)
    assert size(plot_ratios(many, "title", "png", 6.0, 4.0))[1] > 2 * 800


def test_long_titles_are_broken_into_lines():
    drawn = plot_ratios(picture(1.5, n=7), "word " * 60 + "\nsecond", "svg").decode()
    texts = " ".join(re.findall(">([^<]+)<", drawn))
    assert texts.count("word") == 60
    for text in ("second", "n = 7", "A hollow mark has no 95 % interval."):
        assert text in texts


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingPackage, match=r"pip install 'xlabench\[plots\]'"):
        plot_ratios(picture(1.5), "title", "png")


def test_nothing_to_draw_is_a_usage_error():
    with pytest.raises(UsageError, match="nothing to draw"):
        plot_ratios(picture(), "title", "png")
