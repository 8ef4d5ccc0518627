"""Make the runner's makers importable; a server and real benchmark processes for those tests that need them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _own_priority(monkeypatch):
    """A measurement inside of a test must not raise the priority of the tests themselves."""
    monkeypatch.setattr("runner.process.measure.raise_priority", lambda: "libraries")


@pytest.fixture(autouse=True)
def _nobody_is_watched(monkeypatch):
    """Who disturbs a turn is named after a quarter of a second's look at all processes: test_quiet.py takes one."""
    monkeypatch.setattr("runner.environments.others.programs", lambda *_, **__: [])


@pytest.fixture
def below(monkeypatch):
    """What runs below the tests is no matter where the benchmark processes are fakes: a browser has many threads."""
    monkeypatch.setattr("runner.environments.proc.KernelFiles.tree", lambda _, root: [root])


@pytest.fixture(scope="session")
def user_cache(tmp_path_factory):
    """A persistent cache folder that the user's own environment names."""
    return tmp_path_factory.mktemp("user_cache")


@pytest.fixture(scope="session")
def pool(tmp_path_factory, user_cache):
    """A server that all modules share: each would wait seconds for one of its own."""
    from real_processes import server

    made = server(tmp_path_factory.mktemp("server"), user_cache)
    yield made
    made.stop()


@pytest.fixture(scope="session")
def measure(pool, tmp_path_factory):
    """Measure one experiment in a process of its own; return its record. The same one is measured once."""
    from real_processes import measure_with

    return measure_with(pool, tmp_path_factory.mktemp("run"))
