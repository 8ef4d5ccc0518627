"""`xlabench doctor`: facts of this machine, planted ones, what to do about each doubt, and the exit code."""

import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from runner.doctor import facts, screen, trial
from runner.doctor.facts import Imports, cpu_quota, try_imports
from runner.environments import proc
from runner.environments.machine import Machine
from runner.environments.others import Taken
from runner.proof import judge
from runner.proof.judge import RULE
from store.record import Environment, MachineState, Proof, Turns
from tests.tiers import first_of
from xlabench import doctor, main

GIB = 2**30
CPU_ONLY = {"cpu": "a processor"}
ALONE = Taken(cpus=0.0, steal_share=0.0, throttled_s=0.0)
QUIET = trial.Trial(
    begun=trial.Begun(policy="libraries, nice -20", waits_reported=True),
    turns_n=10,
    quiet_n=10,
    wait_share=0.01,
    refusal=None,
    turns=Turns(probe_s=[0.0005] * 10, reason=[None] * 10),
)
HERE = facts.Offer(
    environment=Environment(name="default", python="3.11.7", torch="2.9.1", cpu="a processor"),
    imports=Imports(threads=2),
    backends={"cpu": {"eager": None, "inductor": None, "openxla+dynamo": "torch_xla is not installed"}},
)
GOOD = facts.DoctorFacts(
    cpus=2,
    usable_cpus=2,
    quota_cpus=None,
    threads=2,
    others_cpus=0.0,
    programs=(),
    trial=QUIET,
    state=MachineState(seconds=5.0, load_start=0.2, steal_share=0.0, governor="performance"),
    offers=(HERE,),
    failed_environments={},
    absent={"tpu": "there is no /dev/accel*"},
    disks=(facts.Disk(folder=Path("home"), free_bytes=50 * GIB, writable=True),),
    measured_on=(),
)


class Said:
    """Others that take what the test says."""

    def __init__(self, taken):
        self.taken, self.root = taken, os.getpid()

    def look(self):
        return self.taken


def disk(free_bytes=50 * GIB, *, writable=True):
    return (facts.Disk(folder=Path("home"), free_bytes=free_bytes, writable=writable),)


def state(**told):
    return MachineState(seconds=5.0, **told)


def begun(**told):
    return replace(QUIET, begun=trial.Begun(**{"policy": QUIET.begun.policy, "waits_reported": True, **told}))


UNABLE = replace(HERE, backends={"cpu": {"eager": "torch is not installed"}})
FAILED = judge.StoredProof(
    proof=Proof(verdict="failed", reason="outputs came later", rule=RULE, taken_at=0.0),
    backend="inductor",
    accelerator="cpu",
    test="eval",
    machine_id="m",
    environment={},
)
UNEVEN = replace(QUIET, turns=Turns(probe_s=[0.0005, 0.0008] * 5, reason=[None] * 10))
REFUSED = replace(QUIET, quiet_n=2, refusal="8 of 10 turns were disturbed by other programs (gcc); end them")


# What is doubted, and what is refused


def test_a_machine_without_a_doubt_has_none():
    assert screen.of_facts(GOOD) == []


@pytest.mark.parametrize(
    ("planted", "sentence"),
    [
        ({"trial": REFUSED}, "8 of 10 turns were disturbed by other programs (gcc): end them."),
        ({"offers": (UNABLE,)}, "no backend can run in any environment: see the reasons at `backends`."),
        (
            {"offers": (replace(HERE, proofs=(FAILED,)),)},
            "results of inductor on cpu in eval are refused, as its timing proof failed: outputs came later: `xlabench",
        ),
        ({"disks": disk(100 * 2**20)}, "has 100 MiB free: free some"),
        ({"disks": disk(writable=False)}, "home cannot be written to: pass another --home"),
    ],
)
def test_what_would_be_refused_says_why_and_what_to_do(planted, sentence):
    (doubt,) = screen.of_facts(replace(GOOD, **planted))
    assert doubt.refuses
    assert sentence in doubt.sentence


