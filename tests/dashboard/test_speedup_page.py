"""Speedup: dots, distribution, one backend against another, and the table with latency and throughput."""

import pandas as pd
import pytest

from dashboard.formatting import ratio
from dashboard.ui import frame
from dashboard.view.choosing import EVERY
from store import query
from tests.dashboard.opened import open_page, seen, tables, text
from tests.tiers import first_of


def con_of(store):
    return query.connect(query.current_snapshot(store))


def test_speedup_puts_milliseconds_and_throughput_beside_each_ratio(monkeypatch, demo):
    table = tables(open_page(monkeypatch, demo, "speedup", model=["resnet18"], test=["eval"]))[0]
    row = table.set_index("series").loc["openxla+dynamo"]
    assert row["speedup"] == pytest.approx(row["baseline_latency_s"] / row["latency_s"])
    assert row["latency_s"] == pytest.approx(16.0, rel=0.05)
    assert row["steady_n"] == row["baseline_steady_n"] == 10
    assert row["throughput_per_s"] == pytest.approx(row["batch_size"] / row["latency_s"] * 1000)


def test_a_row_has_the_latencies_of_the_last_runs_of_its_series(demo):
    table = tables(seen(demo, "speedup"))[0]
    known = table[table["trend"].notna()]
    assert (known["trend"].map(len) > 1).all()
    ran = known[known["latency_s"].notna()]
    assert [line[-1] for line in ran["trend"]] == pytest.approx([ms / 1000 for ms in ran["latency_s"]])
    assert len(ran) > 10


def test_a_missing_speedup_is_empty_and_has_its_reason(demo):
    table = tables(seen(demo, "speedup"))[0]
    without = table[table["speedup"].isna()]
    assert len(without) == 11
    assert without["speedup_reason"].notna().all()
    assert not (table["speedup"] == 0).any()


@pytest.mark.parametrize(
    ("order", "first"),
    [
        ("Lowest first", lambda table: table["speedup"].min()),
        ("Highest first", lambda table: table["speedup"].max()),
    ],
)
def test_the_order_of_models_is_that_of_the_table(monkeypatch, demo, order, first):
    table = tables(open_page(monkeypatch, demo, "speedup", order=[order]))[0]
    assert table["speedup"].iloc[0] == first(table)
    assert table["speedup"].isna().iloc[-1]


def test_it_says_on_which_models_xla_is_slower_and_by_how_much(monkeypatch, demo):
    said = text(open_page(monkeypatch, demo, "speedup", test=["eval"])).replace("\\", "")
    with con_of(demo) as con:
        slower = query.fetch(
            con,
            """SELECT model, speedup FROM speedups('inductor', NULL) WHERE run_id = '22222222-bbbb' AND test = 'eval'
            AND backend = 'openxla+dynamo' AND speedup_high < 1 ORDER BY speedup, model""",
        )
    assert len(slower) == 4
    worst = ", ".join(f"{row['model']} {ratio(row['speedup'])}" for row in slower[:3])
    assert f"**openxla+dynamo** is slower than inductor on **4 of 4 models** ({worst} and 1 more)" in said


def test_answers_that_have_no_room_are_counted_whatever_they_are_about(monkeypatch, demo):
    """Means of a series of one suite, and how a series fares in all of them, are not so many series."""
    shown = _answers(open_page(monkeypatch, demo, "speedup"))
    monkeypatch.setattr(frame, "ANSWERS_SHOWN", 1000)
    every = _answers(open_page(monkeypatch, demo, "speedup"))
    assert shown[:-1] == every[: len(shown) - 1]
    rest = len(every) - len(shown) + 1
    assert rest > 1
    assert shown[-1] == f"- {rest} more such answers are in the charts"


def _answers(at):
    """Return the bullets below the first answer."""
    [bullets] = [each.value for each in at.markdown if each.value.startswith("- ")]
    return bullets.splitlines()


