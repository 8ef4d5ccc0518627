"""Who runs when: processes in turns, with a fake pool that notes every step; real ones in tests/faults."""

import io
import re
import types
from pathlib import Path

import pytest
from runner_makers import ENVIRONMENT, entry, facts, loaded, report, settings

from runner.messages import Failed, Finish, Load, Pause, Paused, Turn, TurnDone, Verified, Verify, WarmedUp, WarmUp
from runner.schedule import scheduler
from runner.schedule.groups import Group, Member, turn_order
from runner.schedule.memory import MachineFull, MemoryExceeded
from runner.schedule.pool import ChildGone, ServerGone, TimedOut
from runner.schedule.progress import ProgressView
from runner.schedule.quiet import QuietRun
from runner.schedule.scheduler import Scheduler
from store.record import Error, Verification
from tests.tiers import first_of

pytestmark = pytest.mark.usefixtures("below")
PLENTY = (100 << 30, 128 << 30)
WORDS = {Load: "load", WarmUp: "warm", Finish: "finish", Pause: "pause", Verify: "verify"}


class Process(types.SimpleNamespace):
    """A process that answers as every good one does, but for what its misdeeds say."""


class Pool:
    """Notes who is asked what and who runs; `misdeeds` by (backend, replica): answers in place of the usual ones."""

    hello = None

    def __init__(self, misdeeds=None, held=1 << 20):
        self.misdeeds, self.held = misdeeds or {}, held
        self.story, self.processes, self.deadlines, self.lost_n = [], [], {}, 0
        self.asked, self.variables = [], []
        self.quiet = QuietRun()

    def prepare(self, start=None):
        pass

    def spawn(self, variables, log, start=None):
        self.variables.append(dict(variables))
        log.write_text("")
        process = Process(pid=1, phase="load", measured=None, log=log, name="?", running=True, ended=False, turns=0)
        self.processes.append(process)
        return process

    def ask(self, process, command, deadline, on_phase, watch=None):
        assert process.running
        assert [each for each in self.processes if each.running and not each.ended] == [process]
        if isinstance(command, Load):
            process.name = command.config.dynamo or ("lazy" if command.config.xla else "eager")
            process.replica = sum(each.name == process.name for each in self.processes) - 1
        self.asked.append((process.name, command))
        word = f"turn {command.round}" if isinstance(command, Turn) else WORDS[type(command)]
        self.story.append(f"{process.name} {word}")
        self.deadlines.setdefault(process.name, []).append(deadline)
        answer = (
            self.misdeeds.get((process.name, process.replica), {}).pop(word, None)
            if hasattr(process, "replica")
            else None
        )
        if isinstance(answer, type) and issubclass(answer, BaseException):
            raise answer
        return answer or self.usual(command)

    @staticmethod
    def usual(command):
        usual = {
            Load: loaded(),
            WarmUp: WarmedUp(steady=True, blocks=5),
            Turn: TurnDone(steady=True),
            Pause: Paused(),
            Finish: report(),
            Verify: Verified(Verification(code="PASS")),
        }
        return usual[type(command)]

    def pause(self, process):
        process.running = False
        self.story.append(f"{process.name} stop")

    def resume(self, process):
        assert not process.running
        process.running = True
        self.story.append(f"{process.name} go")

    def held_bytes(self, process):
        return self.held

    def end(self, process):
        process.ended = True
        self.story.append(f"{process.name} end")
        return 0

    def kill(self, process):
        self.story.append(f"{process.name} kill")

    def lost(self, process):
        self.lost_n += 1


@pytest.fixture
def memory(monkeypatch):
    """What the machine says of its memory: (available, total)."""
    state = types.SimpleNamespace(now=PLENTY)
    monkeypatch.setattr(scheduler, "machine_memory", lambda: state.now)
    return state


@pytest.fixture
def measure(tmp_path, memory):
    """Measure a group in turns; return its records."""

    def run(pool, *entries, shown=None, attempt=1, **chosen):
        entries = entries or (entry("eager"), entry("inductor"))
        chosen = {"repeat": 4, "rounds": 2, **chosen}
        written = []
        scheduler = Scheduler(
            facts={"default": facts(settings=settings(**chosen), environment=ENVIRONMENT)},
            pools={"default": pool},
            folder=tmp_path,
            write=written.append,
            progress=ProgressView(
                stream=shown or io.StringIO(),
                members=[Member(each) for each in entries],
                replicas=settings(**chosen).replicas,
            ),
        )
        scheduler.measure(Group(name="g", entries=tuple(entries), attempt=attempt))
        assert all(process.ended for process in pool.processes)
        return written

    return run


