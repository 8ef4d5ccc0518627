"""Which turns other programs disturbed, whether enough others are left, and waiting until a machine is quiet.

A thread that waits for a core is slow for no reason of its own. The kernel says how long each has waited, so a turn is
judged without a look at its times: choosing by time would bias them.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from runner.environments import others
from runner.environments.others import Gpu, GpuUse, Others, Taken
from runner.messages import Probed, TurnFacts
from runner.schedule.own_waits import LEAST_IDLE_TURNS, WAIT_SHARE, OwnWaits, is_delayed
from runner.settings import Settings
from store.record import Quiet, Turns

RULE = 7
"""Version of these rules, which each record names."""
OTHERS_CPUS = 0.05
"""Below this share of one CPU, other programs do not explain waits: they come from the backend's locks and threads."""
OWN_WAIT_LIMIT = 0.2
"""Own waiting from which no turn next to other programs is accepted, unless it is known from idle turns and delays are
subtracted.

Its threads wait for each other so long that the kernel's figures look alike whether others delayed them or not.
Programs that use less than `FREE_CPUS` delay no thread by more than that.
"""
STEAL_SHARE = 0.05
PROBE_RATIO = 1.5
"""Limit over the fixed work's usual time at this hour; idle turns were mostly below 1.3 here."""
PROBES_KEPT = 24
LEAST_PROBES = 6
LEAST_BLOCKS = 6
"""Quiet blocks that a result rests on at least, unless fewer were asked for: the fewest that give an interval."""
TRIES_PER_ROUND = 6
"""Turns of a process in one round: a burst that ends within milliseconds costs no round."""
FURTHER_TURNS = 6.0
"""Disturbed turns that a process may take at most: the planned ones times this."""
FURTHER_S = 15.0
"""Seconds that disturbed turns of a process may take together."""
WAIT_S = 10.0
"""Longest wait of a group for a quiet machine."""
WAIT_OF_RUN = 0.1
"""Largest share of the run's time that all groups together wait."""
BUSY_CPUS, FREE_CPUS = 0.25, 0.10
"""A group waits if other programs use more CPUs than the first, until they use fewer than the second."""
_LOOK_EVERY_S = 0.25


@dataclass(kw_only=True)
class QuietRun:
    """State that all processes of a run share: other programs, the usual speed of the cores, the time waited."""

    others: Others = field(default_factory=others.Others)
    say: Callable[[str], None] = print
    began: float = field(default_factory=time.monotonic)
    waited_s: float = 0.0
    """Seconds that all groups together waited for a quiet machine."""
    group_waited_s: float = 0.0
    """Seconds that the present group waited before its turns."""
    own_waits: OwnWaits = field(default_factory=OwnWaits)
    _probes: deque[float] = field(default_factory=lambda: deque(maxlen=PROBES_KEPT))

    def probe_ratio(self, probes: Sequence[Probed]) -> float | None:
        """Take a turn's probes in; return the slowest core's time over what was usual lately, None where unknown.

        A host that is slow for minutes is slow for all members of a group alike: what matters is a turn beside others.
        """
        # Both probes of a turn see a sibling or a slow clock that lasts; one alone may have met an interrupt.
        slowest = min((max(probe.seconds) for probe in probes), default=None)
        if slowest is None:
            return None
        usual = statistics.median(self._probes) if len(self._probes) >= LEAST_PROBES else None
        self._probes.append(slowest)
        return slowest / usual if usual else None

    def wait(self) -> None:
        """Wait until other programs leave the CPUs or the bound is reached, and name them once."""
        self.group_waited_s = 0.0
        began = time.monotonic()
        bound = min(WAIT_S, WAIT_OF_RUN * (began - self.began) - self.waited_s)
        if bound <= others.WINDOW_S or not self._busy(BUSY_CPUS):
            return
        names = ", ".join(others.programs(root=self.others.root)) or "other programs"
        self.say(f"Waiting up to {bound:.0f} s for a quiet machine: the CPUs are in use by {names}.")
        while time.monotonic() - began < bound and self._busy(FREE_CPUS):
            time.sleep(_LOOK_EVERY_S)
        self.group_waited_s = time.monotonic() - began
        self.waited_s += self.group_waited_s

    def _busy(self, cpus: float) -> bool:
        taken = self.others.look().cpus
        if taken is None:  # the first look
            time.sleep(others.WINDOW_S)
            taken = self.others.look().cpus
        return (taken or 0.0) > cpus


