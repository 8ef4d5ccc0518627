"""The order of a conversation, and what becomes of each way it can end; the pool is a fake."""

import io
import signal
import time
import types
from pathlib import Path

import msgspec
import pytest
from runner_makers import ENVIRONMENT, PAIRS, entry, facts, loaded, report, settings

from runner.environments.others import Taken
from runner.messages import (
    Failed,
    Finish,
    Garbled,
    Load,
    MeasuredTimes,
    Probed,
    Turn,
    TurnDone,
    TurnFacts,
    WarmedUp,
    WarmUp,
)
from runner.schedule import job
from runner.schedule.benchmark_process import PrintedTooMuch
from runner.schedule.groups import Group, Member
from runner.schedule.memory import MachineFull, MemoryExceeded
from runner.schedule.pool import ChildGone, ServerGone, TimedOut
from runner.schedule.progress import ProgressView
from runner.schedule.quiet import QuietRun
from runner.schedule.scheduler import History, Scheduler
from store.record import Error

pytestmark = pytest.mark.usefixtures("below")
STEADY, SPOILT = TurnDone(steady=True), TurnDone(steady=False)
WARM = WarmedUp(steady=True, blocks=5)
GOOD = (loaded(), WARM, STEADY, report())


def waiting(wait_s, held=0.0):
    """A turn of a second whose threads waited, and whose probes did."""
    probe = Probed(seconds=[1.0], wait_share=held)
    return TurnDone(steady=True, facts=TurnFacts(blocks=2, seconds=1.0, wait_s=wait_s, probes=[probe, probe]))


class FakePool:
    """Processes that give the answers of a script, one script per process."""

    hello = None

    def __init__(self, *scripts, status=0):
        self.scripts, self.status = list(scripts), status
        self.asked, self.spawned, self.ended, self.killed, self.stopped, self.ready = [], [], [], [], 0, None
        self.logs, self.starts, self.filled = [], [], []
        self.quiet = QuietRun()

    def prepare(self, start=None):
        time.sleep(0.02)
        self.ready = time.monotonic()

    def spawn(self, variables, log, start=None):
        log.write_text("printed\n")
        self.logs.append(log.name)
        self.starts.append(start)
        self.spawned.append(dict(variables))
        script = iter(self.scripts.pop(0))
        return types.SimpleNamespace(pid=1, phase="load", measured=None, log=log, script=script)

    def ask(self, process, command, deadline, on_phase, watch=None):
        self.asked.append(command)
        answer = next(process.script)
        if isinstance(answer, MeasuredTimes):
            process.measured, answer = answer.report, next(process.script)
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

    def pause(self, process):
        pass

    def resume(self, process):
        pass

    def held_bytes(self, process):
        return 1

    def lost(self, process):
        self.stopped += 1


def of(name, chosen):
    """Return the facts of an environment."""
    environment = msgspec.structs.replace(ENVIRONMENT, name=name)
    return facts(settings=settings(**chosen), environment=environment)


@pytest.fixture
def measure(tmp_path):
    """Measure a group of eager experiments with a pool; return their records."""

    def run(pool, *entries, attempt=1, history=None, others=None, shown=None, **chosen):
        entries, shown = entries or (entry(),), shown or io.StringIO()
        pools = {"default": pool, **(others or {})}
        written = []
        # One entry after the other, in one turn, is what most tests are about; others say how.
        chosen = {"interleave": "off", "rounds": 1, "quiet": True, **chosen}
        replicas = settings(**chosen).replicas
        scheduler = Scheduler(
            facts={name: of(name, chosen) for name in pools},
            pools=pools,
            folder=tmp_path,
            write=written.append,
            progress=ProgressView(stream=shown, members=[Member(each) for each in entries], replicas=replicas),
            history=history or History(),
        )
        scheduler.measure(Group(name="g", entries=tuple(entries), attempt=attempt))
        return written

    return run


def test_a_conversation_is_load_warm_up_turn_finish(measure):
    pool = FakePool(GOOD)
    (record,) = measure(pool, repeat=7, attempt=2)
    assert (record.status, record.attempt) == ("ok", 2)
    assert [type(each) for each in pool.asked] == [Load, WarmUp, Turn, Finish]
    assert pool.asked[2] == Turn(7, 0, 1, stopped=False)
    assert (len(pool.ended), pool.killed) == (1, [])


