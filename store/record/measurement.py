"""How the numbers of a record were taken, block by block, and what the process found beside its times."""

from __future__ import annotations

import msgspec

from store.record.experiment import (
    BlockKind,
    CacheState,
    FallbackClass,
    Lowering,
    Phase,
    ProofVerdict,
    StartMethod,
    UntilRule,
)


class Error(msgspec.Struct, kw_only=True):
    """Why an experiment gave no number; `phase` says how far it came."""

    phase: Phase
    type: str
    message: str
    traceback: str | None = None
    exit_code: int | None = None
    signal: int | None = None


class FallbackOp(msgspec.Struct, kw_only=True):
    """An op that XLA did not lower: `op` without its `aten::` prefix."""

    op: str
    klass: FallbackClass
    calls_per_iteration: float | None
    """Over the steady blocks; None where there are none."""
    calls_compile: int
    time_s: float | None = None
    """Seconds per iteration in a profile pass, waiting for its inputs included; None without such a pass."""
    profiled_iteration_s: float | None = None
    """Seconds of an iteration of that pass, which is slower than one without a profile; None of older records."""
    call_site: str | None = None


class Replacement(msgspec.Struct, kw_only=True):
    """What stood in for a fallback op (`--without-fallback`), named as `FallbackOp` names it."""

    op: str
    way: Lowering
    """`decomposition`: torch's own, in terms of other ops; `opt_in`: a lowering that PyTorch/XLA has on request."""
    source: str
    """The function or the variable that replaced it."""
    calls: int | None = None
    """How often the decomposition was called in the process; None where PyTorch/XLA itself lowers the op."""


class GraphBreak(msgspec.Struct, kw_only=True):
    """A place where dynamo split the graph, and why."""

    reason: str
    count: int


class Verification(msgspec.Struct, kw_only=True):
    """What comparing the backend's results with eager's found; `verification_code` of the record is its verdict."""

    code: str
    """A `VerificationCode`, or `PASS (batch N)`: right at N samples, and nobody knows at the larger timed batch."""
    decided_by: str | None = None
    """The check that decided: `bitwise`, `allclose`, `rmse`, `cosine`, `shape`, `dtype`, `control` …"""
    tolerance: float | None = None
    iterations: int = 1
    batch_size: int | None = None
    """Samples that were compared."""
    timed_batch_size: int | None = None
    """Samples of a timed iteration; None of older records."""
    reference: str | None = None
    """`float64`, or `eager` where float64 could not run: then the check was weaker, and `notes` says so."""
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    rmse: float | None = None
    """Against the float64 reference: of the backend's result, and of eager's."""
    rmse_eager: float | None = None
    cosine: float | None = None
    first_failed: str | None = None
    """Name of the first tensor that failed, as `output[0]`, `loss`, `grad.fc.weight`."""
    failed_iteration: int | None = None
    """The iteration of that failure, from 1 on."""
    tensors: int = 0
    """How many tensors were compared."""
    judged: int | None = None
    """On how many of them the verdict rests; None of older records."""
    unjudged: list[str] = msgspec.field(default_factory=list)
    """The others, as `NAME: REASON`: constants, zeros, what depends on the seed, what eager computes as noise."""
    control: str | None = None
    """Negative control: `noticed`: zeros, rotated rows, another sign or 5 % in any judged tensor would have failed. Of
    older records `vacuous`, too, where the check did not see perturbed weights."""
    timed_results: str | None = None
    """Results of the timed process itself: `agree`, `differ`, or why they were not compared; None without timing."""
    notes: list[str] = msgspec.field(default_factory=list)
    error: Error | None = None
    seconds: float | None = None


class Proof(msgspec.Struct, kw_only=True):
    """What the timing proof of the record's backend found: whether the times that are reported hold all of the work."""

    verdict: ProofVerdict
    """`unknown`: nothing speaks against it, and too little for it, as beside other programs."""
    reason: str | None = None
    """Why it did not pass."""
    rule: int
    """Version of the proof."""
    taken_at: float
    """Unix seconds; it is kept, so that it may be older than the run."""
    iterations: int | None = None
    """n of the passes with n, 2n and 4n iterations of the proof's model."""
    reported_s: float | None = None
    """Seconds of an iteration, timed as for a result."""
    slope_s: float | None = None
    """Seconds of a further iteration, by the line through the passes."""
    fixed_s: float | None = None
    """Seconds of no iteration, by the same line."""
    unfinished_s: float | None = None
    """Seconds after the end of the timing until the last output could be read, without reading it."""
    outputs_equal: bool | None = None
    """Whether the last timed outputs were eager's right when the clock had stopped."""


class Graph(msgspec.Struct, kw_only=True):
    """One compiled program as its compiler saw it: no noise, so a change here explains a change of time."""

    kind: str
    """`fx` (dynamo's capture), `hlo` (XLA, before its passes), `hlo_optimized`, `inductor`."""
    fingerprint: str
    """Hash of the program with its names and locations taken out: equal programs, equal fingerprints."""
    ops: int
    """Operations in it."""
    op_histogram: dict[str, int] = msgspec.field(default_factory=dict)
    fusions: int | None = None
    flops: float | None = None
    bytes_accessed: float | None = None


class Artifact(msgspec.Struct, kw_only=True):
    """A file beside the record; `path` is relative to the run folder."""

    kind: str
    path: str
    repeat: int | None = None
    bytes: int | None = None
    note: str | None = None
    """Why it is not whole: cut at the byte limit, or not to be had here."""


class Finding(msgspec.Struct, kw_only=True):
    """A reason to doubt a number, as data: `code` and `values` for programs, the rest for people."""

    code: str
    """A key of the table in `store.advice`."""
    text: str
    next_step: str
    values: dict[str, float | int | str] = msgspec.field(default_factory=dict)


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
