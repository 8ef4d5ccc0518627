"""Quiet turns: what threads waited, who else used the CPUs, which turns count, and what is refused."""

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import psutil
import pytest

from runner.environments import others
from runner.environments.others import Others, Taken, programs
from runner.environments.proc import KernelFiles
from runner.messages import Probed, ProcessReport, TurnFacts
from runner.process.own_process import Waits
from runner.process.probes import Probe
from runner.schedule.delays import without_delays
from runner.schedule.own_waits import OwnWaits
from runner.schedule.quiet import OWN_WAITING, RULE, WAITS, Judge, QuietRun
from runner.settings import Settings
from store.record import Blocks

BUSY = Taken(cpus=1.0, steal_share=0.0, throttled_s=0.0)
ALONE = Taken(cpus=0.0, steal_share=0.0, throttled_s=0.0)
FREE, HELD = Probed(seconds=[1.0, 1.0], wait_share=0.0), Probed(seconds=[1.0, 1.0], wait_share=0.5)
needs_schedstat = pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the kernel tells no waits")


class Said:
    """Others that take what the test says, one entry for each look; the last one for good."""

    def __init__(self, *taken):
        self.taken, self.root, self.sees_machine = list(taken), os.getpid(), True

    def look(self):
        return self.taken.pop(0) if len(self.taken) > 1 else self.taken[0]


def judge(*taken, **settings):
    run = QuietRun(others=Said(*taken))
    return Judge(settings=Settings(**settings), planned=10, run=run, key=("model",))


def turn(wait_s, probe=FREE, blocks=2, together=None):
    return TurnFacts(blocks=blocks, seconds=1.0, wait_s=wait_s, probes=[probe, probe], threads_probe_s=together)


def judged(facts, taken):
    """Judge the turns of a process, all among the same others; return why each is disturbed."""
    found = judge(taken)
    for number, each in enumerate(facts):
        found.judge(number, each)
    return found


# What the kernel tells


@needs_schedstat
def test_waits_of_threads_that_share_a_core_are_told_largest_and_sum():
    waits = Waits()
    before, cores = waits.read(), os.sched_getaffinity(0)
    over = threading.Event()

    def spin():
        os.sched_setaffinity(0, {min(cores)})
        while not over.is_set():
            pass

    threads = [threading.Thread(target=spin) for _ in range(3)]
    for each in threads:
        each.start()
    time.sleep(0.2)
    found = waits.between(before, waits.read())
    over.set()
    for each in threads:
        each.join()
    assert found is not None
    assert 0.01 < found.largest_s <= found.all_s
    assert found.dispatched > 1


@needs_schedstat
def test_a_thread_that_ended_makes_waits_unknown():
    waits, held = Waits(), threading.Event()
    thread = threading.Thread(target=held.wait)
    thread.start()
    before = waits.read()
    held.set()
    thread.join()
    while len(list(Path("/proc/self/task").iterdir())) >= len(before):  # the kernel takes it away a little later
        time.sleep(0.001)
    assert waits.between(before, waits.read()) is None
    assert waits.between(waits.read(), waits.read()) is not None


def test_a_kernel_that_tells_nothing_is_unknown(tmp_path):
    waits = Waits(tasks=tmp_path / "nothing")
    assert waits.between(waits.read(), waits.read()) is None


def test_the_probe_takes_milliseconds_and_leaves_the_cores_as_they_were():
    cores = os.sched_getaffinity(0)
    found = Probe().take()
    assert os.sched_getaffinity(0) == cores
    assert len(found.seconds) == min(len(cores), 8)
    assert all(0 < each < 1 for each in found.seconds)
    assert 0 <= found.wait_share < 1


@pytest.mark.parametrize("threads", [1, 2])
def test_the_probe_of_all_threads_takes_milliseconds_and_needs_two(threads):
    """In a process of its own, as it computes with torch's threads."""
    words = "from runner.process.probes import ThreadsProbe as P\nimport torch\n"
    words += f"torch.set_num_threads({threads})\nprint(P().take(rest=False))"
    seconds = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout.strip()
    assert seconds == "None" if threads == 1 else 0 < float(seconds) < 1