def test_without_interleaving_turns_are_judged_one_by_one_and_disturbed_ones_taken_again(measure):
    """The third turn waits beside another program: it is taken again at once, and the process is told."""
    pool = FakePool((loaded(), WARM, *[waiting(wait_s) for wait_s in (0.0, 0.0, 0.9, 0.0)], report()))
    pool.quiet.others = types.SimpleNamespace(look=lambda: Taken(cpus=1.0, steal_share=0.0, throttled_s=0.0), root=1)
    (record,) = measure(pool, repeat=6, rounds=3)
    assert [each.disturbed for each in pool.asked if isinstance(each, Turn)] == [(), (), (), (2,)]
    assert pool.asked[-1] == Finish((2,))
    assert record.measurement.quiet.turns.reason == [None, None, "other programs", None]
    assert [each.code for each in record.findings][:1] == ["disturbed_turns"]


@pytest.mark.parametrize(("accelerator", "share"), [("cpu", 0.04), ("cuda", None)])
def test_a_time_is_without_what_others_delayed_it_and_says_so(measure, monkeypatch, accelerator, share):
    """Four turns alone, then four next to a program that makes a thread wait for 4 % of the time."""
    monkeypatch.setattr(job, "Gpu", lambda _: None)
    times = (1.0, 0.5, *(0.1,) * 16)
    answers = [waiting(0.0)] * 4 + [waiting(0.04)] * 4
    pool = FakePool((loaded(), WARM, *answers, report(times)))
    alone, busy = Taken(cpus=0.0, steal_share=0.0, throttled_s=0.0), Taken(cpus=1.0, steal_share=0.0, throttled_s=0.0)
    looks = iter([alone] * 5 + [busy] * 4)
    pool.quiet.others = types.SimpleNamespace(look=lambda: next(looks), root=1, sees_machine=True)
    (record,) = measure(pool, entry(accelerator=accelerator), repeat=16, rounds=8)
    assert record.status == "ok"
    steady = record.metrics["total_time"][2:]
    assert steady == pytest.approx([0.1] * 8 + [0.1 * (1 - (share or 0.0))] * 8)
    removed = record.measurement.blocks.removed_s
    assert len(removed) == (len(times) if share else 0)
    if share:
        measured = [time + less for time, less in zip(record.metrics["total_time"], removed, strict=True)]
        assert measured == pytest.approx(times)
    found = [each.text for each in record.findings if each.code == "delays_removed"]
    assert found == ["other programs delayed a thread for 2.0% of the time, which was subtracted"] * bool(share)


def test_too_few_quiet_turns_are_no_result(measure):
    pool = FakePool((loaded(), WARM, *[waiting(0.9, held=0.5)] * 15, report()))
    pool.quiet.others = types.SimpleNamespace(look=lambda: Taken(cpus=1.0, steal_share=0.0, throttled_s=0.0), root=1)
    (record,) = measure(pool, repeat=6, rounds=3)
    assert record.status == "disturbed"
    assert record.error is None
    (found,) = [each for each in record.findings if each.code == "disturbed"]
    assert "15 of 15 turns were disturbed by other programs" in found.text


def test_without_interleaving_a_process_that_is_not_stable_goes_on_too(measure):
    wanting = TurnDone(steady=True, enough=False)
    pool = FakePool((loaded(), WARM, wanting, wanting, STEADY, report()))
    (record,) = measure(pool, repeat=10, until_stable=0.01)
    assert record.status == "ok"
    assert [each for each in pool.asked if isinstance(each, Turn)] == [Turn(10, 0, 1, stopped=False)] * 3


def test_a_spoilt_turn_is_warmed_up_and_taken_again(measure):
    pool = FakePool((loaded(), WARM, SPOILT, WARM, STEADY, report()))
    assert measure(pool)[0].status == "ok"
    assert [type(each) for each in pool.asked] == [Load, WarmUp, Turn, WarmUp, Turn, Finish]


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


RAISED = Failed(status="run_error", error=Error(phase="verify", type="SystemExit", message="it left"), report=report())


