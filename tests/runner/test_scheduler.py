"""The order of a conversation, and what becomes of each way it can end; the pool is a fake."""

import io
import signal
import time
import types

import pytest
from runner_makers import PAIRS, entry, facts, loaded, report, settings

from runner.messages import Exactly, Failed, Finish, Load, Turn, TurnDone, WarmedUp, WarmUp
from runner.pool import ChildGone, ServerGone, TimedOut
from runner.progress import ProgressView
from runner.resume import Group
from runner.scheduler import Scheduler
from store.record import Error

STEADY, SPOILT = TurnDone(steady=True), TurnDone(steady=False)
WARM, NEVER = WarmedUp(steady=True, blocks=5), WarmedUp(steady=False, blocks=50)
GOOD = (loaded(), WARM, STEADY, report())


class FakePool:
    """Processes that give the answers of a script, one script per process."""

    hello = None

    def __init__(self, *scripts, status=0):
        self.scripts, self.status = list(scripts), status
        self.asked, self.spawned, self.ended, self.killed, self.stopped, self.ready = [], [], [], [], 0, None

    def prepare(self):
        time.sleep(0.02)
        self.ready = time.monotonic()

    def spawn(self, variables, log):
        log.touch()
        self.spawned.append(dict(variables))
        script = iter(self.scripts.pop(0))
        return types.SimpleNamespace(pid=1, phase="load", log=log, script=script)

    def ask(self, process, command, deadline, on_phase):
        self.asked.append(command)
        answer = next(process.script)
        if isinstance(answer, tuple):
            process.phase, answer = answer
        if isinstance(answer, type) and issubclass(answer, BaseException):
            raise answer
        return answer

    def end(self, process):
        self.ended.append(process)
        return self.status

    def kill(self, process):
        self.killed.append(process)

    def stop(self):
        self.stopped += 1


@pytest.fixture
def measure(tmp_path):
    """Measure a group of eager experiments with a pool; return their records."""

    def run(pool, *entries, attempt=1, **chosen):
        entries = entries or (entry(),)
        written = []
        scheduler = Scheduler(
            facts=facts(settings=settings(**chosen)),
            pool=pool,
            folder=tmp_path,
            torchbench_dir=None,
            write=written.append,
            progress=ProgressView(stream=io.StringIO(), entries=entries),
        )
        scheduler.measure(Group(name="g", entries=tuple(entries), attempt=attempt))
        return written

    return run


def test_a_conversation_is_load_warm_up_turn_finish(measure):
    pool = FakePool(GOOD)
    (record,) = measure(pool, repeat=7, attempt=2)
    assert (record.status, record.attempt) == ("ok", 2)
    assert [type(each) for each in pool.asked] == [Load, WarmUp, Turn, Finish]
    assert pool.asked[2] == Turn(7, 0)
    assert (len(pool.ended), pool.killed) == (1, [])


def test_a_spoilt_turn_is_warmed_up_and_taken_again(measure):
    pool = FakePool((loaded(), WARM, SPOILT, WARM, STEADY, report()))
    assert measure(pool)[0].status == "ok"
    assert [type(each) for each in pool.asked] == [Load, WarmUp, Turn, WarmUp, Turn, Finish]


def test_the_preset_peer_takes_exactly_its_blocks(measure):
    pool = FakePool((loaded(), WARM, report()))
    assert measure(pool, preset="peer", repeat=7)[0].status == "ok"
    assert pool.asked[1:] == [Exactly(7), Finish()]


def test_past_the_bound_no_turn_is_taken(measure):
    pool = FakePool((loaded(), NEVER, report(times=(1.0, 0.9), warm=1)))
    (record,) = measure(pool)
    assert (record.status, record.error) == ("never_steady", None)
    assert record.metrics["total_time"] == [1.0, 0.9]


def test_an_invalid_report_is_an_invalid_record_that_keeps_its_numbers(measure):
    (record,) = measure(FakePool((loaded(), WARM, STEADY, report(invalid="nothing was computed"))))
    assert (record.status, record.error.type) == ("invalid", "InvalidMeasurement")
    assert record.metrics["error"] == "InvalidMeasurement: nothing was computed"
    assert len(record.metrics["total_time"]) == 8


@pytest.mark.parametrize("said", range(4))
def test_a_failure_at_any_point_ends_the_conversation(measure, said):
    failed = Failed(status="oom", error=Error(phase="warmup", type="MemoryError", message="no memory"))
    pool = FakePool((*GOOD[:said], failed))
    (record,) = measure(pool)
    assert (record.status, record.error.message) == ("oom", "no memory")
    assert (len(pool.asked), len(pool.ended)) == (said + 1, 1)


