"""Instruments whose device or clock is a fake: what they ask of it, and when."""

import types
from pathlib import Path

import pytest
from real import load_of
from runner_makers import config, settings

from runner.instrument import dumps, process
from runner.instrument.passes import Bench
from runner.messages import Instrument


@pytest.fixture
def bench(tmp_path):
    def make(name, **chosen):
        load = load_of(config("openxla+lazytensor"), settings(**chosen))
        return Bench(Instrument(load=load, instruments=(name,), folder=str(tmp_path), limit_bytes=1 << 20))

    return make


def test_memory_is_recorded_from_before_the_first_compilation(bench, monkeypatch):
    said = []
    memory = types.SimpleNamespace(
        _record_memory_history=lambda **arguments: said.append(arguments),
        _dump_snapshot=lambda path: said.append(Path(path).name),
    )
    monkeypatch.setattr("torch.cuda.memory", memory)
    tool = dumps.MemorySnapshot(bench("memory_snapshot"))
    tool.before_first()
    tool.finish()
    assert said == [{}, "memory-snapshot.pickle", {"enabled": None}]


def test_a_snapshot_of_memory_is_listed_with_its_kind(bench, monkeypatch):
    """It covers the whole run, and is written where the run fails, too."""
    said = []

    class Run:
        def __init__(self, *_):
            said.append("made")

        def load(self):
            said.append("loaded")

        def run(self):
            said.append("ran")
            raise MemoryError("CUDA out of memory")

    memory = types.SimpleNamespace(
        _record_memory_history=lambda **arguments: said.append(arguments),
        _dump_snapshot=lambda path: Path(path).write_bytes(b"12345"),
    )
    monkeypatch.setattr("torch.cuda.memory", memory)
    monkeypatch.setattr(process, "Session", Run)
    found = process.instrument(bench("memory_snapshot").command)
    assert said == ["made", "loaded", {}, "ran", {"enabled": None}]
    (artifact,) = found.artifacts
    assert (artifact.kind, artifact.path, artifact.bytes) == ("memory_snapshot", "memory-snapshot.pickle", 5)
    assert found.warnings == ["the instrumented run failed: MemoryError: CUDA out of memory"]


@pytest.fixture
def profiled(bench, monkeypatch):
    """Profile three blocks of 100 ms each; return what the profiler was told, by block."""
    profiler = pytest.importorskip("torch_xla.debug.profiler")
    said, clock = [], types.SimpleNamespace(now=0.0)
    monkeypatch.setattr(profiler, "start_trace", lambda folder: said.append("start"))
    monkeypatch.setattr(profiler, "stop_trace", lambda: said.append("stop"))
    monkeypatch.setattr(process, "time", types.SimpleNamespace(monotonic=lambda: clock.now))

    def run(duration_ms):
        tool = process.XlaProfile(bench("profile_xla", profile_xla_duration_ms=duration_ms))
        for repeat in range(3):
            tool.begin()
            clock.now += 0.1
            said.append(repeat)
            tool.end(repeat)
        tool.finish()
        return said

    return run


def test_the_xla_profile_ends_after_its_duration(profiled):
    assert profiled(150) == ["start", 0, 1, "stop", 2]


def test_the_xla_profile_ends_with_the_run_at_the_latest(profiled):
    assert profiled(5000) == ["start", 0, 1, 2, "stop"]