DELAYED = """
import os
from runner.process.probes import Probe
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.setsid()
if (loop := os.fork()) == 0:
    while True:
        pass
os.nice(19)
try:
    print(max(Probe().take().wake_up_s for _ in range(5)))
finally:
    os.kill(loop, 9)
"""


@needs_schedstat
def test_the_probe_sees_how_long_others_delay_a_thread_that_wakes():
    """A loop has the core and the higher priority: a thread that wakes waits for milliseconds.

    The kernel may let it go first all the same, so that one probe of several has to see it.
    """
    done = subprocess.run([sys.executable, "-c", DELAYED], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 20e-6


RAISED = """
import os, threading
from runner.process.own_process import raise_priority, slice_ns
os.setsid()
print(raise_priority())
print(os.getpriority(os.PRIO_PROCESS, 0))
print(slice_ns())
thread = threading.Thread(target=lambda: print(slice_ns()))
thread.start()
thread.join()
"""


def test_the_policy_says_what_the_process_got():
    """As root the priority is raised, in its own session too; else it stays; both are told as they are."""
    done = subprocess.run([sys.executable, "-c", RAISED], capture_output=True, text=True, check=True)
    policy, nice, slice_ns, of_thread = done.stdout.splitlines()
    assert slice_ns == of_thread, "threads inherit it"
    short = ", slice 0.1 ms" if slice_ns == "100000" else ""
    assert policy == ("libraries" if int(nice) >= 0 else f"libraries, nice {nice}, computing threads bound{short}")


def test_another_program_is_seen_and_named_and_what_runs_below_is_no_other():
    ours = Others()
    theirs = Others(root=4_000_000)  # nobody's: everything is another program
    for each in (ours, theirs):
        each.look()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as loop:
        try:
            time.sleep(0.8)
            mine, all_cpus = ours.look().cpus, theirs.look().cpus
            assert all_cpus > 0.3
            assert mine < all_cpus
            names = programs(0.05, root=4_000_000)
            assert any("python" in name for name in names)
            assert not any("while True" in name or "/" in name for name in names)
        finally:
            loop.kill()


def test_a_program_is_named_shortly_without_its_arguments_or_what_steers_a_terminal(tmp_path):
    """A long name is cut as the kernel cuts it: its whole one stands where a title with arguments may stand, too."""
    program = tmp_path / "long\x1b[2Jand-longer-still"
    program.symlink_to("/bin/sleep")
    command = [f"{program.name} --password=hunter2", "60"]
    with subprocess.Popen(command, executable=program) as process:
        try:
            deadline = time.monotonic() + 10
            # The kernel names a process a moment after the start that Popen waits for.
            while (name := others._cpu_times(set())[process.pid][0]) == others._name(os.getpid()):
                assert time.monotonic() < deadline
            assert name == "long?[2Jand-lon"
        finally:
            process.kill()


def test_the_kernels_own_threads_have_one_name():
    """A refusal that says which programs to close once named kworker/0:1-events, which nobody can close."""
    threads = [process.pid for process in psutil.process_iter() if process.ppid() == 2]
    if not threads:
        pytest.skip("this sandbox does not show the kernel's threads")
    names = [(pid, others._name(pid)) for pid in threads]
    # A worker of the kernel may have ended since it was listed.
    assert {name for pid, name in names if psutil.pid_exists(pid)} == {"kernel threads"}
    assert others._name(os.getpid()) not in ("kernel threads", "?")


# Which turns count


def test_waits_beside_others_disturb_a_turn():
    found = judged([turn(0.0), turn(0.5), turn(0.0), turn(0.0)], BUSY)
    assert found.turns.reason == [None, WAITS, None, None]
    assert found.disturbed == (1,)


def test_waits_without_others_are_the_backends_own():
    """Planted: a lock, a thread more than cores, sleeping threads: kept at their true share."""
    found = judged([turn(0.5), turn(0.3), turn(0.0), turn(0.9)], ALONE)
    assert found.disturbed == ()


def test_threads_that_spin_have_no_waits_of_their_own_beside_others():
    """Woken together beside a busy core they wait for each other there, however free the cores are for the probe."""
    assert len(judged([turn(0.47)] * 10, BUSY).disturbed) == 10


def test_own_waits_are_learned_beside_nobody_and_earlier_turns_judged_anew():
    """Threads that sleep and wake wait for each other; until that is known, a turn beside others looks disturbed."""
    found = judge(BUSY, ALONE, ALONE, ALONE, BUSY)
    assert not found.judge(0, turn(0.15))
    for number in range(1, 4):
        assert found.judge(number, turn(0.15))
    assert found.disturbed == ()
    assert found.judge(4, turn(0.24))
    assert not found.judge(5, turn(0.26)), "a tenth of the turn more than the own waiting"
    assert found.disturbed == (5,)


def among_loops(wait_s, wake_up_s=5e-6, *, held=0.0, bound=True):
    """A turn of a second whose busiest thread got a core a thousand times, next to a program that never rests."""
    probe = Probed(seconds=[1.0, 1.0], wait_share=held, wake_up_s=wake_up_s)
    return msgspec.structs.replace(turn(wait_s, probe), dispatched=1000, bound=bound)


def test_own_waits_are_learned_beside_others_who_cannot_have_delayed_the_turns():
    """A new home next to a program that never rests: threads that wake get their core at once."""
    found = judged([among_loops(0.15)] * 6, BUSY)
    assert found.disturbed == ()
    assert (found.report().own_wait_share, found.report().own_wait_idle) == (0.15, False)
    assert found.turns.delay_share == [pytest.approx(0.005)] * 6
    assert not found.judge(6, among_loops(0.7))


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(among_loops(0.2, wake_up_s=60e-6), id="a thread that wakes waits for its core"),
        pytest.param(among_loops(0.2, held=0.06), id="work on a core is interrupted"),
        pytest.param(among_loops(0.2, bound=False), id="two threads may share a core because others use the rest"),
    ],
)
def test_nothing_is_learned_beside_others_who_can_have_delayed_the_turns(facts):
    found = judged([facts] * 10, BUSY)
    assert len(found.disturbed) == 10
    assert found.own_share is None