BOTH = ("eager", "inductor")


def order(number, replica=0, count=2, seed=1337):
    return [("eager", "inductor", "lazy")[index] for index in turn_order(count, number, seed, replica)]


def test_all_compile_alone_then_take_turns_there_and_back_then_report(measure):
    """Nobody is asked anything while another runs; that is checked at every question."""
    pool = Pool()
    records = measure(pool)
    opening = [
        line
        for name in ("eager", "inductor")
        for line in (f"{name} load", f"{name} warm", f"{name} pause", f"{name} stop")
    ]
    turns = [
        line
        for number in range(2)
        for name in order(number)
        for line in (f"{name} go", f"{name} turn {number}", f"{name} pause", f"{name} stop")
    ]
    end = [line for name in order(2) for line in (f"{name} go", f"{name} finish", f"{name} end")]
    assert pool.story == opening + turns + end
    assert [(each.status, each.variant) for each in records] == [("ok", "eager"), ("ok", "inductor")]


def test_a_turn_has_its_share_of_the_blocks_after_rewarming(measure):
    pool = Pool()
    (first, _) = measure(pool, repeat=5, rounds=2, rewarm=3)
    assert [command for name, command in pool.asked if name == "eager" and isinstance(command, Turn)] == [
        Turn(3, 0, 3),
        Turn(2, 1, 3),
    ]
    assert (first.measurement.order, first.measurement.block, first.measurement.together) == ("interleaved", 3, 2)


def test_replicas_are_groups_of_their_own_with_records_of_their_own(measure):
    pool = Pool()
    records = measure(pool, processes=3)
    assert [(each.variant, each.replica) for each in records] == [
        (name, replica) for replica in range(3) for name in ("eager", "inductor")
    ]
    assert len({each.record_id for each in records}) == 6
    assert {each.measurement.processes for each in records} == {3}
    turns = [line.split()[0] for line in pool.story if "turn" in line]
    assert turns == [name for replica in range(3) for number in range(2) for name in order(number, replica)]
    assert len({variables.get("TORCHINDUCTOR_CACHE_DIR") for variables in pool.variables} - {None}) == 3


def test_each_replica_has_its_own_log(measure):
    records = measure(Pool(), processes=2)
    assert [each.artifacts[0].path.rpartition("/")[2] for each in records if each.variant == "eager"] == [
        "attempt-1-timed.log",
        "attempt-1-timed-1.log",
    ]
    assert {len(each.artifacts) for each in records} == {1}


def test_only_the_first_replica_is_verified_after_its_groups_timing(measure):
    pool = Pool()
    records = measure(pool, processes=2, verify="with")
    assert [each.verification_code for each in records] == ["PASS", "PASS", "VERIFIER_SKIPPED", "VERIFIER_SKIPPED"]
    verified = [index for index, line in enumerate(pool.story) if line.endswith("verify")]
    assert len(verified) == 2
    assert not any("turn" in line for line in pool.story[verified[0] : verified[1]])


def test_the_batch_size_of_the_first_holds_for_all_replicas(measure):
    pool = Pool({("eager", 0): {"load": loaded(batch_size=32)}})
    measure(pool, processes=2)
    assert [command.batch_size for _, command in pool.asked if isinstance(command, Load)] == [None, 32, 32, 32]


MISDEEDS = [
    (ChildGone, "crashed"),
    (TimedOut, "timeout"),
    (MemoryExceeded, "oom"),
    (Failed(status="run_error", error=Error(phase="measure", type="ValueError", message="no")), "run_error"),
]
MOMENTS = ["load", "warm", "pause", "turn 0", "turn 1", "finish"]
BAD_TURNS = [(*misdeed, word) for misdeed in MISDEEDS for word in MOMENTS]
BAD_TURNS.sort(key=lambda each: each[1] != "crashed" and each[2] != "turn 1")
"""First one misdeed at each moment, and each misdeed at one."""


