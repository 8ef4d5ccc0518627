"""Charts of one shape share their specification, whatever their data; axes end at round numbers that hold all of it."""

import json
import math
import re
from itertools import pairwise

import pandas as pd
import pytest

from dashboard.screens.compile_time import break_even, durations
from dashboard.screens.operators import charts
from dashboard.screens.speedup import ratios
from dashboard.viewers import ladder, samples
from store.charts import axes, export, heat, history
from store.charts.ratios import ratio_dots


def points(values, models=("b", "a"), variants=("eager",)):
    rows = [
        {
            "model": model,
            "suite": "s",
            "test": "eval",
            "variant": variant,
            "backend": "eager",
            "value": value,
            "low": value * 0.99,
            "high": value * 1.01,
            "floor": None,
            "latency_ms": 1.0,
            "certain": True,
            "warm": False,
            "judged": True,
            "label": "",
            "n": "",
            "graphs": "",
            "cache": "",
            "doubt": "",
        }
        for model, value in zip(models, values, strict=True)
        for variant in variants
    ]
    return pd.DataFrame(rows).astype({"floor": float})


def test_a_doubt_has_the_colour_of_its_point_as_others_are_close():
    for chart in (ratio, duration):
        text = [
            layer for layer in chart(points([1.0, 2.0]).assign(doubt="°")).spec["layer"] if "text" in str(layer["mark"])
        ]
        assert [layer["encoding"]["color"]["field"] for layer in text] == ["variant"]


def ratio(frame):
    return ratio_dots(frame, ["b", "a"], "Speedup over inductor")


def duration(frame):
    return durations.duration_dots(frame, ["b", "a"], "First iteration")


def operator(frame):
    return charts.times_chart(frame, ["b", "a"])


def earned_back(frame):
    return break_even.break_even_chart(frame.assign(speedup=frame["value"], wait=frame["value"], pays=True), "inductor")


def curve(frame):
    return ratios.speedup_curve(frame.assign(share=0.5), "inductor")


def line(frame):
    runs = frame.assign(run_id="r", run="r", started=pd.Timestamp("2026-11-01"))
    return history.lines(runs, "Speedup", kind="ratio")


def sample(frame):
    return samples.blocks_chart(frame.assign(ms=frame["value"], kind="steady"), 1.3)


def test_more_execution_than_latency_is_said_and_not_drawn():
    rung = {
        "rung": ladder.LAZY,
        "name": "Lazy tensors",
        "variant": "openxla+lazytensor",
        "step": "",
        "transfers": False,
    }
    times = {"latency_s": 0.022, "latency_low_s": 0.02, "latency_high_s": 0.03, "execute_s": 0.0237}
    part = pd.DataFrame([rung | times])
    assert list(ladder.ladder_bars(part).rows["drawn"]) == [22.0]
    assert "Lazy tensors: 23.7 ms in 22.0 ms" in ladder._overlap(part)
    assert ladder._overlap(part.assign(execute_s=0.02)) is None


@pytest.mark.parametrize(("high_s", "end_ms"), [(0.021, 21.42), (0.2, 28.0), (None, 20.4)])
def test_the_axis_of_the_ladder_ends_with_what_it_shows(high_s, end_ms):
    times = {"latency_s": 0.02, "latency_low_s": 0.019, "latency_high_s": high_s, "execute_s": 0.01}
    part = pd.DataFrame([{"name": "Eager", "variant": "eager", "step": ""} | times]).astype({"latency_high_s": float})
    scale = ladder.ladder_bars(part).spec["layer"][0]["encoding"]["x"]["scale"]
    assert scale["domain"] == [0, pytest.approx(end_ms)]


@pytest.mark.parametrize(("models", "angle"), [(["a"], 0), (["a", "b", "c"], -35), ([f"m{n}" for n in range(60)], -90)])
def test_names_of_few_models_stand_level_below_the_heat_map(models, angle):
    frame = pd.DataFrame({"op": "sort", "model": models, "klass": "no_lowering", "value": 1.0, "label": "1"})
    spec = heat.fallback_heat(frame, ["sort"], models, {"no_lowering": "No lowering"}).spec
    assert spec["layer"][0]["encoding"]["x"]["axis"]["labelAngle"] == angle