def test_what_idle_turns_show_goes_before_what_turns_beside_others_show():
    found = judge(*[ALONE] * 4, BUSY)
    for number in range(4):
        found.judge(number, turn(0.06))
    for number in range(4, 10):
        found.judge(number, among_loops(0.2))
    assert found.own_share == 0.06
    assert found.disturbed == tuple(range(4, 10))


def test_where_others_hold_the_cores_nothing_is_learned_from_a_turn():
    """A priority that does not act: all turns wait alike, and that is no way of the backend's own."""
    found = judged([turn(0.5, HELD)] * 10, BUSY)
    assert len(found.disturbed) == 10
    assert "10 of 10 turns were disturbed by other programs" in found.refusal()


def test_own_waits_of_a_process_hold_for_the_next_one_of_the_experiment():
    first = judged([turn(0.15)] * 4, ALONE)
    run = first.run
    run.others = Said(BUSY)
    second = Judge(settings=Settings(), planned=10, run=run, key=("model",))
    assert second.judge(0, turn(0.15, HELD))
    other = Judge(settings=Settings(), planned=10, run=run, key=("another",))
    assert not other.judge(0, turn(0.15, HELD))


def test_what_an_idle_run_has_learned_holds_for_a_later_run_of_the_same_home(tmp_path):
    """Beside a program that never rests a run has no idle turn of its own; another policy waits otherwise."""

    def process(policy, *taken):
        run = QuietRun(others=Said(*taken), own_waits=OwnWaits(folder=tmp_path / "waits"))
        return Judge(settings=Settings(), planned=10, run=run, key=("model", None), policy=policy)

    idle = process("libraries", ALONE)
    for number in range(4):
        idle.judge(number, turn(0.15))
    assert not process("libraries", BUSY).judge(0, turn(0.15))
    idle.save()
    later = process("libraries", BUSY)
    assert later.judge(0, turn(0.15))
    assert not later.judge(1, turn(0.7))
    assert not process("libraries, nice -20", BUSY).judge(0, turn(0.15))
    [file] = (tmp_path / "waits").iterdir()
    file.write_bytes(b"{")
    assert process("libraries", BUSY).own_share is None