def test_what_a_failing_process_has_measured_stays(measure):
    error = Error(phase="warmup", type="ValueError", message="no")
    part = report(times=(1.0, 0.9), warm=1)
    (record,) = measure(FakePool((loaded(), Failed(status="run_error", error=error, report=part))))
    assert record.metrics == {"total_time": [1.0, 0.9], "per_iter_time": [1.0, 0.9], "error": "ValueError: no"}


def test_a_process_that_dies_is_a_crash_with_its_signal_and_phase(measure):
    pool = FakePool((loaded(), ("compile", ChildGone)), status=int(signal.SIGSEGV))
    (record,) = measure(pool)
    assert (record.status, record.error.type, record.error.phase) == ("crashed", "SIGSEGV", "compile")
    assert record.experiment.batch_size == 16
    assert len(pool.ended) == 1


def test_a_process_without_an_end_is_killed_and_a_timeout(measure):
    pool = FakePool((loaded(), ("warmup", TimedOut)))
    (record,) = measure(pool, timeout_s=60.0)
    assert (record.status, record.error.phase) == ("timeout", "warmup")
    assert "after 60 s" in record.error.message
    assert (len(pool.killed), len(pool.ended)) == (1, 1)


def test_the_death_of_the_server_is_tried_once_more(measure):
    """The experiment is not to blame."""
    pool = FakePool((loaded(), ServerGone), GOOD)
    (record,) = measure(pool)
    assert (record.status, pool.stopped) == ("ok", 1)


def test_a_server_that_dies_twice_is_the_experiments_crash(measure):
    pool = FakePool((loaded(), ServerGone), (loaded(), ServerGone), GOOD)
    (record, after) = measure(pool, entry("eager"), entry("eager", "dummy_nonzero"))
    assert (record.status, after.status) == ("crashed", "ok")
    assert "fork server died 2 times" in record.error.message


def test_an_interruption_kills_the_process_and_is_passed_on(measure):
    pool = FakePool((loaded(), KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        measure(pool)
    assert (len(pool.killed), len(pool.ended)) == (1, 1)


def test_one_failure_does_not_stop_the_group(measure):
    pool = FakePool((loaded(), ChildGone), GOOD, GOOD)
    entries = [entry("eager"), entry("inductor"), entry("openxla+lazytensor")]
    assert [each.status for each in measure(pool, *entries)] == ["crashed", "ok", "ok"]


def test_the_batch_size_is_resolved_once_for_the_group(measure):
    """By the first that could be loaded; a model may choose another one per device otherwise."""
    failed = Failed(status="load_error", error=Error(phase="load", type="ValueError", message="no"))
    first, other = ((loaded(batch_size=size), *GOOD[1:]) for size in (32, 64))
    pool = FakePool((failed,), first, other, GOOD)
    measure(pool, *map(entry, PAIRS))
    assert [each.batch_size for each in pool.asked if isinstance(each, Load)] == [None, None, 32, 32]


def test_a_requested_batch_size_is_asked_for(measure):
    pool = FakePool(GOOD)
    measure(pool, entry(batch_size=4))
    assert pool.asked[0].batch_size == 4


def test_the_start_of_the_server_is_no_part_of_an_experiments_start(measure):
    """Else the first experiment of every run would seem slow to start."""
    pool = FakePool(GOOD)
    measure(pool)
    assert pool.asked[0].requested_at >= pool.ready


def test_each_experiment_has_caches_of_its_own_that_do_not_stay(measure):
    pool = FakePool(GOOD, GOOD)
    measure(pool, entry("inductor"), entry("inductor", "dummy_nonzero"))
    folders = [variables["TORCHINDUCTOR_CACHE_DIR"] for variables in pool.spawned]
    assert len(set(folders)) == 2
    assert not any(map(_parent_exists, folders))


def _parent_exists(folder):
    from pathlib import Path

    return Path(folder).parent.exists()


@pytest.mark.parametrize("backend", PAIRS)
def test_the_log_is_an_artifact_of_the_record(measure, backend, tmp_path):
    (record,) = measure(FakePool(GOOD), entry(backend))
    (log,) = record.artifacts
    assert (log.kind, log.bytes, (tmp_path / log.path).exists()) == ("log", 0, True)
