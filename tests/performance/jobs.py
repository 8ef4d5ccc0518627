"""How long a submitted job waits until its process exists, with a real worker: p50 below 200 ms on this machine.

python tests/performance/jobs.py [--times N]
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from runner.home.settings_file import Person  # noqa: E402
from runner.jobs.queue import JobQueue, owner  # noqa: E402
from runner.jobs.request import (  # noqa: E402
    JobRequest,
    RunRequest,
    Selection,
)

LIMIT_MS = 200
PATIENCE_S = 60
REQUEST = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",), only=("dummy_nonzero",)))


def waited(done, what: str):
    """Return what `done` gives once it gives something."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := done()):
        if time.monotonic() > deadline:
            raise SystemExit(f"{what}: not within {PATIENCE_S} s")
        time.sleep(0.005)
    return found


def command_of(job_queue: JobQueue, job_id: int) -> psutil.Process | None:
    """Return the process of the job's command, `xlabench run`."""
    job = job_queue.job(job_id)
    if job is None or job.pid is None:
        return None
    children = psutil.Process(job.pid).children()
    return children[0] if children else None


def once(job_queue: JobQueue) -> tuple[float, float]:
    """Submit a job; return the milliseconds of the call, and until the command's process has been seen."""
    before = time.time()
    job_id = job_queue.submit(JobRequest(request=REQUEST, label="latency")).job_id
    called = time.time()
    waited(lambda: command_of(job_queue, job_id), "the job's process")
    seen = time.time()
    job_queue.cancel(job_id)
    waited(lambda: job_queue.job(job_id).state == "cancelled", "the end of the job")
    return 1e3 * (called - before), 1e3 * (seen - before)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    times = parser.parse_args().times
    with tempfile.TemporaryDirectory() as folder:
        job_queue = JobQueue(Path(folder), Person("bench"))
        command = [sys.executable, "-m", "xlabench", "worker", "--home", folder]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as worker:
            try:
                waited(lambda: owner(job_queue.home), "the worker")
                time.sleep(0.5)
                found = [once(job_queue) for _ in range(times + 1)][1:]  # the first also imports
                resident = psutil.Process(worker.pid).memory_info().rss / 2**20
            finally:
                worker.terminate()
    calls, seen = zip(*found, strict=True)
    p50 = statistics.median(seen)
    print(f"submit call: p50 {statistics.median(calls):.1f} ms, most {max(calls):.1f} ms")
    print(f"submit to the job's process: p50 {p50:.0f} ms, most {max(seen):.0f} ms (n = {times})")
    print(f"worker: {resident:.0f} MiB resident")
    return 0 if p50 < LIMIT_MS else 1


if __name__ == "__main__":
    raise SystemExit(main())