def test_in_a_new_home_no_turn_counts_of_threads_that_wait_for_each_other_a_quarter_of_the_time():
    """Next to others alone, nothing shows whether those delayed them."""
    some = Taken(cpus=0.08, steal_share=0.0, throttled_s=0.0)
    found = judge(*[some] * 6, BUSY)
    for number in range(14):
        found.judge(number, among_loops(0.25))
    assert found.turns.reason == [None] * 6 + [OWN_WAITING] * 8
    assert not any(found.removed_shares)
    found.programs = ["gcc"]
    refusal = replace(found, settings=Settings(repeat=40)).refusal()
    assert refusal is not None
    assert "8 of 14 turns ran next to other programs (gcc), whose effect does not show" in refusal


def test_an_idle_machine_shows_how_much_threads_wait_for_each_other_that_often_sleep():
    found = judge(*[ALONE] * 6, BUSY)
    for number in range(6):
        found.judge(number, turn(0.4))
    assert [found.judge(number, turn(wait_s)) for number, wait_s in enumerate([0.4, 0.49, 0.51], 6)] == [
        True,
        True,
        False,
    ]
    assert found.turns.reason == [None] * 8 + [WAITS]


def measured(times, kinds=None):
    """Return the report of a process that took these seconds for its blocks of two iterations."""
    of_iterations = [time / 2 for time in times]
    metrics = {"total_time": list(times), "per_iter_time": of_iterations, "forward_time": [*of_iterations]}
    metrics |= {"xla_compile": [7.0], "trace_total_time": [1.0]}
    return ProcessReport(
        metrics=metrics,
        blocks=Blocks(kind=kinds or ["steady"] * len(times), round=[0] * len(times)),
        fallback_ops=[],
        graph_breaks=[],
        warnings=[],
        invalid=None,
    )


def test_what_others_delayed_a_thread_beyond_its_own_waiting_is_subtracted():
    """Turns of two blocks: alone, next to a loop with 3 % more waiting than alone, and with much more."""
    found = judge(*[ALONE] * 4, BUSY)
    for wait_s in (0.15, 0.15, 0.15, 0.05, 0.18, 0.9, 0.1):
        found.judge(0, turn(wait_s))
    assert found.removed_shares == pytest.approx([0.0] * 4 + [0.03, 0.0, 0.0])
    kinds = ["first", *["steady"] * 10, "disturbed", "disturbed", "steady", "steady"]
    before = measured([1.0] * 15, kinds)
    after = without_delays(before, found.turns, found.removed_shares)
    assert after.metrics["total_time"] == pytest.approx([1.0] * 9 + [0.97] * 2 + [1.0] * 4)
    assert after.metrics["per_iter_time"] == pytest.approx([0.5] * 9 + [0.485] * 2 + [0.5] * 4)
    assert after.metrics["forward_time"] == after.metrics["per_iter_time"]
    assert (after.metrics["xla_compile"], after.metrics["trace_total_time"]) == ([7.0], [1.0]), "not one for each block"
    assert after.blocks.removed_s == pytest.approx([0.0] * 9 + [0.03] * 2 + [0.0] * 4)
    assert before.metrics["total_time"] == [1.0] * 15, "the report itself stays"


def test_nothing_is_subtracted_where_the_own_waiting_is_unknown():
    """Threads that wait less than 5 % of the time next to others: it may be their own way."""
    found = judged([turn(0.04)] * 4, BUSY)
    assert found.disturbed == ()
    before = measured([1.0] * 8)
    assert without_delays(before, found.turns, found.removed_shares) is before


def test_nothing_is_subtracted_where_turns_and_blocks_do_not_match():
    found = judge(*[ALONE] * 4, BUSY)
    for wait_s in (0.0, 0.0, 0.0, 0.0, 0.03):
        found.judge(0, turn(wait_s))
    before = measured([1.0] * 9)
    assert without_delays(before, found.turns, found.removed_shares) is before


@pytest.mark.parametrize(("accelerator", "preset"), [("cuda", "xlabench"), ("cpu", "peer")])
def test_where_nothing_is_subtracted_long_own_waiting_hides_what_others_delayed(accelerator, preset):
    found = replace(judge(*[ALONE] * 4, BUSY, preset=preset), accelerator=accelerator)
    for wait_s in (0.25, 0.25, 0.25, 0.25, 0.3):
        found.judge(0, turn(wait_s))
    assert found.turns.reason == [None] * 4 + [OWN_WAITING]
    assert not any(found.removed_shares)


