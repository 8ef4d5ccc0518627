"""Numbers and names as text, charts' axes, and columns from the metric registry."""

import math
from datetime import datetime, timedelta

import pandas as pd
import pytest

from dashboard import formatting
from dashboard.data.frames import with_series
from dashboard.formatting import STATUS_WORDS, WRONG
from dashboard.ui import answers, doubts, downloads, tables
from dashboard.ui.tables import display, measured
from dashboard.ui.verdicts import INKS, LOOKS
from store.charts import axes, palette
from store.metrics.text import interval_text, significant


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1.168, 1.174, "1.168 1.174"),
        (1.1701, 1.1704, "1.1701 1.1704"),
        (1.1, 1.2, "1.10 1.20"),
        (0.00701, 0.00704, "0.00701 0.00704"),
        (0.007011, 0.007014, "0.007011 0.007014"),
        (16.52, 16.71, "16.5 16.7"),
        (16.52, 16.54, "16.52 16.54"),
        (113.27, 118.4, "113 118"),
        (2.0, 2.0, "2.00 2.00"),
    ],
)
def test_an_interval_has_as_many_digits_as_tell_its_ends_apart(low, high, text):
    assert interval_text(low, high, " ") == text
    assert formatting.interval(low, high) == text.replace(" ", "\N{EN DASH}")


@pytest.mark.parametrize("value", [None, math.nan, pd.NA, pd.NaT])
def test_what_is_missing_is_a_dash_and_never_zero(value):
    assert formatting.missing(value)
    assert formatting.ratio(value) == formatting.seconds(value) == "—"
    assert formatting.interval(value, value) == formatting.when(value) == "—"


def test_ratio_keeps_what_two_decimals_would_lose():
    assert formatting.ratio(0.844) == f"0.84{formatting.TIMES}"
    assert formatting.ratio(0.00123) == f"0.00123{formatting.TIMES}"
    assert formatting.interval(0.00651, 0.0104) == "0.00651\N{EN DASH}0.0104"
    shown = tables._with_digits("speedup", measured("speedup"), pd.Series([1.5, 0.00799]))
    assert tables._FORMATS[shown.kind] % 0.00799 == formatting.ratio(0.00799), "a table has the digits of the sentence"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.5e-5, "25.0 µs"),
        (0.0064, "6.40 ms"),
        (1.5, "1.50 s"),
        (2.002, "2.00 s"),
        (120.0, "120 s"),
        (1234.0, "1,234 s"),
        (0.0, "0 s"),
        (999.6e-6, "1.00 ms"),
        (0.9996, "1.00 s"),
        (999.6, "1,000 s"),
    ],
)
def test_seconds_are_shown_in_the_unit_that_fits(value, text):
    assert formatting.seconds(value) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("torch.mm(float[64,64], float[64,64])", "torch.mm(float[64,64], float[64,64])"),
        ("torch.add(float[256,256], float[256,256], alpha=2)", "torch.add(float[256,256], …)"),
        (
            "torch.nn.functional.scaled_dot_product(float[64,1024,1024], -1)",
            "torch.nn.functional.scaled_dot_product(…)",
        ),
        ("a_long_name_of_a_model_without_any_arguments_at_all", "a_long_name_of_a_model_without_any_argu…"),
    ],
)
def test_the_name_of_a_call_is_cut_between_its_arguments(name, text):
    assert formatting.shortened_call(name) == text


def test_a_factor_and_a_copied_number_are_no_powers_of_ten():
    assert [answers.times(factor) for factor in (1.1, 0.5, 12.0)] == [
        f"{text}{formatting.TIMES}" for text in ("1.10", "2.00", "12")
    ]
    assert answers.times(1 / 999.7) == f"1,000{formatting.TIMES}"
    assert downloads.as_markdown(pd.DataFrame({"iterations": [12345.0]})).endswith("| 12345 |")


@pytest.mark.parametrize(
    ("value", "text"), [(999.4, "999"), (999.6, "1,000"), (1234.5, "1,234"), (0.0012345, "0.00123")]
)
def test_no_large_number_is_a_power_of_ten(value, text):
    assert significant(value) == text