@pytest.mark.parametrize("theme", [(255, 255, 255), (25, 24, 22)], ids=["light", "dark"])
def test_the_smaller_a_difference_the_nearer_its_cell_is_to_the_background(theme):
    rows = pd.DataFrame({"row": ["a"], "series": "eager", "shade": [0.0], "label": "1", "why": "", "model": "a"})
    [cells, *_] = heat.speedup_heat(rows, ["a"], ["eager"]).spec["layer"]
    distances = []
    for colour in cells["encoding"]["color"]["scale"]["range"]:
        *ink, alpha = map(float, re.findall(r"[\d.]+", colour))
        distances.append(sum(alpha * abs(part - ground) for part, ground in zip(ink, theme, strict=True)))
    assert distances[0] > 3 * distances[1] > 3 * distances[2] / 2
    assert distances[4] > 3 * distances[3] > 3 * distances[2] / 2


each_chart = pytest.mark.parametrize("chart", [ratio, duration, operator, earned_back, curve, line, sample])
series_apart = pytest.mark.parametrize("chart", [ratio, duration, operator, earned_back, curve, line])
with_models_down = pytest.mark.parametrize("chart", [ratio, duration, operator])


@each_chart
def test_other_data_of_the_same_shape_has_the_same_specification(chart):
    first, second = chart(points([1.31, 1.42])), chart(points([1.33, 1.41]))
    assert first.spec is second.spec
    assert list(second.rows["value"]) == [1.33, 1.41]


@series_apart
def test_another_series_is_another_specification(chart):
    assert chart(points([1.3, 1.4])).spec != chart(points([1.3, 1.4], variants=("eager", "eager x"))).spec


@with_models_down
def test_the_rows_say_their_place_and_nothing_else_names_a_model(chart):
    drawing = chart(points([1.3, 1.4]))
    assert dict(zip(drawing.rows["model"], drawing.rows["place"], strict=True)) == {"b": 0, "a": 1}
    text = json.dumps(drawing.spec)
    assert '"sort": {"field": "place", "op": "min"}' in text
    assert '"name": "points"' in text
    assert '"b"' not in text


def test_a_history_of_one_run_has_one_tick():
    runs = points([1.3, 1.4]).assign(run_id="r", run="r", started=pd.Timestamp("2026-11-01"))
    two = runs.assign(started=pd.to_datetime(["2026-11-01", "2026-11-02"]))
    [one], [several] = (
        {layer["encoding"]["x"]["type"] for layer in history.lines(each, "Latency, ms").spec["layer"]}
        for each in (runs, two)
    )
    assert (one, several) == ("ordinal", "temporal")


@pytest.mark.parametrize("page", [(255, 255, 255), (26, 25, 23)])
def test_a_small_difference_is_told_from_none_on_a_light_and_on_a_dark_page(page):
    shades = [[float(part) for part in re.findall(r"[\d.]+", shade)] for shade in heat._SHADES]
    slower, none, faster = (
        [shade[3] * part + (1 - shade[3]) * behind for part, behind in zip(shade, page, strict=False)]
        for shade in shades[1:4]
    )
    assert min(math.dist(slower, none), math.dist(faster, none)) > 28


@pytest.mark.parametrize("width", [300, 900])
def test_each_label_of_a_time_axis_stands_at_its_tick(width):
    """None is moved inwards at an end, where steps between labels would be unequal although the ticks' are equal."""
    started = pd.to_datetime(["2026-11-25 10:58:10", "2026-11-25 11:06:00", "2026-11-25 11:20:20"])
    runs = points([1.3, 1.4, 1.5], "abc").assign(run_id="r", run="r", started=started)
    drawn = export.svg(history.lines(runs, "Latency, ms", legend=False), width)
    [labels] = [part for part in drawn.split('class="mark-text role-axis-label"') if "Nov 25" in part]
    anchors = re.findall(r'<text text-anchor="(\w+)" transform="translate\(([\d.]+)', labels)
    steps = {round(float(b) - float(a)) for (_, a), (_, b) in pairwise(anchors)}
    assert len(anchors) > 1
    assert {anchor for anchor, _ in anchors} == {"middle"}
    assert max(steps) - min(steps) <= 1


