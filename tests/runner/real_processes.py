"""One experiment in a real benchmark process: what the tests of backends and of their settings share."""

import io
import sys
import uuid
from pathlib import Path

import pytest
from runner_makers import entry, facts, settings

from runner.backends import BACKENDS
from runner.environments.machine import detect
from runner.schedule.groups import Group, Member
from runner.schedule.pool import Pool
from runner.schedule.progress import ProgressView
from runner.schedule.scheduler import Scheduler

HERE = detect()
ITERATIONS = 2
FACTS = facts(settings=settings(repeat=5, iterations_per_run=ITERATIONS, threads=2))
LINEAR = {"model": "linear", "suite_name": "telling"}
"""The smallest model, for what does not depend on one: XLA compiles the suite `dummy`'s for seconds."""
ROOT = Path(__file__).resolve().parents[2]
NEEDS = [
    pytest.mark.slow,
    pytest.mark.skipif(not {"torch", "torch_xla"} <= set(HERE.packages), reason="torch and torch_xla are needed"),
    pytest.mark.skipif(HERE.toolchain_missing() is not None, reason=str(HERE.toolchain_missing())),
]


def server(folder, user_cache):
    """Start one server for all; its environment names another device and a cache, which no child may use."""
    preload = [module for backend in BACKENDS.values() for module in backend.preload]
    made = Pool(
        run_id=str(uuid.uuid4()),
        python=sys.executable,
        preload=tuple(dict.fromkeys(preload)),
        probe=True,
        start="fork",
        log=folder / "server.log",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PJRT_DEVICE", "NO_SUCH_DEVICE")
        patch.setenv("XLA_FLAGS", "--no_such_flag")
        patch.setenv("XLA_PERSISTENT_CACHE_PATH", str(user_cache))
        patch.setenv("XLABENCH_SUITES", "tests.runner.telling_suite:SUITE")
        patch.setenv("PYTHONPATH", str(ROOT))
        made.prepare()
    return made


def measure_with(pool, folder):
    """Return a function that measures one experiment in a process of its own; the same one is measured once."""
    known = {}

    def run(backend, model="dummy", test="eval", status="ok", **changes):
        of = entry(backend, model, test=test, **changes)
        if of.experiment_id not in known:
            written = []
            Scheduler(
                facts={"default": FACTS},
                pools={"default": pool},
                folder=folder,
                write=written.append,
                progress=ProgressView(stream=io.StringIO(), members=[Member(of)]),
            ).measure(Group(name=of.group, entries=(of,), attempt=1))
            known[of.experiment_id] = written[0]
        record = known[of.experiment_id]
        assert record.status == status, record.error
        return record

    return run


def steady(record, values):
    """Return those of one value per block that belong to steady ones."""
    return [value for value, kind in zip(values, record.measurement.blocks.kind, strict=True) if kind == "steady"]