@dataclass(kw_only=True)
class Judge:
    """Judges the turns of one process; what is learned later about its own waiting holds for earlier turns, too."""

    settings: Settings
    planned: int
    """Turns that the process is to take."""
    run: QuietRun
    key: tuple[str | None, ...] = ()
    """Experiment, environment and machine: processes with the same key and policy wait alike."""
    policy: str = "libraries"
    accelerator: str = "cpu"
    """What the process measures on: a thread of the host that waits does not hold up another device for as long."""
    gpu: Gpu | None = None
    """The GPU that the process measures on; None: another kind of device."""
    turns: Turns = field(default_factory=Turns)
    programs: list[str] = field(default_factory=list)
    _seconds: list[float] = field(default_factory=list)
    """Seconds of each turn's blocks."""
    _unjudged_n: int = 0
    """Turns that were taken while nothing is judged."""

    def begin(self) -> None:
        """Start judging after a warm-up, the first or a repeated one: earlier turns no longer count."""
        self.turns, self._seconds, self._unjudged_n = Turns(), [], 0
        self.run.others.look()
        if self.gpu:
            self.gpu.look()

    def judge(self, round_number: int, facts: TurnFacts | None) -> bool:
        """Judge a turn, and earlier ones again; return whether it is quiet."""
        if facts is None or not self.settings.quiet:
            self._unjudged_n += 1
            return True
        taken = self.run.others.look()
        turns = self.turns
        turns.round.append(round_number)
        turns.blocks.append(facts.blocks)
        turns.wait_share.append(
            facts.wait_s / facts.seconds if facts.wait_s is not None and facts.seconds > 0 else None
        )
        turns.probe_wait_share.append(max((probe.wait_share for probe in facts.probes), default=None))
        turns.probe_s.append(min((max(probe.seconds) for probe in facts.probes), default=None))
        turns.threads_probe_s.append(facts.threads_probe_s)
        turns.delay_share.append(_delay_share(facts))
        turns.others_cpus.append(taken.cpus)
        turns.steal_share.append(taken.steal_share)
        self._seconds.append(facts.seconds)
        reason = _machine_reason(taken, self.run.probe_ratio(facts.probes))
        turns.reason.append(reason or (_gpu_reason(self.gpu.look(wait=True)) if self.gpu else None))
        # Waiting counts as the process's own if no other program used the CPUs.
        share, cpus = turns.wait_share[-1], taken.cpus
        if share is not None and cpus is not None and cpus < OTHERS_CPUS:
            self.run.own_waits.add((*self.key, self.policy), share)
        self._judge_waits()
        quiet = turns.reason[-1] is None
        if not quiet and not self.programs:
            self.programs = others.programs(root=self.run.others.root)
        return quiet

    def _judge_waits(self) -> None:
        """Mark the turns whose threads waited longer than they do on an idle machine, as far as that is known."""
        turns, own, hidden = self.turns, self.own_share, self._is_delay_hidden
        for turn, reason in enumerate(turns.reason):
            if reason in (None, WAITS, OWN_WAITING):
                share, cpus = turns.wait_share[turn], turns.others_cpus[turn] or 0.0
                # What is unknown disturbs nothing but where others are busy.
                much = share is None or (share >= WAIT_SHARE and (own is None or is_delayed(share, own)))
                turns.reason[turn] = WAITS if much and cpus >= OTHERS_CPUS else None
                if hidden and cpus >= FREE_CPUS:
                    turns.reason[turn] = OWN_WAITING

    @property
    def own_share(self) -> float | None:
        """Return the share of time that threads of this experiment wait for each other; None of too few turns.

        It is the median of idle turns, of this run and earlier ones. As long as there are none, because another
        program never rests, it is that of this process's turns which others cannot have delayed: there, too, the
        threads waited for each other.
        """
        known = self._own_share_idle
        if known is not None:
            return known
        undelayed = [
            wait
            for wait, delay in zip(self.turns.wait_share, self.turns.delay_share, strict=True)
            if wait is not None and delay is not None and delay < WAIT_SHARE
        ]
        return statistics.median(undelayed) if len(undelayed) >= LEAST_IDLE_TURNS else None

    @property
    def _own_share_idle(self) -> float | None:
        return self.run.own_waits.median((*self.key, self.policy))

    @property
    def _is_delay_hidden(self) -> bool:
        """Say whether the kernel's figures look alike whether other programs delayed the threads or not."""
        own, is_known_idle = self.own_share, self._own_share_idle is not None
        long = own is not None and own >= OWN_WAIT_LIMIT and not (is_known_idle and self._subtracts)
        return long or self.run.own_waits.hide_delays((*self.key, self.policy))

    def save(self) -> None:
        """Save the wait shares for later runs."""
        self.run.own_waits.save((*self.key, self.policy))

    @property
    def quiet_n(self) -> int:
        """Return how many turns are quiet, or were not judged."""
        return self.turns.reason.count(None) + self._unjudged_n

    @property
    def disturbed(self) -> tuple[int, ...]:
        """Return the turns that count as disturbed now, by their place since the warm-up."""
        return tuple(turn for turn, reason in enumerate(self.turns.reason) if reason is not None)

    def may_go_on(self) -> bool:
        """Say whether another turn may be taken in place of a disturbed one."""
        lost_s = sum(self._seconds[turn] for turn in self.disturbed)
        return len(self.disturbed) < FURTHER_TURNS * self.planned and lost_s < FURTHER_S

    def refusal(self) -> str | None:
        """Return why the quiet turns are too few for a result; None if they are enough."""
        reasons = [reason for reason in self.turns.reason if reason is not None]
        quiet = sum(blocks for blocks, reason in zip(self.turns.blocks, self.turns.reason, strict=True) if not reason)
        wanted = self.settings.repeat
        if not reasons or quiet >= max(math.ceil(wanted / 2), min(LEAST_BLOCKS, wanted)):
            return None
        why = max(sorted(set(reasons)), key=reasons.count)
        by = f" ({', '.join(self.programs)})" if self.programs else ""
        return f"{len(reasons)} of {len(self.turns.reason)} turns {_WORDS[why].format(by=by)}; {_HELP[why]}"

    @property
    def _subtracts(self) -> bool:
        """Say whether delays are subtracted: not from the peer's times, which are as it takes them."""
        return self.accelerator == "cpu" and self.settings.preset != "peer"

    @property
    def removed_shares(self) -> list[float]:
        """Return the share of each turn for which other programs delayed its threads; 0 of a disturbed turn.

        It is what the thread that waited longest waited beyond the experiment's own waiting; 0 where that is unknown,
        and where nothing is subtracted.
        """
        own = self.own_share if self._subtracts else None
        parts = zip(self.turns.wait_share, self.turns.others_cpus, self.turns.reason, strict=True)
        return [
            max(0.0, wait - own)
            if reason is None and own is not None and wait is not None and (cpus or 0.0) >= OTHERS_CPUS
            else 0.0
            for wait, cpus, reason in parts
        ]

    @property
    def _is_unknown(self) -> bool:
        """Say whether the turns seem quiet only because the machine does not tell what other programs did."""
        if not self.turns.reason or self.disturbed:
            return False
        return not self.run.others.sees_machine or all(cpus is None for cpus in self.turns.others_cpus)

    def report(self) -> Quiet | None:
        """Return the judgement for the record; None if no turn was judged, or nobody knows whether they were quiet."""
        if not self.settings.quiet or self._is_unknown:
            return None
        return Quiet(
            rule=RULE,
            policy=self.policy,
            own_wait_share=self.own_share,
            own_wait_idle=self._own_share_idle is not None,
            turns=self.turns,
            waited_s=self.run.group_waited_s,
            programs=self.programs,
        )


