"""The harness's CSV from records: its columns, formulas and failure rows."""

import csv
import io
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store import harness_csv
from store.harness_csv import COUNTERS, Options
from store.record import Error, Verification
from tests.store.factory import make_record

INDUCTOR = Options(backend=(None, "inductor"))
LAZY = Options(backend=("PJRT", None))
PERFORMANCE = ["dev", "name", "batch_size", "speedup", "abs_latency", "compilation_latency", "compression_ratio",
               "eager_peak_mem", "dynamo_peak_mem", *COUNTERS]  # fmt: skip
COUNTED = {
    "stats": {"calls_captured": 206, "unique_graphs": 2},
    "frames": {"total": 5, "ok": 3},
    "graph_break": {"a": 2, "b": 1, "c": 0},
    "compiled_autograd": {"captures": 7, "compiles": 6},
    "inductor": {"cudagraph_skips": 4},
}


def of(backend, **changes):
    metrics = {"setup_peak_memory_bytes": [2e9], "peak_memory_bytes": [1e9], **changes.pop("metrics", {})}
    return make_record(model="dcgan", backend=backend, metrics=metrics, **changes)


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@given(
    eager=st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=9),
    compiled=st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=9),
    iterations=st.integers(1, 7),
    peaks=st.tuples(st.floats(1, 1e12), st.floats(1, 1e12)),
)
def test_the_cells_are_the_harness_formulas(eager, compiled, iterations, peaks):
    """Ratio of medians, milliseconds of a whole block, wall time of five iterations, ratio of peaks; '%.6f'."""
    one = of("eager", per_iter=eager, iterations_per_run=iterations, metrics={"setup_peak_memory_bytes": [peaks[0]]})
    two = of(
        "inductor", per_iter=compiled, iterations_per_run=iterations, metrics={"setup_peak_memory_bytes": [peaks[1]]}
    )
    row = rows(harness_csv.text(harness_csv.performance([two, one], INDUCTOR)))[0]
    steady_one, steady_two = median(eager) * iterations, median(compiled) * iterations
    blocks = -(-5 // iterations)
    warm = sum(two.metrics["total_time"][:blocks]) - sum(one.metrics["total_time"][:blocks])
    expected = {
        "speedup": steady_one / steady_two,
        "abs_latency": steady_two * 1000,
        "compilation_latency": warm,
        "compression_ratio": peaks[0] / peaks[1],
        "eager_peak_mem": peaks[0] / 1e9,
        "dynamo_peak_mem": peaks[1] / 1e9,
    }
    assert list(row) == PERFORMANCE
    for name, value in expected.items():
        assert float(row[name]) == pytest.approx(value, rel=1e-9, abs=5.1e-7), name
        assert len(row[name].partition(".")[2]) == 6
    assert (row["dev"], row["name"], row["batch_size"]) == ("cpu", "dcgan", "8")


def test_the_counters_are_counted_as_they_count_them():
    record = of("inductor", metrics={"dynamo_counters": [COUNTED]})
    assert list(harness_csv.counters(record).values()) == [206, 2, 2, 3, 2, 7, 6, 4]
    blocks = [COUNTED, {"stats": {"calls_captured": 0}}]
    assert harness_csv.counters(of("inductor", metrics={"dynamo_counters": blocks}))["calls_captured"] == 206


def test_without_counters_the_cells_are_empty_and_not_0():
    row = harness_csv.performance([of("eager"), of("inductor", metrics={"graphs_number": [3]})], INDUCTOR)[0]
    assert {name: row[name] for name in COUNTERS} == {**dict.fromkeys(COUNTERS, ""), "unique_graphs": 3}


def test_a_failure_has_their_failure_row():
    """Batch size, speedup and latency 0; the rest of the line filled with 0; also where only eager failed."""
    bad = make_record(model="alexnet", backend="inductor", status="oom", per_iter=(), message="no memory")
    lone = make_record(model="vgg16", backend="inductor")
    made = harness_csv.performance([bad, lone, of("eager"), of("inductor")], INDUCTOR)
    found = rows(harness_csv.text(made))
    assert list(found[0]) == PERFORMANCE
    for row in found[:2]:
        assert list(row.values())[2:] == ["0", "0.000000", "0.000000", *["0"] * (len(PERFORMANCE) - 5)]
    assert float(found[2]["speedup"]) == 1


def test_what_was_skipped_has_no_row_and_of_attempts_the_newest():
    skipped = make_record(model="alexnet", backend="inductor", status="skipped", per_iter=())
    old, new = of("inductor", batch_size=4), of("inductor", attempt=2, batch_size=5)
    made = harness_csv.performance([new, old, skipped, of("eager"), of("eager", attempt=2)], INDUCTOR)
    assert [row["batch_size"] for row in made] == [5]


def test_tag_baseline_and_warm_peak_are_their_columns():
    options = Options(backend=(None, "inductor"), tag="pr", prior={"dcgan": 0.5}, warm_peak=True)
    row = harness_csv.performance([of("eager"), of("inductor")], options)[0]
    assert list(row)[:8] == [
        "dev", "name", "batch_size", "tag", "speedup", "abs_latency", "baseline", "speedup_vs_baseline",
    ]  # fmt: skip
    assert (row["tag"], row["baseline"], row["speedup_vs_baseline"], row["eager_peak_mem"]) == ("pr", 0.5, 2.0, 1.0)
    other = Options(backend=(None, "inductor"), prior={})
    assert harness_csv.performance([of("eager"), of("inductor")], other)[0]["speedup_vs_baseline"] == 0.0


def test_lazy_xla_against_eager_has_seconds():
    eager, lazy = of("eager", per_iter=(0.2,) * 6), of("openxla+lazytensor", per_iter=(0.1,) * 6)
    assert harness_csv.against_xla([eager, lazy], LAZY) == [
        {"dev": "cpu", "name": "dcgan", "batch_size": 8, "speedup": 2.0, "time_baseline": 0.2, "time_xla": 0.1}
    ]


def test_another_baseline_than_eager_is_taken():
    options = Options(backend=("PJRT", "openxla"), baseline=("PJRT", None))
    lazy, compiled = of("openxla+lazytensor", per_iter=(0.3,) * 6), of("openxla+dynamo", per_iter=(0.1,) * 6)
    made = harness_csv.performance([of("eager", per_iter=(9.0,) * 6), lazy, compiled], options)
    assert made[0]["speedup"] == pytest.approx(3.0)


def verified(code, **changes):
    record = of("inductor", verification_code=code, metrics=changes.pop("metrics", {}))
    record.verification = Verification(code=code, batch_size=4, **changes)
    return record


def test_an_accuracy_row_has_status_counters_and_compile_time():
    metrics = {"dynamo_counters": [COUNTED], "dynamo_compile_time_s": [1.5]}
    row = harness_csv.accuracy([verified("PASS", metrics=metrics)], INDUCTOR)[0]
    assert list(row) == ["dev", "name", "batch_size", "accuracy", *COUNTERS, "compilation_latency"]
    assert (row["batch_size"], row["accuracy"], row["compilation_latency"]) == (4, "pass", 1.5)
    assert row["calls_captured"] == 206
    wrong = harness_csv.accuracy([verified("FAIL")], INDUCTOR)[0]
    assert (wrong["accuracy"], wrong["graph_breaks"]) == ("fail_accuracy", "")


def test_what_never_ran_has_the_short_accuracy_row():
    """As theirs of a model that does not load, or runs out of time; what was not checked has none."""
    late = make_record(model="vgg16", backend="inductor", status="timeout", per_iter=())
    late.error.type = "Timeout"
    assert list(harness_csv.accuracy([late], INDUCTOR)[0].values()) == ["cpu", "vgg16", 0, "timeout"]
    broken = verified("EXCEPTION_RAISED", error=Error(phase="load", type="ValueError", message="no"))
    assert list(harness_csv.accuracy([broken], INDUCTOR)[0].values()) == ["cpu", "dcgan", 0, "model_fail_to_load"]
    assert harness_csv.accuracy([verified("VERIFIER_SKIPPED")], INDUCTOR) == []


def test_appending_keeps_what_is_there_and_widens_the_header():
    failed = {"dev": "cpu", "name": "a", "batch_size": 0, "speedup": 0.0}
    before = harness_csv.text([failed])
    assert before == "dev,name,batch_size,speedup\ncpu,a,0,0.000000\n"
    after = harness_csv.text([{**failed, "name": "b, c", "abs_latency": 2.0}], before)
    assert after == 'dev,name,batch_size,speedup,abs_latency\ncpu,a,0,0.000000,0\ncpu,"b, c",0,0.000000,2.000000\n'
    assert harness_csv.text([failed], after).splitlines()[-1] == "cpu,a,0,0.000000,0"
    assert harness_csv.speedups(after) == {"a": 0.0, "b, c": 0.0}
    assert harness_csv.text([]) == ""
