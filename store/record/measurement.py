"""How the numbers were taken, block by block."""

from __future__ import annotations

import msgspec

from store.record.words import BlockKind, CacheState, StartMethod, UntilRule


class Blocks(msgspec.Struct, kw_only=True):
    """Parallel arrays over `metrics.total_time`, one entry per timed block."""

    kind: list[BlockKind] = msgspec.field(default_factory=list)
    compiles: list[int | None] = msgspec.field(default_factory=list)
    executions: list[int | None] = msgspec.field(default_factory=list)
    round: list[int] = msgspec.field(default_factory=list)
    inner_loops: list[int] = msgspec.field(default_factory=list)
    """How often each block repeated its iterations, to last a millisecond; its times are those of one repetition.

    Empty where none did: all but operators."""
    rewarm_time: list[float] = msgspec.field(default_factory=list)
    """Seconds of the blocks at the start of interleaved turns; no other array contains them."""
    wait_s: list[float | None] = msgspec.field(default_factory=list)
    """Seconds that the process's threads waited for a core during each block: the largest wait of a thread.

    None where a thread ended meanwhile or the kernel does not say; empty of records from before it was read."""
    wait_all_s: list[float | None] = msgspec.field(default_factory=list)
    """The same, summed over all threads."""


class Turns(msgspec.Struct, kw_only=True):
    """Parallel arrays over the turns that a process took, the disturbed ones included."""

    round: list[int] = msgspec.field(default_factory=list)
    blocks: list[int] = msgspec.field(default_factory=list)
    wait_share: list[float | None] = msgspec.field(default_factory=list)
    """The largest wait of a thread as a share of the time of the turn's blocks."""
    others_cpus: list[float | None] = msgspec.field(default_factory=list)
    """CPUs that other programs kept busy around the turn: 1.0 is one whole CPU."""
    steal_share: list[float | None] = msgspec.field(default_factory=list)
    """CPU time that the hypervisor gave to others around the turn, as a share of all CPUs' time."""
    probe_s: list[float | None] = msgspec.field(default_factory=list)
    """Seconds of a fixed piece of work on the slowest core, before or after the turn: the faster of the two."""
    probe_wait_share: list[float | None] = msgspec.field(default_factory=list)
    """How much of its time that work waited for a core: others that keep this process from the CPUs."""
    reason: list[str | None] = msgspec.field(default_factory=list)
    """Why the turn counts as disturbed; None: it is quiet."""


class Quiet(msgspec.Struct, kw_only=True):
    """What the rule of quiet turns found."""

    rule: int
    """Version of the rule: records under different rules are not judged alike."""
    policy: str
    """How threads wait and at which priority they ran: the libraries' own way, `nice` where it was raised."""
    own_wait_share: float | None = None
    """What processes of this experiment wait where nobody else interferes, which is kept; None: not known."""
    turns: Turns = msgspec.field(default_factory=Turns)
    waited_s: float = 0.0
    """Seconds that the group waited for other programs before its turns."""
    programs: list[str] = msgspec.field(default_factory=list)
    """Short names of the programs that used the CPUs most, where turns were disturbed."""
    at_least_s: float | None = None
    """Of a refused result: seconds that one iteration takes at least, on a quiet machine. None where not known."""
    at_most_s: float | None = None
    """The same, at most."""


class Until(msgspec.Struct, kw_only=True):
    """How a process came to the end of its blocks, where their number was not fixed."""

    rule: UntilRule = "stable"
    """`stable`: until the median of its steady blocks was known well enough."""
    target: float
    """Half the width of the median's 95 % interval, as a share of the median, at which it stops."""
    budget_s: float
    half_width: float | None = None
    """What was reached; None under six steady blocks, where there is no interval."""
    spent_s: float = 0.0
    """Running time since the warm-up, re-warming included."""
    stable: bool = False
    """Whether the target was reached."""


class Measurement(msgspec.Struct, kw_only=True):
    """How the numbers were taken: the protocol settings, which are no part of the experiment's identity."""

    protocol: str = "xlabench"
    """The preset: `xlabench`, `peer` or `hud`."""
    order: str = "sequence"
    """`interleaved` (turns, while the group's other processes are stopped), `rounds`, `sequence`."""
    block: int = 1
    """Blocks of a turn: of the longest one."""
    together: int = 1
    """Processes that stood open at the same time and took turns, this one included."""
    processes: int = 1
    """Processes of the experiment; each has a record, its `replica`."""
    looks: int = 1
    """How often verdicts of the run may be asked for, each time with more processes (`--until-verdict`)."""
    repeat: int | None = None
    until: Until | None = None
    """Where blocks beyond `repeat` were taken if need be; None: exactly `repeat`."""
    warmup_min: int | None = None
    warmup_max: int | None = None
    steady_blocks: int | None = None
    cache: CacheState = "cold"
    start: StartMethod = "fork"
    instrumented: bool = False
    quiet: Quiet | None = None
    """What is known about disturbance by other programs; None: unknown, neither quiet nor disturbed."""
    blocks: Blocks = msgspec.field(default_factory=Blocks)
