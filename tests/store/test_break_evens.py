"""When a backend has earned its compile time: the view, against the rule of the statistics."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import query
from store.compare.cell import Work, ahead_at_first, break_even, differ
from store.ingest import ingest
from tests.store.factory import make_record, write_run
from tests.store.scenes import Scenes


def rows(con, run):
    found = query.fetch(con, "SELECT * FROM break_evens('inductor', NULL) WHERE run_id = $run", {"run": run})
    return {(row["model"], row["backend"]): row for row in found}


def record(backend, per_iter, first, **facts):
    """Return a record whose first block takes `first` and that is warm after it."""
    return make_record(backend=backend, per_iter=[per_iter] * 8, first=first, warmup=(), **facts)


SCENES = Scenes()
scene = SCENES.scene


@pytest.fixture
def found(scenes, run):
    """The rows of the run of a scene."""
    return rows(scenes, run)


@scene(
    record("inductor", 0.5, 4.5),
    record("eager", 1.0, 1.0),
    record("openxla+dynamo", 0.25, 8.25),
    record("openxla+lazytensor", 0.25, 2.25),
)
def test_a_backend_is_ahead_at_once_or_after_iterations_or_never(found):
    assert {backend: row["break_even"] for (_, backend), row in found.items()} == {
        "inductor": None, "eager": "never", "openxla+dynamo": "after", "openxla+lazytensor": "ahead from the start",
    }  # fmt: skip
    after = found["resnet18", "openxla+dynamo"]
    # It waits 8 s against 4 s and gains 0.25 s in each iteration: even after 16, ahead after 17, at 8 s + 17 · 0.25 s.
    assert (after["time_to_steady_s"], after["baseline_time_to_steady_s"]) == (8.0, 4.0)
    assert (after["break_even_iterations"], after["break_even_s"]) == (17, 12.25)
    eager = found["resnet18", "eager"]
    # Eager waits 0 s against 4 s and loses 0.5 s in each iteration: ahead for 7, even after 8.
    assert (eager["break_even_iterations"], eager["ahead_at_first_n"]) == (None, 7)
    assert after["ahead_at_first_n"] is None


@scene(record("inductor", 0.5, 1.0), record("eager", math.nextafter(0.5, 0), 5000.0))
def test_more_iterations_than_an_integer_holds_do_not_fail_the_query(found):
    eager = found["resnet18", "eager"]
    assert (eager["break_even"], eager["break_even_iterations"]) == ("after", None)


@scene(
    record("openxla+dynamo", 0.25, 8.25),
    record("inductor", 0.5, 4.5, model="vgg16", batch_size=8),
    record("openxla+dynamo", 0.25, 8.25, model="vgg16", batch_size=4),
)
def test_without_a_speedup_there_is_no_break_even(found):
    assert found["resnet18", "openxla+dynamo"]["break_even"] is None
    row = found["vgg16", "openxla+dynamo"]
    assert (row["break_even"], row["break_even_iterations"]) == (None, None)
    assert row["speedup_reason"].startswith("not comparable: batch size")


@scene(
    make_record(backend="inductor", per_iter=[0.4, 0.5, 0.6] * 4, first=4.5, warmup=()),
    make_record(backend="openxla+dynamo", per_iter=[0.39, 0.49, 0.59] * 4, first=8.5, warmup=()),
)
def test_where_the_speeds_do_not_differ_significantly_the_break_even_is_undecided(found):
    """Their medians alone would give "after 401 iterations"."""
    row = found["resnet18", "openxla+dynamo"]
    assert row["speedup_low"] < 1 < row["speedup"] < row["speedup_high"]
    assert (row["break_even"], row["break_even_iterations"], row["break_even_s"]) == ("undecided", None, None)


MM = {"suite": "operators", "model": "torch.mm(float[4,4], float[4,4])"}


@scene(
    record("inductor", 0.5, 4.5, **MM),
    record("openxla+lazytensor", 0.25, 8.25, **MM),
    make_record(backend="openxla+dynamo", **MM, status="compile_error", message="no lowering"),
)
def test_what_did_not_compile_never_earns_its_compile_time_and_says_why(scenes, run, found):
    """An operator of which openxla+dynamo makes no program has no break-even, beside one that has."""
    assert found[MM["model"], "openxla+lazytensor"]["break_even"] == "after"
    assert (MM["model"], "openxla+dynamo") not in found
    asked = "SELECT status, reason FROM results WHERE backend = 'openxla+dynamo' AND run_id = $run"
    [why] = query.fetch(scenes, asked, {"run": run})
    assert (why["status"], why["reason"]) == ("compile_error", "no lowering")


FACTORS = [0.9 + 0.005 * step for step in range(41)]
"""Times of eager over those of inductor, around 1."""


@scene(
    *(
        make_record(backend=backend, model=f"x{factor:.3f}", per_iter=[factor_of * each for each in times])
        for factor in FACTORS
        for backend, factor_of, times in (
            ("inductor", 1.0, [1.0] * 4 + [0.96, 0.97, 0.98, 0.985, 1.01, 1.02, 1.03, 1.04]),
            ("eager", factor, [1.0] * 4 + [0.94, 0.95, 0.96, 0.97, 1.03, 1.04, 1.05, 1.07]),
        )
    ),
    *(
        make_record(backend=backend, model=model, per_iter=[seconds] * blocks)
        for model, blocks, eager_s in (("one block", 1, 2.0), ("equal", 8, 1.0), ("without spread", 8, 2.0))
        for backend, seconds in (("inductor", 1.0), ("eager", eager_s))
    ),
)
def test_compare_calls_speeds_different_where_the_view_does(scenes, run, found):
    waits = {row["experiment_id"]: row for row in query.fetch(scenes, query.named("waits"), {"run": run})}
    names = ("time_to_steady_s", "latency_s", "latency_low_s", "latency_high_s")

    def work(model, backend):
        return Work(*(waits[found[model, backend]["experiment_id"]][name] for name in names))

    decided = {
        model for model, backend in found if backend == "eager" and found[model, "eager"]["break_even"] != "undecided"
    }
    assert {model for model, _ in found if differ(work(model, "eager"), work(model, "inductor"))} == decided
    assert 10 < len(decided) < len(FACTORS) - 10
    assert {"one block", "equal", "without spread"} & decided == {"without spread"}


_times = st.floats(min_value=1e-3, max_value=10)


@settings(max_examples=2, deadline=None)
@given(st.lists(st.tuples(_times, _times, _times, _times), min_size=4, max_size=4))
def test_the_view_computes_what_the_statistics_define(tmp_path_factory, models):
    folder = tmp_path_factory.mktemp("stats")
    records = []
    for number, (base_s, base_first, own_s, own_first) in enumerate(models):
        records.append(record("inductor", base_s, base_first, model=f"m{number}"))
        records.append(record("eager", own_s, own_first, model=f"m{number}"))
    write_run(folder, records)
    with query.connect(ingest([folder], folder / "store").snapshot) as con:
        found = rows(con, "run-1")
    for number, (base_s, base_first, own_s, own_first) in enumerate(models):
        row = found[f"m{number}", "eager"]
        times = own_first - own_s, own_s, base_first - base_s, base_s
        expected = ("undecided", None) if own_s == base_s else break_even(*times)
        assert (row["break_even"], row["break_even_iterations"]) == expected
        assert row["ahead_at_first_n"] == (ahead_at_first(*times) if expected == ("never", None) else None)