@pytest.mark.parametrize(
    ("end", "decided_by", "says"),
    [
        (TimedOut, "timeout", "still in phase verify after 60 s"),
        (ChildGone, "crashed", "killed by SIGSEGV"),
        (RAISED, "run_error", "it left"),
    ],
)
def test_times_survive_a_further_iteration_that_hangs_or_dies_and_are_not_verified(measure, end, decided_by, says):
    """It has the inputs of the timed ones, so what another process gives for these is no evidence: none is asked."""
    pool = FakePool((*GOOD[:3], MeasuredTimes(report()), ("verify", end)), status=int(signal.SIGSEGV))
    (record,) = measure(pool, timeout_s=60.0, verify="with")
    assert (record.status, record.error) == ("ok", None)
    assert record.steady_s() == [0.1] * 6
    assert (record.verification_code, record.verification.decided_by) == ("VERIFIER_DIDNT_RUN", decided_by)
    assert says in record.verification.error.message
    assert [text for text in record.warnings if "its times are complete" in text and says in text]
    assert len(pool.ended) == 1


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


def test_the_batch_size_is_resolved_once_for_the_group(measure):
    """By the first that could be loaded; a model may choose another one per device otherwise."""
    failed = Failed(status="load_error", error=Error(phase="load", type="ValueError", message="no"))
    first, other = ((loaded(batch_size=size), *GOOD[1:]) for size in (32, 64))
    pool = FakePool((failed,), first, other, GOOD)
    measure(pool, *map(entry, PAIRS))
    assert [each.batch_size for each in pool.asked if isinstance(each, Load)] == [None, None, 32, 32]


def test_the_start_of_the_server_is_no_part_of_an_experiments_start(measure):
    """Else the first experiment of every run would seem slow to start."""
    pool = FakePool(GOOD)
    measure(pool)
    assert pool.asked[0].requested_at >= pool.ready


def in_environment(name, backend="eager", **changes):
    return msgspec.structs.replace(entry(backend, **changes), environment=name)


def test_each_environment_measures_in_its_own_processes(measure):
    """And its records say which it was; the batch size is resolved once, for all of them."""
    here, there = FakePool((loaded(batch_size=32), *GOOD[1:])), FakePool(GOOD)
    records = measure(here, entry(), in_environment("other"), others={"other": there})
    assert [each.environment.name for each in records] == ["default", "other"]
    assert (len(here.spawned), len(there.spawned)) == (1, 1)
    assert there.asked[0].batch_size == 32
    assert len({each.record_id for each in records}) == 2
    assert records[0].experiment_id == records[1].experiment_id


def test_environments_do_not_share_a_folder(measure):
    records = measure(FakePool(GOOD), entry(), in_environment("other"), others={"other": FakePool(GOOD)})
    assert len({each.artifacts[0].path for each in records}) == 2


def cold_and_warm(backend="inductor"):
    return entry(backend), entry(backend, cache="warm")


def scratch(variables):
    return variables["TORCHINDUCTOR_CACHE_DIR"]


def test_the_cold_one_comes_first(measure):
    """Whatever the plan's order, and straight before its sibling."""
    cold, warm = cold_and_warm()
    pool = FakePool(GOOD, GOOD, GOOD)
    records = measure(pool, warm, entry("eager"), cold)
    assert [each.variant for each in records] == ["inductor", "inductor cache=warm", "eager"]


def test_without_a_cold_sibling_a_first_process_fills_the_caches(measure):
    """It is no measurement: no record, no turn."""
    pool = FakePool((loaded(), WARM), GOOD)
    (record,) = measure(pool, cold_and_warm()[1])
    assert scratch(pool.spawned[0]) == scratch(pool.spawned[1])
    assert pool.logs == ["attempt-1-primer.log", "attempt-1-timed.log"]
    assert [type(each) for each in pool.asked[:3]] == [Load, WarmUp, Load]
    assert [each.path.rsplit("/")[-1] for each in record.artifacts] == ["attempt-1-primer.log", "attempt-1-timed.log"]


def test_a_backend_whose_cache_is_off_while_cold_is_filled_by_a_process_of_its_own(measure):
    """XLA writes its persistent cache only where it is on: the cold one would not be cold with it."""
    pool = FakePool(GOOD, (loaded(), WARM), GOOD)
    measure(pool, *cold_and_warm("openxla+lazytensor"))
    assert [each["XLA_PERSISTENT_CACHE_PATH"] == "" for each in pool.spawned] == [True, False, False]
    assert pool.spawned[1] == pool.spawned[2]


def test_a_failed_cold_one_leaves_nothing_to_its_sibling(measure):
    pool = FakePool((loaded(), ChildGone), (loaded(), WARM), GOOD)
    cold, warm = measure(pool, *cold_and_warm())
    assert (cold.status, warm.status) == ("crashed", "ok")
    assert len({scratch(each) for each in pool.spawned}) == 2