@pytest.mark.parametrize(("long_n", "reason"), [(2, None), (3, OWN_WAITING)])
def test_threads_that_wait_long_in_a_quarter_of_the_idle_turns_hide_what_others_delayed(long_n, reason):
    """Two ways to run, one of which waits and takes longer: to choose by waits would choose one of them."""
    found = judge(*[ALONE] * 12, BUSY)
    for wait_s in [0.35] * long_n + [0.1] * (12 - long_n) + [0.1]:
        found.judge(0, turn(wait_s))
    assert found.turns.reason == [None] * 12 + [reason]


def test_of_few_idle_turns_the_spread_of_waits_is_unknown():
    found = judge(*[ALONE] * 11, BUSY)
    for wait_s in [0.35] * 5 + [0.1] * 6 + [0.1]:
        found.judge(0, turn(wait_s))
    assert found.disturbed == ()


def test_unknown_waits_disturb_only_beside_others():
    assert judged([turn(None)], ALONE).disturbed == ()
    assert judged([turn(None)], BUSY).disturbed == (0,)


@pytest.mark.parametrize(
    ("taken", "reason"),
    [
        (Taken(cpus=0.0, steal_share=0.0, throttled_s=0.01), "quota"),
        (Taken(cpus=0.0, steal_share=0.2, throttled_s=0.0), "hypervisor"),
    ],
)
def test_quotas_and_hypervisors_have_reasons_of_their_own(taken, reason):
    assert judged([turn(0.0)], taken).turns.reason == [reason]


def test_a_core_that_is_slower_than_usual_disturbs_and_one_that_stays_slow_does_not():
    slow = Probed(seconds=[1.0, 2.0], wait_share=0.0)
    found = judged([*[turn(0.0)] * 6, turn(0.0, slow), turn(0.0)], ALONE)
    assert found.disturbed == (6,)
    assert judged([turn(0.0, slow)] * 30, ALONE).disturbed == ()


def test_cores_that_are_slow_only_together_are_kept_on_record_and_disturb_no_turn():
    """The host's state changes within a turn too: such turns count, and the result is marked (`uneven_cores`)."""
    found = judged([turn(0.0, together=seconds) for seconds in [0.9] * 6 + [1.4, None]], ALONE)
    assert found.turns.threads_probe_s == [0.9] * 6 + [1.4, None]
    assert found.disturbed == ()


UNTOLD = Taken(cpus=None, steal_share=None, throttled_s=0.0)
IDLE = "cpu 0 0 0 0 0 0 0 0 0 0\n" + "".join(f"cpu{core} 0 0 0 0 0 0 0 0 0 0\n" for core in range(os.cpu_count() or 1))


def test_where_nobody_knows_what_others_did_turns_are_unknown_and_not_quiet():
    """A sandbox or container may hide the machine's counters; within it, other programs may be seen all the same."""
    assert judged([turn(0.5)] * 4, UNTOLD).report() is None
    partly = judged([turn(0.0)] * 4, ALONE)
    assert partly.report() is not None
    partly.run.others.sees_machine = False
    assert partly.report() is None
    disturbed = judged([turn(0.5)] * 4, BUSY)
    disturbed.run.others.sees_machine = False
    assert disturbed.report().turns.reason == [WAITS] * 4


def counters(folder, *, proc_stat, groups="", throttled=()):
    """Return the files of a machine that tells so much."""
    (folder / "proc/self").mkdir(parents=True, exist_ok=True)
    (folder / "proc/self/cgroup").write_text(groups)
    (folder / "proc/stat").write_text(proc_stat)
    for group, microseconds in throttled:
        path = folder / "sys/fs/cgroup" / group / "cpu.stat"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"usage_usec 5\nthrottled_usec {microseconds}\n" if microseconds is not None else "usage_usec 5"
        )
    return KernelFiles(proc=folder / "proc", sys=folder / "sys")


def test_counters_that_stand_still_tell_nothing(tmp_path):
    """As those of gVisor: without them a busy machine would seem to be empty."""
    found = Others(machine=counters(tmp_path, proc_stat=IDLE))
    found.look()
    time.sleep(0.12)
    assert found.look() == UNTOLD
    counters(tmp_path, proc_stat=IDLE.replace(" 0", " 9"))
    assert found.look().cpus is not None