@pytest.mark.parametrize(("misdeed", "status", "word"), first_of(BAD_TURNS, len(MISDEEDS) + len(MOMENTS) - 1))
def test_who_fails_in_its_turn_fails_alone(measure, misdeed, status, word):
    """Whenever that is; the others take all their turns."""
    pool = Pool({("inductor", 0): {word: misdeed}})
    good, bad = measure(pool)
    assert (good.status, bad.status) == ("ok", status)
    assert [line for line in pool.story if line.startswith("eager turn")] == ["eager turn 0", "eager turn 1"]


def test_what_failed_in_its_first_process_is_tried_in_no_further_one(measure):
    """A model that hangs would take its time limit three times."""
    pool = Pool({("inductor", 0): {"turn 0": TimedOut}})
    shown = io.StringIO()
    records = measure(pool, processes=3, shown=shown)
    assert [(each.variant, each.replica, each.status) for each in records] == [
        ("eager", 0, "ok"),
        ("inductor", 0, "timeout"),
        ("eager", 1, "ok"),
        ("eager", 2, "ok"),
    ]
    assert "[4/4]" in shown.getvalue()


def test_what_fails_later_does_not_stop_its_other_processes(measure):
    pool = Pool({("inductor", 1): {"turn 0": ChildGone}})
    statuses = [each.status for each in measure(pool, processes=3) if each.variant == "inductor"]
    assert statuses == ["ok", "crashed", "ok"]


def test_never_steady_ends_before_the_rounds(measure):
    pool = Pool({("inductor", 0): {"warm": WarmedUp(steady=False, blocks=50), "finish": report((1.0, 0.9), warm=1)}})
    assert [each.status for each in measure(pool)] == ["ok", "never_steady"]
    assert "inductor turn 0" not in pool.story


def test_a_spoilt_turn_costs_the_round_and_all_turns_are_taken_again(measure):
    """It warms up within its turn, and takes its turns with the rounds that follow; they are numbered by the group."""
    pool = Pool({("inductor", 0): {"turn 1": TurnDone(steady=False)}})
    assert [each.status for each in measure(pool)] == ["ok", "ok"]
    assert [line for line in pool.story if line.startswith("inductor") and line.split()[1] in ("turn", "warm")] == [
        "inductor warm",
        "inductor turn 0",
        "inductor turn 1",
        "inductor warm",
        "inductor turn 2",
        "inductor turn 3",
    ]


WANTING, ENOUGH = TurnDone(steady=True, enough=False), TurnDone(steady=True)


def test_a_process_that_is_not_stable_takes_further_turns_and_each_decides_for_itself(measure, monkeypatch):
    """Two turns are due; the one that knows its median reports, the other goes on with turns as long as the last."""
    pool = Pool({("inductor", 0): {f"turn {number}": WANTING for number in range(4)}})
    shown = io.StringIO()
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "200")
    records = measure(pool, repeat=5, until_stable=0.01, shown=shown)
    turns = {name: [each.blocks for who, each in pool.asked if who == name and isinstance(each, Turn)] for name in BOTH}
    assert turns == {"eager": [3, 2], "inductor": [3, 2, 2, 2, 2]}
    assert [each.status for each in records] == ["ok", "ok"]
    rounds = re.findall(r"round (\d) of its group(, until stable)?", shown.getvalue())
    assert list(dict.fromkeys(rounds)) == [
        ("1", ""),
        ("2", ""),
        ("3", ", until stable"),
        ("4", ", until stable"),
        ("5", ", until stable"),
    ]


def test_a_process_that_is_stable_early_takes_all_its_turns(measure):
    pool = Pool({("eager", 0): {"turn 0": ENOUGH, "turn 1": ENOUGH}})
    measure(pool, until_stable=0.01)
    assert [line for line in pool.story if line.startswith("eager turn")] == ["eager turn 0", "eager turn 1"]


def test_a_further_turn_that_is_spoilt_is_warmed_up_and_all_turns_are_due_again(measure):
    misdeeds = {"turn 0": WANTING, "turn 1": WANTING, "turn 2": TurnDone(steady=False)}
    pool = Pool({("inductor", 0): misdeeds})
    assert [each.status for each in measure(pool, until_stable=0.01)] == ["ok", "ok"]
    assert [line.partition(" ")[2] for line in pool.story if line.startswith("inductor") and "turn" in line] == [
        f"turn {number}" for number in range(5)
    ]
    assert pool.story.count("inductor warm") == 2


