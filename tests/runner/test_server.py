"""The fork server, for real."""

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import psutil
import pytest
from runner_makers import config, settings

from runner.backends import BACKENDS
from runner.messages import Finish, Load, Loaded, ProcessReport, WarmedUp, WarmUp
from runner.schedule.pool import ChildGone, Pool
from tests.command import ROOT
from tests.runner.test_processes import gone, wait_for

pytestmark = pytest.mark.slow
pytest.importorskip("torch")

PRELOAD = tuple(dict.fromkeys(module for backend in BACKENDS.values() for module in backend.preload))
THREADS = "import os; print(len(os.listdir('/proc/self/task')))"


def make_pool(folder, preload=(), **changes):
    fields = {"run_id": str(uuid.uuid4()), "python": sys.executable, "preload": preload, "probe": False}
    return Pool(**{**fields, "start": "fork", "log": folder / "server.log", **changes})


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """A server that has imported what all backends need."""
    temporary = tmp_path_factory.mktemp("temporary")
    made = make_pool(tmp_path_factory.mktemp("server"), PRELOAD, variables={"TMPDIR": str(temporary)})
    made.prepare()
    yield made
    made.stop()


@pytest.fixture
def small(tmp_path):
    """A server that the test may end."""
    made = make_pool(tmp_path, variables={"PYTHONPATH": without_torch(tmp_path)})
    made.prepare()
    yield made
    made.stop()


def without_torch(folder):
    """Return a path on which torch is an empty module, which is there at once: it is no matter how a server ends."""
    (folder / "torch.py").write_text("__version__ = ''")
    return f"{folder}{os.pathsep}{ROOT}"


def ask(pool, process, command, seconds=60.0):
    return pool.ask(process, command, time.monotonic() + seconds, lambda _phase: None)


def load(**changes):
    """A model whose matrix products are worth several threads."""
    return Load(
        config=config(batch_size=2048),
        settings=settings(threads=2, **changes),
        batch_size=2048,
        torchbench_dir=None,
        requested_at=time.monotonic(),
    )


def test_it_says_hello_with_its_cost(pool):
    assert pool.hello.import_s > 0.1
    assert pool.hello.probe_s is None


def test_what_it_imports_leaves_no_temporary_file_behind(pool):
    assert list(Path(pool.variables["TMPDIR"]).iterdir()) == []


def test_it_holds_no_more_threads_than_numpy_and_scipy_do(pool):
    """A thread of torch's in the server would be missing in each child, which then hangs."""
    code = f"import numpy, scipy.linalg; {THREADS}"
    bare = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert psutil.Process(pool.server.pid).num_threads() <= int(bare.stdout)


def test_it_holds_no_compile_workers(pool):
    assert psutil.Process(pool.server.pid).children(recursive=True) == []


def test_children_one_after_the_other_run_multi_threaded_operations(pool, tmp_path):
    """The server has run none, so that none of them hangs in libgomp."""
    before = psutil.Process(pool.server.pid).num_threads()
    for number in range(2):
        process = pool.spawn({}, tmp_path / f"{number}.log")
        answer = ask(pool, process, load())
        assert isinstance(answer, Loaded)
        assert answer.threads == 2
        assert isinstance(ask(pool, process, WarmUp()), WarmedUp)
        assert psutil.Process(process.pid).num_threads() > 1
        assert isinstance(ask(pool, process, Finish()), ProcessReport)
        assert pool.end(process) == 0
    assert psutil.Process(pool.server.pid).num_threads() <= before


@pytest.mark.thorough
def test_a_child_is_a_session_of_its_own_with_its_own_log_and_variables(pool, tmp_path):
    process = pool.spawn({"OMP_EXAMPLE": "42"}, tmp_path / "log")
    assert ask(pool, process, load()).variables["OMP_EXAMPLE"] == "42"
    assert os.getsid(process.pid) == process.pid
    assert Path(f"/proc/{process.pid}/fd/1").readlink() == tmp_path / "log"
    pool.end(process)
    assert gone(process.pid)


def test_the_signal_that_killed_a_child_is_known(pool, tmp_path):
    process = pool.spawn({}, tmp_path / "log")
    os.kill(process.pid, signal.SIGABRT)
    with pytest.raises(ChildGone):
        ask(pool, process, load())
    assert os.waitstatus_to_exitcode(pool.end(process)) == -signal.SIGABRT


def test_sigterm_ends_the_server_and_all_below_it(small, tmp_path):
    """Stopped children too: they would not hear anything gentler than SIGKILL."""
    server = small.server.pid
    children = [small.spawn({}, tmp_path / "log") for _ in range(2)]
    os.kill(children[0].pid, signal.SIGSTOP)
    os.kill(server, signal.SIGTERM)
    assert wait_for(lambda: all(gone(pid) for pid in [server, *(child.pid for child in children)]))


def test_the_end_of_the_pipe_ends_the_server_and_all_below_it(small, tmp_path):
    server = small.server.pid
    children = [small.spawn({}, tmp_path / "log") for _ in range(2)]
    os.kill(children[0].pid, signal.SIGSTOP)
    small._control.close()
    assert wait_for(lambda: all(gone(pid) for pid in [server, *(child.pid for child in children)]))


SCHEDULER = """
import sys, time
from pathlib import Path
from runner.schedule.pool import Pool
folder = Path(sys.argv[1])
pool = Pool(run_id=sys.argv[2], python=sys.executable, preload=(), probe=False, start="fork", log=folder / "server.log")
process = pool.spawn({}, folder / "log")
print(pool.server.pid, process.pid, flush=True)
time.sleep(60)
"""


def test_a_scheduler_that_is_killed_leaves_nobody(tmp_path):
    """It can tell no one; the server asks the kernel, and its children do."""
    command = [sys.executable, "-c", SCHEDULER, str(tmp_path), str(uuid.uuid4())]
    environment = os.environ | {"PYTHONPATH": without_torch(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as scheduler:
        pids = [int(word) for word in scheduler.stdout.readline().split()]
        assert not any(map(gone, pids))
        scheduler.kill()
        assert wait_for(lambda: all(map(gone, pids)))