def test_a_short_turn_at_the_begin_of_a_run_is_judged():
    """The counters are read when the run begins, not when its first turn does."""
    found = Others()
    time.sleep(0.12)
    found.look()
    assert found.look().cpus is not None


def test_a_quota_of_a_group_above_the_runs_own_counts(tmp_path):
    """As that of a user's slice; the session below it has a file without quotas."""
    made = partial(counters, tmp_path, proc_stat=IDLE, groups="0::/user/session\n")
    found = Others(machine=made(throttled=[("user/session", None), ("user", 100)]))
    assert found.look().throttled_s == 0
    made(throttled=[("user", 5100)])
    assert found.look().throttled_s == pytest.approx(0.005)
    of_first_version = "4:cpu,cpuacct:/docker/a\n"
    found = Others(machine=made(groups=of_first_version, throttled=[("cpu,cpuacct/docker/a", 0)]))
    made(groups=of_first_version, throttled=[("cpu,cpuacct/docker/a", 7)])
    assert found.look().throttled_s > 0


def test_a_file_in_place_of_the_kernels_does_not_tell_of_the_machine(tmp_path):
    (tmp_path / "stat").symlink_to("/proc/stat")
    assert not KernelFiles(proc=tmp_path).is_own("stat")
    assert KernelFiles().is_own("stat")


def test_nothing_is_judged_where_that_is_switched_off():
    found = judge(BUSY, quiet=False)
    assert found.judge(0, turn(0.9))
    assert (found.quiet_n, found.disturbed, found.refusal(), found.report()) == (1, (), None, None)


def test_a_new_warm_up_forgets_the_turns():
    found = judged([turn(0.9, HELD)], BUSY)
    found.begin()
    assert (found.disturbed, found.quiet_n) == ((), 0)


# What is enough


def test_half_of_the_blocks_are_enough():
    assert judged([turn(0.9, HELD)] * 5 + [turn(0.0)] * 5, BUSY).refusal() is None
    assert judged([turn(0.9, HELD)] * 6 + [turn(0.0)] * 4, BUSY).refusal() is not None


def test_a_refusal_names_the_programs_and_what_helps():
    found = judged([turn(0.9, HELD)] * 10, BUSY)
    found.programs = ["firefox"]
    text = found.refusal()
    assert "(firefox)" in text
    assert "--threads" in text


def test_further_turns_have_a_bound_in_number_and_in_time():
    found = judge(BUSY)
    short = msgspec.structs.replace(turn(0.9, HELD), seconds=0.2, wait_s=0.18)
    for number in range(59):
        found.judge(number, short)
    assert found.may_go_on()
    found.judge(59, short)
    assert not found.may_go_on()
    slow = judge(BUSY)
    slow.judge(0, msgspec.structs.replace(turn(0.9, HELD), seconds=31.0, wait_s=20.0))
    assert not slow.may_go_on()


def test_the_record_holds_rule_policy_and_every_turn():
    found = judged([turn(0.0), turn(0.9, HELD)], BUSY).report()
    assert (found.rule, found.policy) == (RULE, "libraries")
    arrays = [getattr(found.turns, field) for field in found.turns.__struct_fields__]
    assert [len(each) for each in arrays] == [2] * len(arrays)
    assert found.turns.reason == [None, WAITS]


# Waiting


class Clock:
    """The time of those who wait: it goes on as they sleep."""

    now = 1000.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr("runner.schedule.quiet.time", made)
    return made


def test_waiting_ends_when_it_is_quiet_and_says_who_keeps_it(clock):
    said = []
    run = QuietRun(others=Said(BUSY, BUSY, ALONE), say=said.append, began=clock.now - 1000)
    run.wait()
    assert run.group_waited_s == 0.25, "one look"
    assert len(said) == 1
    assert said[0].startswith("Waiting up to 10 s for a quiet machine")


def test_waiting_takes_no_more_than_a_tenth_of_the_run(clock):
    run = QuietRun(others=Said(BUSY), say=lambda text: None, began=clock.now - 7)
    run.wait()
    assert 0.7 <= run.waited_s <= 0.7 + 0.25
    run.wait()
    assert run.group_waited_s == 0.0


def test_a_quiet_machine_is_not_waited_for(clock):
    run = QuietRun(others=Said(ALONE), say=pytest.fail, began=clock.now - 1000)
    run.wait()
    assert run.waited_s == 0.0