@pytest.mark.parametrize(
    ("planted", "sentence"),
    [
        ({"others_cpus": 1.25, "programs": ("gcc", "mysqld")}, "other programs use 1.2 of 2 CPUs (gcc, mysqld): stop"),
        ({"quota_cpus": 1.5}, "the container's CPU quota is 1.5: raise the quota, or pass --threads 1."),
        ({"threads": 4}, "4 threads, but only 2 CPUs are available: pass --threads 2"),
        ({"trial": UNEVEN}, "between turns, so the cores' speed changed by a factor of 1.6: measure on a dedicated"),
        ({"trial": begun(waits_reported=False)}, "the kernel does not report how long a thread waits for a core: stop"),
        (
            {"trial": begun(policy="libraries")},
            "cannot get a higher priority than other programs: allow the user a higher priority",
        ),
        ({"state": state(governor="powersave")}, "governor is powersave: set it to `performance`"),
        ({"state": state(steal_share=0.02)}, "2.0% of the CPUs' time: measure on a dedicated host"),
        ({"state": state(throttle_events=3)}, "slowed down 3 times because of heat: improve the cooling"),
        ({"disks": disk(GIB)}, "has 1,024 MiB free: free some"),
        (
            {"measured_on": ("cpu is in use by benchmark process 7",)},
            "by benchmark process 7: a run on that device waits",
        ),
        (
            {"failed_environments": {"nightly": "nightly: no Python."}},
            "no Python: correct `nightly` in section [environments]",
        ),
    ],
)
def test_a_doubt_says_what_to_do_and_refuses_nothing(planted, sentence):
    (doubt,) = screen.of_facts(replace(GOOD, **planted))
    assert sentence in doubt.sentence
    assert not doubt.refuses


def test_one_interpreter_that_can_measure_is_enough():
    assert screen.of_facts(replace(GOOD, offers=(UNABLE, HERE))) == []


def test_a_refusal_stands_before_the_doubts():
    found = screen.of_facts(replace(GOOD, trial=REFUSED, quota_cpus=1.0, disks=disk(0)))
    assert [doubt.refuses for doubt in found] == [True, True, False]


# The quota of a container


def planted_machine(folder, groups, files):
    machine = proc.KernelFiles(proc=folder / "proc", sys=folder / "sys")
    for name, text in {
        "proc/self/cgroup": groups,
        **{f"sys/fs/cgroup/{at}": each for at, each in files.items()},
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return machine


@pytest.mark.parametrize(
    ("groups", "files", "quota"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "150000 100000\n"}, 1.5),
        ("0::/a\n", {"a/cpu.max": "max 100000\n"}, None),
        ("0::/../..\n", {"cpu.max": "50000 100000\n"}, 0.5),
        (
            "4:cpu,cpuacct:/docker/x\n0::/\n",
            {"cpu,cpuacct/cpu.cfs_quota_us": "200000\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n"},
            2.0,
        ),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ("", {}, None),
    ],
)
def test_the_smallest_quota_on_the_way_up_counts(tmp_path, groups, files, quota):
    assert cpu_quota(planted_machine(tmp_path, groups, files)) == quota


# The trial: real threads, judged by the rule of benchmark processes


def test_a_trial_among_nobody_is_quiet(monkeypatch):
    monkeypatch.setattr(trial, "TURNS", 4)
    monkeypatch.setattr(trial, "SPEED_TURNS", 8)
    found = trial.take(1, Said(ALONE))
    assert found.refusal is None
    # On a host that others share, a core can be slow for a turn.
    assert trial.TURNS <= found.quiet_n <= found.turns_n >= trial.SPEED_TURNS
    assert all(0 < seconds < 1 for seconds in found.turns.probe_s)


@pytest.mark.thorough
def test_a_trial_under_a_quota_is_refused_with_what_to_do():
    found = trial.take(1, Said(replace(ALONE, throttled_s=0.05)))
    assert found.quiet_n == 0
    assert "by the container's CPU quota; raise the quota" in found.refusal