def test_the_death_of_the_server_starts_each_of_its_processes_again_once(measure):
    pool = Pool({(name, 0): {"turn 1": ServerGone} for name in ("eager", "inductor")})
    records = measure(pool)
    assert [each.status for each in records] == ["ok", "ok"]
    assert (len(pool.processes), pool.lost_n) == (4, 2)
    assert pool.story.count("eager load") == 2


def test_a_server_that_dies_again_under_a_process_ends_it_alone(measure):
    pool = Pool({("eager", 0): {"turn 0": ServerGone}, ("eager", 1): {"load": ServerGone}})
    crashed, good = measure(pool)
    assert (crashed.status, good.status) == ("crashed", "ok")
    assert "fork server died 2 times" in crashed.error.message


def test_an_interruption_ends_all_of_them(measure):
    pool = Pool({("eager", 0): {"turn 1": KeyboardInterrupt}})
    with pytest.raises(KeyboardInterrupt):
        measure(pool)
    assert all(process.ended for process in pool.processes)
    assert {"eager kill", "inductor kill"} <= set(pool.story)


def three():
    return [entry(name) for name in ("eager", "inductor", "openxla+lazytensor")]


def parts(pool):
    """Return who stood open together: the names that loaded before the first of them finished."""
    found, current = [], []
    for line in pool.story:
        name, word = line.split()[:2]
        if word == "load":
            current.append(name)
        if word == "finish" and current:
            found.append(current)
            current = []
    return found


def test_where_memory_does_not_hold_all_the_group_is_measured_in_parts(measure, memory):
    """A quarter more than the largest so far has to be left, beside the machine's own share."""
    pool = Pool(held=10 << 30)
    memory.now = (12 << 30, 100 << 30)
    records = measure(pool, *three())
    assert parts(pool) == [["eager"], ["inductor"], ["lazy"]]
    assert {(each.measurement.order, each.measurement.together) for each in records} == {("rounds", 1)}
    assert all("no room for all 3 processes" in each.warnings[-1] for each in records)
    memory.now = (16 << 30, 100 << 30)
    assert parts_of(measure, Pool(held=10 << 30)) == [["eager", "inductor", "lazy"]]


def parts_of(measure, pool):
    records = measure(pool, *three())
    assert all(each.warnings == [] for each in records)
    return parts(pool)


OOM = Failed(status="oom", error=Error(phase="warmup", type="OutOfMemoryError", message="CUDA out of memory"))


@pytest.mark.parametrize("misdeed", [OOM, MachineFull])
def test_out_of_memory_beside_others_is_no_result(measure, misdeed):
    """The stopped ones hold theirs, on a GPU for certain: the process is measured again beside fewer."""
    pool = Pool({("lazy", 0): {"warm": misdeed}})
    records = measure(pool, *three())
    assert [(each.variant, each.status) for each in records] == [
        ("eager", "ok"),
        ("inductor", "ok"),
        ("openxla+lazytensor", "ok"),
    ]
    assert [each.measurement.together for each in records] == [2, 2, 1]
    assert all("no room for all 3" in each.warnings[-1] for each in records)


def test_out_of_memory_in_a_turn_is_tried_beside_fewer_until_it_is_alone(measure):
    misdeeds = {("lazy", number): {"turn 0": OOM} for number in range(3)}
    records = measure(Pool(misdeeds), *three())
    assert [each.status for each in records] == ["ok", "ok", "oom"]


def test_its_own_limit_is_nobody_elses_fault(measure):
    pool = Pool({("lazy", 0): {"warm": MemoryExceeded}})
    assert [each.status for each in measure(pool, *three())] == ["ok", "ok", "oom"]
    assert pool.story.count("lazy load") == 1


def test_a_warm_process_has_the_caches_of_its_replicas_cold_one(measure):
    pool = Pool()
    cold, warm = entry("inductor"), entry("inductor", cache="warm")
    records = measure(pool, cold, warm, processes=2)
    caches = [each["TORCHINDUCTOR_CACHE_DIR"] for each in pool.variables]
    assert [caches[0], caches[2]] == [caches[1], caches[3]]
    assert caches[0] != caches[2]
    assert [each.measurement.cache for each in records] == ["cold", "warm"] * 2


