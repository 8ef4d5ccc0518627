"""Backends that are measured when their name is asked for, in real benchmark processes."""

import os

import pytest
from real_processes import ITERATIONS, LINEAR, NEEDS, steady
from runner_makers import config, machine

from runner.backends import BACKENDS, BY_NAME, backend_of, xla_of
from runner.plan.local_request import not_measurable
from store.identity import backend_name
from tests import warm
from tests.command import ROOT
from tests.tiers import first_of

ON_XLA = ["torchxla_trivial", "torchxla_trace_once", "openxla_eval"]


def on_xla(measure, dynamo, **changes):
    return measure("openxla+dynamo", dynamo=dynamo, **LINEAR, **changes)


def test_a_name_finds_its_backend():
    for (xla, dynamo), backend in {**BACKENDS, **BY_NAME}.items():
        assert backend_of(xla, dynamo) is backend
        assert backend.name == backend_name(xla, dynamo)
    assert backend_of(None, "aot_eager").name == "aot_eager"
    assert backend_of("PJRT", None, "torch_export").name == "torch_export"


def test_a_name_says_what_it_runs_on():
    assert [xla_of(name) for name in (*ON_XLA, "openxla")] == ["PJRT"] * 4
    assert [xla_of(name) for name in (None, "inductor", "aot_eager")] == [None] * 3


@pytest.mark.parametrize("dynamo", [*ON_XLA, "openxla"])
def test_a_backend_of_xla_tensors_says_so_on_the_host(dynamo):
    assert not_measurable(config(dynamo=dynamo)) == f"{dynamo} requires PyTorch/XLA; pass --xla PJRT"
    assert not_measurable(config(xla="PJRT", dynamo=dynamo)) is None


def test_a_backend_of_the_host_says_so_on_xla():
    assert "remove --xla PJRT" in not_measurable(config(xla="PJRT", dynamo="aot_eager"))
    assert "remove --xla PJRT" in not_measurable(config(xla="PJRT", dynamo="inductor"))


@pytest.mark.parametrize("dynamo", ["torchxla_trace_once", "openxla_eval"])
def test_without_a_backward_graph_there_is_no_train(dynamo):
    found = not_measurable(config(xla="PJRT", dynamo=dynamo, test="train"))
    assert found == f"{dynamo} traces no backward graph, so it supports eval only; use openxla for train"
    assert not_measurable(config(xla="PJRT", dynamo="torchxla_trivial", test="train")) is None


def test_cudagraphs_without_cuda_would_be_eager_under_its_name():
    assert "it would run as eager" in not_measurable(config(dynamo="cudagraphs"))
    assert not_measurable(config(dynamo="cudagraphs", accelerator="cuda")) is None


def test_a_name_that_dynamo_does_not_know_is_answered_with_those_it_knows(monkeypatch):
    known = ("aot_eager", "eager", "inductor", "relu_accuracy_error_TESTING_ONLY", "dynamo_minifier_backend", "aot_ts")
    monkeypatch.setattr("runner.environments.machine.Machine.dynamo_backends", lambda _python: known)
    assert backend_of(None, "aot_eager").unavailable("cpu", machine()) is None
    found = backend_of(None, "aot_eagr").unavailable("cpu", machine())
    assert found == "dynamo has no backend aot_eagr (did you mean aot_eager?); available: aot_eager, eager, inductor"


def test_the_interpreter_is_asked_for_unknown_names_only(monkeypatch):
    """Planning what everybody plans starts no process."""

    def ask(_python):
        raise AssertionError("asked")

    monkeypatch.setattr("runner.environments.machine.Machine.dynamo_backends", ask)
    for backend in {**BACKENDS, **BY_NAME}.values():
        assert backend.unavailable("cpu", machine()) is None
    assert "no cuda device" in backend_of(None, "aot_eager").unavailable("cuda", machine())


