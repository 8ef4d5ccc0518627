"""Records of what happened."""

import math

import msgspec
import pytest
from runner_makers import ended, entry, facts, loaded, report, settings

from runner.messages import Hello
from runner.schedule import outcome
from runner.schedule.examine import Extras
from runner.schedule.records import make_record, skipped
from store import advice
from store.identity import record_id
from store.record import Artifact, Error, FallbackOp, MachineState, Record


def numeric_lists(metrics):
    """Say whether a metric is anything but a list of numbers; `error` is a text."""
    return all(
        isinstance(values, list) and all(isinstance(value, int | float) for value in values)
        for key, values in metrics.items()
        if key != "error"
    )


def test_a_finished_experiment_carries_its_numbers():
    of = entry("inductor")
    made = make_record(of, facts(), ended())
    assert (made.status, made.error, made.verification_code) == ("ok", None, "VERIFIER_SKIPPED")
    assert made.metrics["total_time"] == [1.0, 0.5, *[0.1] * 6]
    assert made.measurement.blocks.kind == ["first", "warmup", *["steady"] * 6]
    assert made.measurement.blocks.compiles == [1, *[0] * 7]
    assert made.measurement.blocks.round == [0] * 8
    assert (made.experiment_id, made.variant, made.attempt) == (of.experiment_id, "inductor", 1)


def test_the_run_is_repeated_in_every_record():
    """The peer's aggregator groups by the timestamp: it is the start of the run."""
    made = make_record(entry(), facts(timestamp=123.0), ended(), attempt=2)
    assert (made.timestamp, made.run.run_id, made.attempt) == (123.0, "run-1", 2)
    assert made.finished_at > made.timestamp


def test_the_record_id_is_that_of_its_six_facts():
    of = entry()
    made = make_record(of, facts(), ended(), attempt=3)
    assert made.record_id == record_id("run-1", of.experiment_id, "default", "benchmark", 0, 3)


@pytest.mark.parametrize("status", ["load_error", "compile_error", "run_error", "oom", "timeout", "crashed"])
def test_a_failure_is_a_record_with_a_text(status):
    made = make_record(entry(), facts(), ended(status, phase="compile"))
    assert (made.status, made.error.phase, made.verification_code) == (status, "compile", "VERIFIER_DIDNT_RUN")
    assert made.metrics == {"error": "ValueError: it broke"}


def test_a_failure_after_some_blocks_keeps_them():
    part = report(times=(1.0, 0.2), warm=1)
    made = make_record(entry(), facts(), ended("run_error", loaded=loaded(), report=part))
    assert made.metrics["total_time"] == [1.0, 0.2]
    assert made.metrics["error"] == "ValueError: it broke"
    assert made.measurement.blocks.kind == ["first", "warmup"]


def test_a_skip_is_a_record_as_the_peer_writes_it():
    made = skipped(entry("inductor", skip="no g++"), facts())
    assert (made.status, made.metrics, made.verification_code) == ("skipped", {"error": "SKIP"}, "VERIFIER_SKIPPED")
    assert (made.error.type, made.error.message) == ("Skipped", "no g++")
    assert made.measurement.blocks.kind == []


@pytest.mark.parametrize(
    "made",
    [
        make_record(entry(), facts(), ended()),
        make_record(entry(), facts(), ended("never_steady")),
        make_record(entry(), facts(), ended("crashed")),
        make_record(entry(), facts(), ended("run_error", report=report())),
        skipped(entry(skip="no"), facts()),
    ],
    ids=lambda made: made.status,
)
def test_metrics_are_numeric_lists_or_the_error(made):
    """The peer's analyzer turns each value into an array."""
    assert numeric_lists(made.metrics)
    assert ("error" in made.metrics) == (made.error is not None)
    assert msgspec.json.decode(msgspec.json.encode(made), type=Record) == made


def test_the_peers_keys_stand_in_the_experiment():
    """Requested and resolved batch size stand side by side."""
    of = entry("openxla+dynamo", batch_size=None, xla_flags=("--a=1", "--b"))
    found = make_record(of, facts(), ended(loaded=loaded(batch_size=32, loss="sum"))).experiment
    assert (found.xla, found.dynamo, found.accelerator, found.accelerator_model) == (
        "PJRT",
        "openxla",
        "cpu",
        "Example CPU",
    )
    assert (found.batch_size, found.requested_batch_size) == (32, None)
    assert (found.loss, found.resolved_loss) == (None, "sum")
    assert found.xla_flags == "--a=1 --b"


