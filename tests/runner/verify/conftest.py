"""Verifies modules in this process, with eager's backend and one that a test distorts."""

import pytest
from runner_makers import config, settings
from verify_makers import Distorting, Suite

from runner.backends.host import Eager
from runner.messages import Load
from runner.verify import copies, process

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _as_before():
    """Put the process's settings back."""
    cudnn, precision = torch.backends.cudnn, torch.get_float32_matmul_precision()
    flags = (cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32)
    yield
    torch.use_deterministic_algorithms(False)
    torch.set_float32_matmul_precision(precision)
    cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32 = flags


@pytest.fixture
def check(monkeypatch):
    """Verify a module under a backend; the pair (None, None) is eager, every other one the backend given."""

    def run(
        make=lambda: torch.nn.Linear(4, 4),
        change=None,
        suite=None,
        invalid=None,
        batch_size=None,
        backend=None,
        timed=None,
        shared=None,
        **changes,
    ):
        suite = suite or Suite(make)
        backends = {None: Eager(), "inductor": backend or Distorting(change, invalid)}
        chosen = {name: changes.pop(name) for name in list(changes) if name in settings().__struct_fields__}
        of = config("inductor", "m", **{"suite_name": "of_a_test", **changes})
        monkeypatch.setattr(copies, "get_suite", lambda name: suite)
        for module in (copies, process):
            monkeypatch.setattr(module, "backend_of", lambda xla, dynamo, xla2=None: backends[dynamo])
        load = Load(
            config=of, settings=settings(**chosen), batch_size=batch_size, torchbench_dir=None, requested_at=0.0
        )
        return process.verify(load, timed, shared)

    return run