def test_the_distribution_has_each_model_once_in_order(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "speedup", chart=["Distribution"], test=["eval"])
    assert not at.exception
    assert "Where it crosses 1 is the share of models whose speedup is below 1" in text(at)
    [chart] = at.get("vega_lite_chart")
    assert '"step-before"' in chart.proto.spec, "a slope between two models would cross 1 elsewhere"
    with con_of(demo) as con:
        lazy = "backend = 'openxla+lazytensor' AND speedup IS NOT NULL AND test = 'eval' AND run_id = '22222222-bbbb'"
        expected = query.fetch(con, f"SELECT count(*) AS n FROM speedups('inductor', NULL) WHERE {lazy}")
    from dashboard import data
    from dashboard.view import ViewSelection

    curve = data.rows(
        str(query.current_snapshot(demo)), "speedup_curve", ViewSelection("22222222-bbbb", "inductor", test=("eval",))
    )
    mine = curve[curve["variant"] == "openxla+lazytensor"]
    assert list(mine["place"]) == list(range(1, expected[0]["n"] + 1))
    assert mine["speedup"].is_monotonic_increasing
    assert mine["share"].iloc[-1] == 1
    assert "inductor" not in set(curve["variant"])


def test_one_backend_against_another_pairs_them_as_the_store_does(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "speedup", chart=["A against B"], series_a=["eager"], test=["eval"])
    assert not at.exception
    pairs = tables(at)[0].set_index("model")
    with con_of(demo) as con:
        asked = """SELECT model, speedup, speedup_reason FROM speedups('eager', NULL)
            WHERE run_id = '22222222-bbbb' AND test = 'eval' AND backend = 'openxla+dynamo'"""
        expected = {row["model"]: row for row in query.fetch(con, asked)}
    assert set(pairs.index) == set(expected)
    for model, row in expected.items():
        assert pairs.loc[model, "ratio"] == pytest.approx(row["speedup"], nan_ok=True) or row["speedup"] is None
    assert (
        "compile" in pairs.loc["resnet50", "reason"]
        or pairs.loc["resnet50", "reason"] == "unsupported: data dependent shape"
    )
    assert pairs.loc["resnet18", "latency_a_s"] / pairs.loc["resnet18", "latency_b_s"] == pytest.approx(
        pairs.loc["resnet18", "ratio"]
    )


def test_one_backend_alone_has_nothing_to_be_set_against(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "speedup", chart=["A against B"], backend=["eager"], baseline=["eager"])
    assert not at.exception


def test_a_baseline_on_another_device_gives_ratios_and_no_interval(monkeypatch, factory, tmp_path):
    from store.ingest import ingest

    other = factory.make_environment(accelerator="A100", machine_id="f00d", host="gpu-1")
    records = [
        factory.make_record(
            backend="inductor", environment=other, accelerator="cuda", run_id="gpu", per_iter=[0.002] * 8
        ),
        factory.make_record(backend="openxla+dynamo", run_id="gpu", per_iter=[0.01] * 8),
    ]
    factory.write_run(tmp_path / "runs" / "gpu", records)
    ingest([tmp_path], tmp_path / "store")
    at = open_page(monkeypatch, tmp_path / "store", "speedup", baseline_accelerator=["cuda"])
    assert not at.exception
    table = tables(at)[0]
    row = table[table["series"].str.startswith("openxla+dynamo")].iloc[0]
    assert row["speedup"] == pytest.approx(0.2)
    assert pd.isna(row["interval"])
    assert row["speedup_reason"].startswith("cross-device")
    assert "cross-device" in text(at).replace("\\", "")


@pytest.mark.parametrize(
    ("page", "key"),
    first_of([("speedup", "section"), ("fallback-ops", "map"), ("compile-time", "compile_section")]),
)
def test_one_part_is_charted_until_another_or_all_are_asked_for(monkeypatch, review_store, page, key):
    run = "e065a9cb-9d6c-4852-956d-b8d1b4592a62" if page == "fallback-ops" else "2af2f9b8-ad8b-4935-a560-fac9eedfb34c"
    at = open_page(monkeypatch, review_store, page, run=[run])
    [offered] = [box.options for box in at.selectbox if box.key == key]
    assert len(offered) > 2
    for section in (offered[0], offered[1], EVERY):
        is_first = section == offered[0]
        shown = at if is_first else open_page(monkeypatch, review_store, page, run=[run], **{key: [section]})
        titles = {each.value.strip("*").replace("\\", "") for each in [*shown.subheader, *shown.markdown]}
        charted = [name for name in offered[:-1] if name in titles]
        assert charted == (offered[:-1] if section == EVERY else [section])
        assert len(shown.get("vega_lite_chart")) == len(charted)
    assert open_page(monkeypatch, review_store, page, run=[run], **{key: ["nope"]}).warning
