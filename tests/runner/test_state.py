"""What the machine did: exact from made-up files, and true of this machine."""

import os
import subprocess
import sys

import pytest

from runner.environments import proc
from runner.environments.others import MachineWatch


class Made:
    """A machine of files: process 1 and its child 7, and whoever else lives there."""

    def __init__(self, folder):
        self.folder = folder
        self.machine = proc.KernelFiles(proc=folder / "proc", sys=folder / "sys")
        self.write("proc/loadavg", "1.50 2.00 3.00 5/259 14219\n")
        self.write("proc/1/task/1/children", "7 ")
        self.write("proc/7/task/7/children", "")
        self.write("proc/7/task/8/children", "")
        self.cpu(0, 0)
        self.process(1, 0)
        self.process(7, 0)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def cpu(self, user, idle, steal=0):
        self.write("proc/stat", f"cpu  {user} 0 0 {idle} 0 0 0 {steal} 0 0\ncpu0 1\ncpu1 1\nintr 5\n")

    def process(self, pid, ticks):
        """Half of the ticks are its own, half of children that it has waited for; its name is hostile."""
        zeros = "0 " * 10
        self.write(f"proc/{pid}/stat", f"{pid} (a) b) S {zeros}{ticks // 2} 0 {ticks // 2} 0 20 0 0\n")

    def watch(self):
        return MachineWatch(machine=self.machine, root=1)


@pytest.fixture
def made(tmp_path):
    return Made(tmp_path)


def test_others_are_what_the_machine_used_beyond_the_runs_own_tree(made):
    """Of 1000 ticks 400 were used by processes, 200 of these by the tree and what it waited for."""
    watch = made.watch()
    made.cpu(400, 590, steal=10)
    made.process(1, 80)
    made.process(7, 120)
    found = watch.end()
    assert found.others_share == pytest.approx(0.2)
    assert found.steal_share == pytest.approx(0.01)
    assert (found.cpus, found.load_start, found.load_end) == (2, 1.5, 1.5)


def test_a_tree_that_outdoes_the_sampled_total_leaves_no_others(made):
    watch = made.watch()
    made.cpu(400, 600)
    made.process(7, 500)
    assert watch.end().others_share == 0


def test_too_few_ticks_give_no_share(made):
    watch = made.watch()
    made.cpu(50, 40)
    found = watch.end()
    assert (found.others_share, found.steal_share) == (None, None)


def test_where_the_kernel_lists_no_children_the_others_are_unknown_and_stolen_time_is_not(made):
    for name in ("1/task/1", "7/task/7", "7/task/8"):
        (made.machine.proc / name / "children").unlink()
    watch = made.watch()
    made.cpu(400, 500, steal=100)
    found = watch.end()
    assert (found.others_share, found.steal_share) == (None, 0.1)


def test_a_machine_that_tells_nothing_is_unknown_and_never_zero(tmp_path):
    found = MachineWatch(machine=proc.KernelFiles(tmp_path / "none", tmp_path / "none"), root=1).end()
    assert {name for name in found.__struct_fields__ if getattr(found, name) is not None} == {"seconds"}


def test_clocks_heat_and_swap_are_read_where_they_are_to_be_had(made, monkeypatch):
    monkeypatch.setattr(proc, "usable_cpus", lambda: [0, 1])
    for cpu, current in ((0, 2_000_000), (1, 3_000_000)):
        folder = f"sys/devices/system/cpu/cpu{cpu}"
        made.write(f"{folder}/cpufreq/scaling_governor", "powersave\n")
        made.write(f"{folder}/cpufreq/scaling_cur_freq", f"{current}\n")
        made.write(f"{folder}/cpufreq/scaling_min_freq", "800000\n")
        made.write(f"{folder}/cpufreq/scaling_max_freq", "3500000\n")
        made.write(f"{folder}/thermal_throttle/core_throttle_count", "5\n")
    made.write("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "1\n")
    made.write("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n")
    made.write("proc/meminfo", "SwapTotal: 2048 kB\nSwapFree: 1024 kB\n")
    made.write("proc/vmstat", "pswpin 10\npswpout 20\n")
    watch = made.watch()
    made.write("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "8\n")
    made.write("proc/vmstat", "pswpin 11\npswpout 21\n")
    found = watch.end()
    assert (found.governor, found.turbo) == ("powersave", True)
    assert (found.frequency_hz, found.frequency_min_hz, found.frequency_max_hz) == (2.5e9, 0.8e9, 3.5e9)
    assert found.throttle_events == 3
    assert (found.swap_used_bytes, found.swap_traffic_bytes) == (1 << 20, 2 * os.sysconf("SC_PAGE_SIZE"))


@pytest.mark.parametrize(("printed", "strangers"), [("", 0), ("11 12", 2), ("7 12", 1), ("[N/A]", None)])
def test_the_accelerators_other_processes_are_asked_of_its_tool(made, tmp_path, monkeypatch, printed, strangers):
    """The device is named as the run sees it; 7 is the run's own."""
    tool = tmp_path / "bin/nvidia-smi"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\nfor pid in {printed}; do echo "$pid"; done\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b")
    found = MachineWatch("cuda", 1, machine=made.machine, root=1).end()
    assert found.accelerator_processes == strangers
    assert "-i GPU-b" in (tmp_path / "asked").read_text()


def test_without_the_tool_the_accelerators_other_processes_are_unknown(made, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert MachineWatch("cuda", machine=made.machine, root=1).end().accelerator_processes is None


BUSY = "import time\nend = time.process_time() + 1.0\nwhile time.process_time() < end: pass"


def test_a_process_below_is_the_runs_own_and_one_elsewhere_is_not():
    """A second of CPU time, seen from above and from beside: only from beside is it that of others."""
    elsewhere = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    beside, above = MachineWatch(root=elsewhere.pid), MachineWatch()
    subprocess.run([sys.executable, "-c", BUSY], check=True)
    seen, own = beside.end(), above.end()
    elsewhere.communicate(b"\n")
    assert seen.others_share * seen.seconds * seen.cpus > 0.8
    assert (seen.others_share - own.others_share) * seen.seconds * seen.cpus == pytest.approx(1.0, abs=0.3)