def test_an_error_keeps_the_code_that_it_quotes_and_shows_all_else_as_it_is():
    assert formatting.error_text("Run `xlabench` once: *it* is `<b>`") == r"Run `xlabench` once\: \*it\* is \`\<b\>\`"


def test_a_command_in_a_text_of_a_page_names_its_home_and_stays_code(monkeypatch):
    monkeypatch.setenv("XLABENCH_STORE", "/a lab/store")
    monkeypatch.delenv("XLABENCH_STATE", raising=False)
    monkeypatch.delenv("XLABENCH_HOME", raising=False)
    assert formatting.error_text('No run. `xlabench sql "SELECT a, b FROM runs"` lists them.') == (
        "No run\\. `xlabench sql --home '/a lab' \"SELECT a, b FROM runs\"` lists them\\."
    )
    assert doubts.Doubts(2, {doubts.WRONG: 1}, ("a", "b")).line.endswith(
        "To do: `xlabench repro --home '/a lab'` shows where they differ from eager's."
    )


def test_escaped_text_has_no_markup_left():
    assert formatting.escape("**a** <b> [c](d) $e$ :f: a_b\n# g") == (
        "\\*\\*a\\*\\* \\<b\\> \\[c\\]\\(d\\) \\$e\\$ \\:f\\: a\\_b \\# g"
    )


def test_age_is_in_the_largest_unit():
    now = datetime.fromisoformat("2026-01-02T12:00")
    assert formatting.ago(now - timedelta(minutes=2), now) == "2 min ago"
    assert formatting.ago(now - timedelta(days=3), now) == "3 d ago"
    assert formatting.ago(now + timedelta(minutes=1), now) == "just now"


def test_ratio_axis_is_symmetric_around_1_and_holds_every_value():
    low, high = axes.ratio_domain([0.5, 1.2, 1.9])
    assert low * high == pytest.approx(1)
    assert low < 0.5
    ticks = axes.ratio_ticks((low, high))
    assert 1.0 in ticks
    assert [1 / tick for tick in reversed(ticks)] == pytest.approx(ticks)
    assert axes.ratio_domain([]) == pytest.approx((0.8, 1.25))


def test_a_backend_has_one_colour_and_its_variants_differ_in_shape():
    domain, colours, shapes = palette.scale(
        [("inductor mode=x", "inductor"), ("inductor", "inductor"), ("eager", "eager")]
    )
    assert domain == ["eager", "inductor", "inductor mode=x"]
    assert colours[1] == colours[2] == palette.colour("inductor")
    assert len(set(shapes)) == 3


def test_series_that_differ_in_a_setting_never_share_a_name():
    frame = pd.DataFrame({"variant": ["inductor"] * 2, "dtype": ["float32", None], "environment": ["default"] * 2})
    assert list(with_series(frame)["series"]) == ["inductor · float32", "inductor · no dtype"]


def test_columns_take_words_and_units_from_the_registry():
    assert measured("speedup").kind == measured("geomean").kind == "ratio"
    assert measured("speedup").label == "Speedup"
    assert (measured("latency_s").label, measured("latency_s").kind) == ("Latency, ms", "ms")
    assert (measured("first_iteration_s").label, measured("first_iteration_s").kind) == (
        "First iteration, s",
        "seconds",
    )
    assert measured("graphs_number").kind == "number"
    shown = display(pd.DataFrame({"latency_s": [0.0064]}), {"latency_s": measured("latency_s")})
    assert shown["latency_s"].iloc[0] == pytest.approx(6.4)


def _luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("name", sorted({look.markdown for look in LOOKS.values()} | {"blue"}))
def test_coloured_text_has_the_contrast_that_wcag_asks_for_in_both_themes(name):
    light, dark = map(_luminance, INKS[name])
    assert 1.05 / (light + 0.05) >= 4.5
    assert (dark + 0.05) / (_luminance("#171614") + 0.05) >= 4.5


def test_verdicts_and_statuses_in_tables_have_colours_of_text():
    inks = {f"color: {light}" for light, _ in INKS.values()}
    assert {tables.status_ink(word) for word in (*STATUS_WORDS.values(), WRONG)} <= {*inks, ""}
    assert tables.status_ink("ok") == tables.status_ink("anything") == ""
    assert {look.ink for look in LOOKS.values()} <= {light for light, _ in INKS.values()}