def test_a_process_that_cannot_fill_the_caches_is_the_experiments_failure(measure):
    pool = FakePool((loaded(), ("compile", ChildGone)))
    (record,) = measure(pool, cold_and_warm()[1])
    assert (record.status, record.error.phase) == ("crashed", "compile")


def test_environments_do_not_share_a_cache(measure):
    here, there = FakePool(GOOD, GOOD), FakePool(GOOD, GOOD)
    others = [msgspec.structs.replace(each, environment="other") for each in cold_and_warm()]
    measure(here, *cold_and_warm(), *others, others={"other": there})
    assert len({scratch(each) for each in here.spawned}) == 1
    assert {scratch(each) for each in here.spawned}.isdisjoint({scratch(each) for each in there.spawned})


def test_a_try_that_broke_off_does_not_warm_the_next_one(measure):
    """The server died: what its process had put into the cache is thrown away."""
    pool = FakePool((loaded(), ServerGone), GOOD)
    found = []

    def spawn(variables, log, start=None):
        folder = Path(scratch(variables)).parent
        found.append(list(folder.iterdir()))
        (folder / "half a program").touch()
        return FakePool.spawn(pool, variables, log, start)

    pool.spawn = spawn
    assert measure(pool, entry("inductor"))[0].status == "ok"
    assert found == [[], []]


FAILED_NOW = Failed(status="run_error", error=Error(phase="measure", type="ValueError", message="no"))


def passed(*entries):
    return History(frozenset((each.experiment_id, each.environment) for each in entries), 1)


def test_a_new_failure_has_its_whole_group_measured_again_in_new_interpreters(measure):
    """All members alike, so that they stay comparable; the first attempt's records stay."""
    members = entry("eager"), entry("inductor")
    pool = FakePool(GOOD, (loaded(), FAILED_NOW), GOOD, GOOD)
    records = measure(pool, *members, history=passed(*members))
    assert [(each.attempt, each.status) for each in records] == [(1, "ok"), (1, "run_error"), (2, "ok"), (2, "ok")]
    assert [each.measurement.start for each in records] == ["fork", "fork", "interpreter", "interpreter"]
    assert pool.starts == ["fork", "fork", "interpreter", "interpreter"]
    assert pool.logs[2:] == ["attempt-2-timed.log"] * 2


@pytest.mark.parametrize("tries", [0, 1, 3])
def test_a_failure_that_stays_is_tried_so_often_and_no_more(measure, tries):
    pool = FakePool(*[(loaded(), FAILED_NOW)] * (tries + 1))
    known = History(passed(entry()).passed, tries)
    assert [each.attempt for each in measure(pool, history=known)] == list(range(1, tries + 2))


def test_what_failed_before_or_is_new_is_not_tried_again(measure):
    pool = FakePool((loaded(), FAILED_NOW), GOOD)
    members = entry("eager"), entry("inductor")
    assert len(measure(pool, *members, history=passed(members[1]))) == 2


def test_what_passed_in_another_environment_says_nothing(measure):
    pool = FakePool((loaded(), FAILED_NOW))
    assert len(measure(pool, history=passed(in_environment("other")))) == 1


@pytest.mark.parametrize(("signal", "kind"), [(MemoryExceeded, "MemoryLimit"), (MachineFull, "MachineMemory")])
def test_a_watch_that_ends_the_conversation_is_out_of_memory(measure, signal, kind):
    pool = FakePool((loaded(), ("warmup", signal)))
    (record,) = measure(pool)
    assert (record.status, record.error.type, record.error.phase) == ("oom", kind, "warmup")
    assert "was killed in phase warmup" in record.error.message
    assert (len(pool.killed), len(pool.ended)) == (1, 1)


def test_a_process_that_prints_without_end_is_killed(measure):
    pool = FakePool((loaded(), ("warmup", PrintedTooMuch)))
    (record,) = measure(pool)
    assert (record.status, record.error.type, record.error.phase) == ("run_error", "OutputLimit", "warmup")
    assert "printed more than 1024 MiB" in record.error.message
    assert (len(pool.killed), len(pool.ended)) == (1, 1)


def test_a_process_whose_channel_the_model_writes_into_is_killed(measure):
    pool = FakePool((loaded(), ("warmup", Garbled)))
    (record,) = measure(pool)
    assert (record.status, record.error.type, record.error.phase) == ("run_error", "ForeignOutput", "warmup")
    assert (len(pool.killed), len(pool.ended)) == (1, 1)