WAITS, OWN_WAITING = "other programs", "own waiting next to other programs"
QUOTA, HYPERVISOR, SLOW_CORE = "quota", "hypervisor", "slow core"
GPU_SHARED, GPU_SLOWED = "GPU in use by others", "GPU clocks"
_WORDS = {
    WAITS: "were disturbed by other programs{by}",
    OWN_WAITING: "ran next to other programs{by}, whose effect does not show, because the experiment's own threads "
    "make each other wait as long as these programs would",
    QUOTA: "were disturbed by the container's CPU quota",
    HYPERVISOR: "were disturbed by other virtual machines",
    SLOW_CORE: "were disturbed by a core that was slower than usual (because of its SMT sibling, its clock or its "
    "cache)",
    GPU_SHARED: "were disturbed by other processes on the GPU",
    GPU_SLOWED: "were disturbed by the GPU's clocks, which heat or a power brake held down",
}
_LEAVE = (
    "stop them, leave them a core with --threads (a different configuration), "
    "or keep them off some cores with a cpuset; then measure again"
)
_HELP = {
    WAITS: _LEAVE,
    OWN_WAITING: _LEAVE,
    QUOTA: "raise the quota, or lower --threads (a different configuration); then measure again",
    HYPERVISOR: "measure again at a quieter hour or on a dedicated host",
    SLOW_CORE: "measure again while nothing else runs, on a machine with steady clocks",
    GPU_SHARED: "stop them (`nvidia-smi` lists them) or choose another GPU; then measure again",
    GPU_SLOWED: "let it cool down, or set lower clocks (`nvidia-smi --lock-gpu-clocks`); then measure again",
}


def _delay_share(facts: TurnFacts) -> float | None:
    """Return the share of a turn that other programs can have delayed it at most, by its probes; None: unknown.

    A thread waits for others when it wakes, or when the kernel gives its core to another. The first is what a wake-up
    cost in the probes, times how often a thread got a core; the second is the share that the probe's work waited.
    Both hold if no two threads that compute share a core: else they wait for each other because others take the rest.
    """
    if not facts.bound or facts.dispatched is None or not facts.probes or facts.seconds <= 0:
        return None
    woken_s = facts.dispatched * max(probe.wake_up_s for probe in facts.probes)
    return woken_s / facts.seconds + max(probe.wait_share for probe in facts.probes)


def _machine_reason(taken: Taken, probe_ratio: float | None) -> str | None:
    """Say what of the machine disturbed a turn; waits of its threads are another question."""
    if taken.throttled_s > 0:
        return QUOTA
    if (taken.steal_share or 0.0) >= STEAL_SHARE:
        return HYPERVISOR
    if probe_ratio is not None and probe_ratio >= PROBE_RATIO:
        return SLOW_CORE
    return None


def _gpu_reason(use: GpuUse) -> str | None:
    """Say what of the GPU disturbed a turn."""
    if (use.others_share or 0.0) >= others.GPU_SHARE:
        return GPU_SHARED
    return GPU_SLOWED if use.slowed else None
