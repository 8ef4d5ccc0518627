"""Opened devices, with a torch that writes down what it is asked."""

import sys
import types
from typing import NamedTuple

import pytest

from runner.accelerators import ACCELERATORS


class Event:
    """Happens when the fake device's clock says; the clock goes on by 250 ms at each."""

    clock = 0.0

    def __init__(self, *, enable_timing):
        assert enable_timing

    def record(self):
        Event.clock += 250.0
        self.at = Event.clock

    def elapsed_time(self, other):
        return other.at - self.at


class Device(NamedTuple):
    kind: str
    index: int | None = None


@pytest.fixture
def torch(monkeypatch):
    """A torch with `cuda` and `xpu`, and the list of what was asked."""
    asked = []

    def module(kind):
        def note(name, answer=None):
            return lambda *args: asked.append((kind, name, *args)) or answer

        return types.SimpleNamespace(
            _is_in_bad_fork=lambda: False,
            init=note("init"),
            set_device=note("set_device"),
            synchronize=note("synchronize"),
            reset_peak_memory_stats=note("reset"),
            max_memory_allocated=note("peak", 4096),
            max_memory_reserved=lambda device: 2**20,
            memory_snapshot=list,
            Event=Event,
        )

    fake = types.ModuleType("torch")
    fake.device = Device
    fake.cuda, fake.xpu = module("cuda"), module("xpu")
    fake.asked = asked
    monkeypatch.setitem(sys.modules, "torch", fake)
    return fake


@pytest.mark.parametrize("kind", ["cuda", "xpu"])
def test_a_fork_that_has_lost_the_device_says_what_helps(torch, kind):
    getattr(torch, kind)._is_in_bad_fork = lambda: True
    with pytest.raises(RuntimeError, match=f"has used {kind}.*--start interpreter"):
        ACCELERATORS[kind].open(0)
    assert not torch.asked


@pytest.mark.parametrize("kind", ["cuda", "xpu"])
@pytest.mark.parametrize(("index", "device"), [(None, 0), (0, 0), (3, 3)])
def test_the_device_of_an_index_is_the_one_that_is_used(torch, kind, index, device):
    """Also for what a model allocates as plain `cuda`."""
    assert ACCELERATORS[kind].open(index).device == (kind, device)
    assert torch.asked == [(kind, "init"), (kind, "set_device", (kind, device))]


@pytest.mark.parametrize("kind", ["cuda", "xpu"])
def test_waiting_and_memory_are_of_that_device(torch, kind):
    opened = ACCELERATORS[kind].open(1)
    torch.asked.clear()
    opened.synchronize()
    opened.memory_reset()
    assert opened.memory_peak_bytes() == 4096
    assert torch.asked == [(kind, name, (kind, 1)) for name in ("synchronize", "reset", "peak")]


def segment(device, pool, total, allocated):
    """Return what the allocator says of one of its segments, as far as it is read."""
    return {"device": device, "segment_pool_id": pool, "total_size": total, "allocated_size": allocated}


def test_the_peak_contains_what_cuda_graphs_keep(torch):
    """A replay allocates nothing: on an H200 a model took 78 MB by its allocations, and 191 while it was recorded."""
    segments = [
        segment(1, (0, 0), 50_000, 4096),  # its cache: free for anything
        segment(1, (0, 7), 10_000, 1000),
        segment(1, (0, 8), 500, 0),
        segment(0, (0, 7), 70_000, 0),  # another GPU
    ]
    torch.cuda.memory_snapshot = lambda: segments
    opened = ACCELERATORS["cuda"].open(1)
    assert opened.memory_peak_bytes() == 4096, "the allocator sees the memory of a graph that is being recorded"
    opened.memory_reset()
    assert opened.memory_peak_bytes() == 4096 + 9000 + 500
    torch.cuda.max_memory_reserved = lambda device: 12_000
    assert opened.memory_peak_bytes() == 12_000


@pytest.mark.parametrize("kind", ["cuda", "xpu"])
def test_pure_wall_time_is_the_sum_of_the_spans_between_events(torch, kind):
    """What happens between the spans does not count, and the device has finished before they are read."""
    timer = ACCELERATORS[kind].open(0).timer()
    for _ in range(3):
        timer.begin()
        timer.end()
        Event.clock += 9000.0
    assert timer.seconds() == pytest.approx(0.75)
    assert torch.asked[-1] == (kind, "synchronize")
    assert timer.seconds() == 0.0


def test_the_cpu_has_neither_events_nor_memory_of_its_own(torch):
    opened = ACCELERATORS["cpu"].open(None)
    opened.synchronize()
    opened.memory_reset()
    assert (opened.device, opened.timer(), opened.memory_peak_bytes()) == (("cpu", None), None, None)
    assert torch.asked == []


@pytest.fixture
def xla(monkeypatch):
    """A torch_xla with a TPU."""
    asked = []
    model = types.ModuleType("torch_xla.core.xla_model")
    model.wait_device_ops = lambda: asked.append("wait")
    model.info = {"bytes_used": 5, "peak_bytes_used": 7}
    model.get_memory_info = lambda device: asked.append(device) or model.info
    package, core = types.ModuleType("torch_xla"), types.ModuleType("torch_xla.core")
    package.device = lambda: "xla:0"
    core.xla_model = model
    for name, module in (("torch_xla", package), ("torch_xla.core", core), ("torch_xla.core.xla_model", model)):
        monkeypatch.setitem(sys.modules, name, module)
    model.asked = asked
    return model


def test_a_tpu_waits_and_tells_its_memory_through_pytorch_xla(xla):
    opened = ACCELERATORS["tpu"].open(None)
    opened.synchronize()
    opened.memory_reset()
    assert (opened.device, opened.timer(), opened.memory_peak_bytes()) == ("xla:0", None, 7)
    assert xla.asked == ["wait", "xla:0"]


def test_a_runtime_that_does_not_tell_its_peak_has_none(xla):
    """Never 0."""
    xla.info = {"bytes_used": 5}
    assert ACCELERATORS["tpu"].open(None).memory_peak_bytes() is None