@pytest.mark.parametrize("pair", [pair for pair in {**BACKENDS, **BY_NAME} if pair[0]])
def test_xla_backends_say_what_they_lack(pair):
    everything = {"cpu": "x", "cuda": "y", "xpu": "z", "tpu": "t"}
    backend = backend_of(*pair)
    assert "torch_xla is not installed" in backend.unavailable("cpu", machine(without=("torch_xla",)))
    assert "no longer supports CUDA" in backend.unavailable("cuda", machine(accelerators=everything))
    assert "no XPU" in backend.unavailable("xpu", machine(accelerators=everything))
    assert backend.unavailable("tpu", machine(accelerators=everything)) is None


@pytest.mark.parametrize("pair", [(None, None), (None, "inductor"), (None, "aot_eager")])
def test_a_tpu_has_no_device_of_pytorchs_own(pair):
    assert "only PyTorch/XLA" in backend_of(*pair).unavailable("tpu", machine(accelerators={"cpu": "x", "tpu": "t"}))


class TestReal:
    pytestmark = NEEDS

    @pytest.mark.parametrize(
        ("dynamo", "test"),
        first_of([(ON_XLA[0], "train"), (ON_XLA[1], "eval"), (ON_XLA[2], "eval"), (ON_XLA[0], "eval")], 2),
    )
    def test_it_reaches_its_steady_state_and_compiles_no_more(self, measure, dynamo, test):
        """Tracing again is no recompilation: the trace's program is known. Backward is a graph of its own."""
        record = on_xla(measure, dynamo, test=test)
        blocks = record.measurement.blocks
        assert blocks.compiles[0] >= 1
        assert steady(record, blocks.compiles) == [0] * 5
        assert min(steady(record, blocks.executions)) >= ITERATIONS
        assert record.metrics["graphs_number"] == [2.0 if test == "train" else 1.0]
        assert (record.variant, record.experiment.xla) == (dynamo, "PJRT")

    @pytest.mark.parametrize("dynamo", first_of(["aot_eager", "eager"]))
    def test_any_other_name_is_measured_on_the_host(self, measure, dynamo):
        record = measure("eager", dynamo=dynamo, **LINEAR)
        assert record.metrics["graphs_number"] == [1.0]
        assert record.measurement.blocks.compiles[0] == 1
        assert record.variant != "eager"

    @pytest.mark.parametrize("dynamo", first_of(["inductor", "openxla", "aot_eager", "torchxla_trivial"]))
    def test_eager_in_disguise_is_no_measurement(self, measure, dynamo):
        """Whatever the compiler's name: where dynamo captured nothing, nothing of it was measured."""
        asked = {"suite_name": "telling", "xla": xla_of(dynamo), "dynamo": dynamo}
        record = measure("eager", "hidden", status="invalid", **asked)
        assert "eagerly and not under this backend" in record.error.message


TRACES = """
import torch, torch_xla, sys
from torch_xla.debug import metrics
from runner_makers import config
from runner.backends import backend_of
def traced():
    return metrics.counter_value("xla::addmm") or 0
for name in sys.argv[1:]:
    backend = backend_of("PJRT", name)
    runtime = backend.open(config(xla="PJRT", dynamo=name))
    module = torch.nn.Linear(4, 4).to(runtime.device)
    step = backend.compile(lambda values: module(values), config(xla="PJRT", dynamo=name))
    values = torch.ones(2, 4).to(runtime.device)
    with torch.no_grad():
        for _ in range(3):
            result = step(values); runtime.after_iteration(); runtime.after_block()
        before = traced()
        for _ in range(5):
            result = step(values); runtime.after_iteration(); runtime.after_block()
    print(name, traced() - before)
    torch._dynamo.reset()
"""


def test_trivial_traces_at_every_call_and_the_others_once():
    """Counted where PyTorch/XLA records the model's one operation."""
    for mark in NEEDS[1:]:
        if mark.args[0]:
            pytest.skip(mark.kwargs["reason"])
    expected = {"torchxla_trivial": 5, "torchxla_trace_once": 0, "openxla": 0}
    env = {**os.environ, "PJRT_DEVICE": "CPU", "PYTHONPATH": f"{ROOT}:{ROOT}/tests/runner"}
    done = warm.program(TRACES, *expected, imports="torch_xla", env=env)
    assert done.returncode == 0, done.stderr
    found = dict(line.split() for line in done.stdout.splitlines()[-3:])
    assert {name: int(number) for name, number in found.items()} == expected