def test_a_trial_that_others_keep_waiting_is_refused(monkeypatch):
    """Threads that wait beside others are disturbed, whatever this process has learned of its own waiting."""
    real = trial._turn
    monkeypatch.setattr(trial, "_turn", lambda *pipes: msgspec.structs.replace(real(*pipes), wait_s=0.05, probes=[]))
    monkeypatch.setattr("runner.environments.others.programs", lambda **_: ["gcc"])
    monkeypatch.setattr(trial, "TURNS", 3)
    found = trial.take(1, Said(replace(ALONE, cpus=1.0)))
    assert "disturbed by other programs (gcc); stop them" in found.refusal


# Packages that are installed and cannot be imported


def planted_packages(folder, monkeypatch, **modules):
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return Machine(packages=dict.fromkeys(modules, "1.0"), accelerators=CPU_ONLY, compiler="g++", python_header=True)


GOOD_TORCH = "def get_num_threads(): return 3\n"


@pytest.mark.parametrize(
    ("torch", "torch_xla", "broken", "threads"),
    [
        ("print('noise', end='')\n" + GOOD_TORCH, "", {}, 3),
        (GOOD_TORCH, "raise OSError('libx.so:\\n gone')", {"torch_xla": "OSError: libx.so:"}, 3),
        (GOOD_TORCH, "import os; os._exit(7)", {"torch_xla": "the process ended with code 7"}, 3),
        (
            "print('xla noise', end='', flush=True); import os; os._exit(7)",
            "",
            {"torch": "the process ended with code 7"},
            None,
        ),
    ],
)
def test_a_package_that_cannot_be_imported_is_named(tmp_path, monkeypatch, torch, torch_xla, broken, threads):
    found = try_imports(planted_packages(tmp_path, monkeypatch, torch=torch, torch_xla=torch_xla))
    assert (found.broken, found.threads) == (broken, threads)


def test_a_backend_whose_package_cannot_be_imported_cannot_run(tmp_path, monkeypatch):
    machine = planted_packages(tmp_path, monkeypatch, torch=GOOD_TORCH, torch_xla="raise OSError('no lib')")
    offer = facts._offer(machine, Environment(name="default"), tmp_path)
    assert offer.backends["cpu"]["eager"] is None
    assert "torch_xla cannot be imported: OSError: no lib; install" in offer.backends["cpu"]["openxla+lazytensor"]


# Timing proofs that the home keeps


def test_proofs_of_these_versions_on_this_machine_are_told(tmp_path):
    """What was proved elsewhere, with other versions or by an earlier rule is no proof of now."""
    machine = Machine(packages={}, accelerators=CPU_ONLY, compiler="g++", python_header=True)
    here = Environment(name="default", torch="2.9.1", machine_id="m")
    versions = {name: getattr(here, name) for name in judge._VERSIONS}
    passed = Proof(verdict="passed", rule=RULE, taken_at=0.0)
    now = msgspec.structs.replace(FAILED, proof=passed, environment=versions)
    for name, planted in {
        "now": now,
        "elsewhere": msgspec.structs.replace(now, machine_id="n"),
        "older": msgspec.structs.replace(now, environment=versions | {"torch": "2.8"}),
        "by an earlier rule": msgspec.structs.replace(now, proof=msgspec.structs.replace(passed, rule=0)),
    }.items():
        judge.write_proof(tmp_path / judge.PROOFS_FOLDER, name, planted)
    offer = facts._offer(machine, here, tmp_path)
    assert offer.proofs == (now,)
    assert ("proofs", "passed: inductor cpu eval") in screen.lines(replace(GOOD, offers=(offer,)))
    assert ("proofs", "none yet; a run checks the timing of each backend once") in screen.lines(GOOD)


# The screen


def printed(seen, found=()):
    out = io.StringIO()
    sys.stdout, before = out, sys.stdout
    try:
        doctor._print(seen, list(found), str)
    finally:
        sys.stdout = before
    return out.getvalue()


