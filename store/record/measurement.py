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
    """Of the blocks at the begin of interleaved turns, seconds; they stand in no other array."""


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
    """Of the experiment; each has a record, its `replica`."""
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
    blocks: Blocks = msgspec.field(default_factory=Blocks)