def test_a_cold_process_that_starts_again_does_not_find_what_it_left_to_its_sibling(measure):
    pool = Pool({("inductor", 0): {"turn 0": ServerGone}})
    measure(pool, entry("inductor"), entry("inductor", cache="warm"))
    cold, warm, again = (each["TORCHINDUCTOR_CACHE_DIR"] for each in pool.variables)
    assert cold == warm != again


class Compiling(Pool):
    """Each process leaves a kernel in its caches; what was there at its start is noted."""

    def __init__(self, misdeeds=None):
        super().__init__(misdeeds)
        self.found = []

    def spawn(self, variables, log, start=None):
        if "TORCHINDUCTOR_CACHE_DIR" in variables:
            folder = Path(variables["TORCHINDUCTOR_CACHE_DIR"]).parent
            self.found.append((log.stem.split("-")[2], sorted(file.name for file in folder.iterdir())))
            (folder / f"kernel{len(self.found)}").touch()
        return super().spawn(variables, log, start)


@pytest.mark.parametrize("interleave", ["processes", "rounds"])
def test_a_verification_finds_what_its_timed_process_has_compiled(measure, interleave):
    pool = Compiling()
    measure(pool, entry("inductor"), entry("eager"), verify="with", interleave=interleave)
    assert pool.found == [("timed", []), ("verify", ["kernel1"])]
    assert not any(Path(each["TORCHINDUCTOR_CACHE_DIR"]).parent.exists() for each in pool.variables[:1])


def test_a_verification_after_a_failure_compiles_everything_itself(measure):
    failed = Failed(status="run_error", error=Error(phase="measure", type="ValueError", message="no"))
    pool = Compiling({("inductor", 0): {"turn 0": failed}})
    measure(pool, entry("inductor"), entry("eager"), verify="with")
    assert pool.found == [("timed", []), ("verify", [])]


def test_caches_that_a_warm_process_reads_are_left_as_they_are(measure):
    pool = Compiling()
    measure(pool, entry("inductor"), entry("inductor", cache="warm"), verify="with")
    assert pool.found == [("timed", []), ("timed", ["kernel1"]), ("verify", []), ("verify", [])]


def test_a_time_limit_counts_running_time_only(measure, monkeypatch):
    """Each question's deadline lies as far ahead as the process has time left, whatever the others did meanwhile."""
    clock = types.SimpleNamespace(now=1000.0)
    monkeypatch.setattr("runner.schedule.benchmark_process.time", types.SimpleNamespace(monotonic=lambda: clock.now))
    pool, ask, left = Pool(), Pool.ask, []

    def slow(process, command, deadline, on_phase, watch=None):
        left.append((round(deadline - clock.now), isinstance(command, Turn)))
        clock.now += 10 if isinstance(command, Turn) else 0
        return ask(pool, process, command, deadline, on_phase, watch)

    pool.ask = slow
    measure(pool, timeout_s=100.0)
    assert [seconds for seconds, is_turn in left if is_turn] == [100, 100, 90, 90]


def test_off_a_terminal_there_is_one_line_for_each_finished_process(measure):
    shown = io.StringIO()
    measure(Pool(), shown=shown, processes=2)
    announced, *finished = shown.getvalue().splitlines()
    assert announced == "dummy/dummy eval on cpu: 2 processes take turns; their results follow together."
    assert [line.partition("]")[0] for line in finished] == [f"[{n}/4" for n in (1, 2, 3, 4)]
    said = [line.partition("; fastest so far: ")[2] for line in finished]
    assert said == ["", "eager, 100 ms", "", ""], "once two have a number, and whenever that changes"


def test_a_twin_is_measured_like_any_other_and_says_whose_it_is(tmp_path, memory):
    pool, written, eager = Pool(), [], entry("eager")
    members = Group(name="g", entries=(eager, entry("inductor")), attempt=1, twins=(eager,))
    Scheduler(
        facts={"default": facts(settings=settings(repeat=4, rounds=2))},
        pools={"default": pool},
        folder=tmp_path,
        write=written.append,
        progress=ProgressView(stream=io.StringIO(), members=members.members),
    ).measure(members)
    original, twin, other = written
    assert (original.twin_of, other.twin_of) == (None, None)
    assert (twin.twin_of, twin.purpose, twin.experiment_id) == (
        original.record_id,
        "calibration",
        original.experiment_id,
    )
    assert twin.measurement.together == 3