def test_every_fact_has_a_line():
    told = dict(screen.lines(replace(GOOD, others_cpus=0.4, programs=("gcc",), quota_cpus=1.5)))
    assert told["cores"] == "2 of 2 CPUs are available, quota of 1.5 CPUs"
    assert told["others"] == "0.4 of 2 CPUs: gcc (load 0.2)"
    assert told["speed"] == "a fixed piece of work took 0.50 to 0.50 ms in 10 turns"
    assert told["quiet turns"] == "10 of 10 in a trial; a thread waited for a core 1.0% of a turn"
    assert told["priority"] == "nice -20"
    assert told["disk"] == "50.0 GiB free for home"
    assert told["versions"] == "Python 3.11.7, torch 2.9.1"
    assert told["backends"] == "on cpu eager, inductor"
    assert told[""] == "not openxla+dynamo on cpu: torch_xla is not installed"
    assert told["tpu"] == "no device: there is no /dev/accel*"


def test_several_interpreters_are_told_apart():
    other = replace(HERE, environment=Environment(name="nightly", python="3.12.1", cpu="a processor"))
    told = [sentence for name, sentence in screen.lines(replace(GOOD, offers=(HERE, other))) if name == "versions"]
    assert told == ["default: Python 3.11.7, torch 2.9.1", "nightly: Python 3.12.1"]


def test_the_screen_fits_a_terminal_and_steers_none(monkeypatch):
    """A program's name is anybody's: neither escapes nor markup of it are followed."""
    monkeypatch.setenv("COLUMNS", "80")
    seen = replace(GOOD, others_cpus=1.5, programs=("\x1b[2Jevil", "[red]x[/]"))
    text = printed(seen, screen.of_facts(seen))
    assert "\x1b" not in text
    assert "?[2Jevil, [red]x[/]" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("seen", "code", "answer"),
    [
        (GOOD, 0, "The machine is ready: nothing was found that would disturb a measurement."),
        (replace(GOOD, quota_cpus=1.0), 0, "The machine can measure now, but results may have measurement warnings."),
        (replace(GOOD, trial=REFUSED), 1, "The machine is not ready: a measurement would be refused now."),
    ],
)
def test_the_last_line_and_the_exit_code_say_whether_a_measurement_would_be_refused(
    tmp_path, monkeypatch, capsys, seen, code, answer
):
    monkeypatch.setattr(facts, "collect", lambda *_: seen)
    assert main(["doctor", "--home", str(tmp_path)]) == code
    assert capsys.readouterr().out.splitlines()[-1].strip() == answer


def test_a_command_that_it_prints_names_the_home(tmp_path, monkeypatch, capsys):
    seen = replace(GOOD, offers=(replace(HERE, proofs=(FAILED,)),))
    monkeypatch.setattr(facts, "collect", lambda *_: seen)
    assert main(["doctor", "--home", str(tmp_path)]) == 1
    # Lines of the screen are wrapped, and a long path within itself.
    assert f"`xlabenchrun--home{tmp_path}--prove`" in "".join(capsys.readouterr().out.split())


def test_an_environment_that_is_no_interpreter_is_named(tmp_path):
    found, failed_environments = facts._environments({"nightly": tmp_path / "gone"})
    assert [environment.name for _, environment in found] == ["default"]
    assert "is not an interpreter" in failed_environments["nightly"]


@pytest.mark.slow
@pytest.mark.parametrize("planted", first_of([["torch_xla"], []]), ids=["torch is real", "torch_xla is, too"])
def test_this_machine_is_looked_at_without_torch_in_the_command(tmp_path, monkeypatch, planted):
    """The real facts of this machine, in a short trial, and a home below a file, where nothing can be written.

    With the real torch_xla, whose import takes longer than all else here, it is thorough.
    """
    for name in planted:
        (tmp_path / f"{name}.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "file").touch()
    program = (
        "import sys, xlabench\n"
        "from runner.doctor import trial\n"
        "trial.TURNS = trial.SPEED_TURNS = 3\n"
        f"code = xlabench.main(['doctor', '--threads', '1', '--home', {str(tmp_path / 'file' / 'home')!r}])\n"
        "assert 'torch' not in sys.modules\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 1, done.stderr
    names = "cores", "threads", "others", "quiet turns", "speed", "governor", "steal", "waits", "priority", "versions"
    for name in names:
        assert f"\n{name} " in done.stdout, name
    assert f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} CPUs are available" in done.stdout
    assert "on cpu eager, inductor" in done.stdout
    assert "cannot be written to" in " ".join(done.stdout.split())