def test_events_are_data_and_their_kinds_are_of_the_shape():
    frame = points([1.0, 1.1]).assign(run_id="r", run="r", started=pd.Timestamp("2026-11-01"))
    at = pd.Timestamp("2026-11-02")
    events = pd.DataFrame({"at": [at], "kind": ["mark"], "text": ["new driver (ann)"], "short": ["new driver"]})
    plain, marked = (history.lines(frame, "Latency, ms", events=each) for each in (events.iloc[:0], events))
    other = history.lines(frame, "Latency, ms", events=events.assign(text="another", short="another"))
    assert plain.events is None
    assert marked.spec is other.spec
    assert len(marked.spec["layer"]) == len(plain.spec["layer"]) + 2
    assert "driver" not in json.dumps(marked.spec)
    assert list(marked.events["short"]) == ["new driver"]


def test_the_latency_of_blocks_is_data():
    frame = points([1.0, 1.1]).assign(ms=[1.0, 1.1], kind="steady")
    first, second = samples.blocks_chart(frame, 1.04), samples.blocks_chart(frame, 1.05)
    assert first.spec is second.spec
    assert set(second.rows["latency"]) == {1.05}
    assert len(samples.blocks_chart(frame, None).spec["layer"]) == len(first.spec["layer"]) - 1


@pytest.mark.parametrize(
    ("ms", "ticks"), [([1.02, 1.08], None), ([1.5, 3.2], [1, 2, 3, 4, 5]), ([1.0, 40.0], [1, 2, 5])]
)
def test_an_axis_of_blocks_is_never_without_a_tick(ms, ticks):
    frame = points(ms).assign(ms=ms, kind="steady")
    [axis] = [
        layer["encoding"]["y"]["axis"]
        for layer in samples.blocks_chart(frame, None).spec["layer"]
        if "y" in layer["encoding"]
    ]
    assert ("values" in axis) == (ticks is not None)
    assert ticks is None or set(ticks) <= set(axis["values"])


@pytest.mark.parametrize("values", [[0.31, 4.2], [1.0], [0.012, 55.0], [1e-9, 3.0]])
def test_a_ratio_axis_holds_every_value(values):
    low, high = axes.ratio_domain(values)
    assert low * high == pytest.approx(1)
    assert low < min(values) <= max(values) < high


@pytest.mark.parametrize("values", [[0.00031, 4.2], [1.0], [2.0, 5.0], [1e-7, 999.0]])
def test_an_axis_of_seconds_ends_at_round_numbers_that_hold_every_value(values):
    low, high = axes.round_domain(values)
    assert low < min(values) <= max(values) < high
    assert {f"{end:.0e}"[0] for end in (low, high)} <= {"1", "2", "5"}
    assert low > min(values) / 5
    assert high < max(values) * 5


FOUR = ("eager", "inductor", "openxla+dynamo", "openxla+lazytensor")


@pytest.mark.parametrize(
    ("rows", "variants", "side"), [(11, ("eager",), "bottom"), (12, ("eager",), "top"), (7, FOUR, "top")]
)
def test_the_axis_of_a_chart_that_ends_below_the_first_screen_is_above_it(rows, variants, side):
    models = [f"model_{number}" for number in range(rows)]
    dots = points([0.9] * rows, models, variants)
    calls = charts.times_chart(dots, models)
    assert {layer["encoding"]["x"]["axis"]["orient"] for layer in calls.spec["layer"]} == {side}
    speedups = ratio_dots(dots, models, "Speedup over inductor")
    times = durations.duration_dots(
        dots.assign(warm=False, cache="cold", graphs="1", doubt=""), models, "First iteration"
    )
    for spec in (speedups.spec, times.spec):
        assert {layer["encoding"]["x"]["axis"]["orient"] for layer in spec["layer"]} == {side}