def test_before_loading_the_batch_size_is_the_requested_one():
    found = make_record(entry(batch_size=8), facts(), ended("load_error")).experiment
    assert (found.batch_size, found.requested_batch_size) == (8, 8)


def test_effective_values_of_the_process_replace_the_planned_ones():
    hello = Hello(import_s=2.5, probe_s=4.5)
    state = loaded(threads=7, variables={"OMP_NUM_THREADS": "7"})
    found = make_record(entry(), facts(hello=hello), ended(loaded=state)).environment
    assert (found.threads, found.variables) == (7, {"OMP_NUM_THREADS": "7"})
    assert (found.toolchain_probe_s, found.server_import_s) == (4.5, 2.5)


def test_without_a_process_the_planned_values_stay():
    found = make_record(entry(), facts(), ended("crashed")).environment
    assert (found.threads, found.variables, found.toolchain_probe_s) == (2, {}, None)


def test_how_it_was_measured_is_recorded():
    chosen = settings(preset="peer", repeat=7, warmup_min=2, warmup_max=9, steady_blocks=3, start="interpreter")
    found = make_record(entry(), facts(settings=chosen), ended()).measurement
    assert (found.protocol, found.repeat, found.warmup_min, found.warmup_max) == ("peer", 7, 2, 9)
    assert (found.steady_blocks, found.start, found.order, found.processes) == (3, "interpreter", "sequence", 1)
    assert (found.cache, found.instrumented) == ("cold", False)


def test_fallbacks_artifacts_and_warnings_come_along():
    op = FallbackOp(op="nonzero", klass="opt_in_lowering", calls_per_iteration=1.0, calls_compile=2)
    log = Artifact(kind="log", path="logs/x.log", bytes=3)
    state = ended(loaded=loaded(warnings=["from loading"]), report=report(fallback_ops=[op], warnings=["from it"]))
    made = make_record(entry(), facts(), state, extras=Extras(artifacts=[log]))
    assert (made.fallback_ops, made.artifacts) == ([op], [log])
    assert made.warnings == ["from loading", "from it"]


def test_findings_are_data_and_their_sentences_stand_among_the_warnings():
    """Whoever reads `warnings` only misses nothing."""
    busy = MachineState(seconds=1.0, others_share=0.5)
    made = make_record(entry(), facts(), ended(report=report(times=(1.0, 0.5, 0.1, 0.1)), machine=busy))
    assert [found.code for found in made.findings] == ["few_blocks", "busy_machine"]
    assert made.warnings == [advice.sentence(found) for found in made.findings]
    assert made.machine == busy
    assert msgspec.json.decode(msgspec.json.encode(made), type=Record) == made


def test_a_calibration_says_so_in_its_record_and_its_id():
    """Of two that sat side by side the second has the next number; neither is hidden."""
    of, chosen = entry(), facts(settings=settings(purpose="calibration"))
    first, second = (make_record(of, chosen, ended(), replica=2, twin=each) for each in (False, True))
    assert [(made.purpose, made.replica, made.twin_of) for made in (first, second)] == [
        ("calibration", 4, None),
        ("calibration", 5, None),
    ]
    assert first.record_id == record_id("run-1", of.experiment_id, "default", "calibration", 4, 1)


def test_a_twin_points_to_its_original_and_has_an_id_of_its_own():
    of = entry()
    original, twin = (make_record(of, facts(), ended(), replica=2, attempt=3, twin=each) for each in (False, True))
    assert (original.twin_of, twin.twin_of) == (None, original.record_id)
    assert (original.purpose, twin.purpose) == ("benchmark", "calibration")
    assert original.record_id != twin.record_id


def test_an_invalid_measurement_keeps_its_blocks_and_says_why():
    error = Error(phase="measure", type="InvalidMeasurement", message="nothing was computed")
    made = make_record(entry(), facts(), outcome.Outcome(status="invalid", error=error, report=report()))
    assert made.metrics["error"] == "InvalidMeasurement: nothing was computed"
    assert math.isclose(sum(made.metrics["total_time"]), 2.1)
