"""A record, and the types of what a process measures: blocks and settings, and the other facts that it records."""

from __future__ import annotations

from typing import Any

import msgspec

from store.record.experiment import (
    SCHEMA_VERSION,
    BlockKind,
    CacheState,
    Environment,
    Experiment,
    FallbackClass,
    Lowering,
    MachineState,
    ModelRef,
    Phase,
    ProofVerdict,
    Purpose,
    Run,
    StartMethod,
    Status,
    UntilRule,
    UsedBy,
)


class Error(msgspec.Struct, kw_only=True):
    """The reason why an experiment has no number; `phase` is the phase in which it ended."""

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
    """Calls per iteration over the steady blocks; None without steady blocks."""
    calls_compile: int
    time_s: float | None = None
    """Seconds per iteration in a profile pass, waiting for its inputs included; None without such a pass."""
    profiled_iteration_s: float | None = None
    """Seconds of an iteration of that pass, which is slower than one without a profile; None of older records."""
    call_site: str | None = None


class Replacement(msgspec.Struct, kw_only=True):
    """Replacement of a fallback op (`--without-fallback`); the op is named as in `FallbackOp`."""

    op: str
    way: Lowering
    """`decomposition`: torch's own, into other ops; `opt_in`: an opt-in lowering of PyTorch/XLA."""
    source: str
    """The function or the variable that replaced it."""
    calls: int | None = None
    """Number of calls of the decomposition in the process; None if PyTorch/XLA itself lowers the op."""


class GraphBreak(msgspec.Struct, kw_only=True):
    """A place where dynamo split the graph, and the reason."""

    reason: str
    count: int


class Verification(msgspec.Struct, kw_only=True):
    """Comparison of the backend's results with eager's; `verification_code` of the record is its verdict."""

    code: str
    """A `VerificationCode`, or `PASS (batch N)`: right at N samples, and unknown at the larger timed batch."""
    decided_by: str | None = None
    """The check that decided: `bitwise`, `allclose`, `rmse`, `cosine`, `shape`, `dtype`, `control` …"""
    tolerance: float | None = None
    iterations: int = 1
    batch_size: int | None = None
    """Number of samples that were compared."""
    timed_batch_size: int | None = None
    """Number of samples of a timed iteration; None in older records."""
    reference: str | None = None
    """`float64`, or `eager` if float64 could not run: then the check was weaker, and `notes` says so."""
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    rmse: float | None = None
    """Errors of the backend's and of eager's result against the float64 reference."""
    rmse_eager: float | None = None
    cosine: float | None = None
    first_failed: str | None = None
    """Name of the first tensor that failed, as `output[0]`, `loss`, `grad.fc.weight`."""
    failed_iteration: int | None = None
    """The iteration of that failure, from 1 on."""
    tensors: int = 0
    """Number of tensors that were compared."""
    judged: int | None = None
    """Number of tensors that decide the verdict; None in older records."""
    unjudged: list[str] = msgspec.field(default_factory=list)
    """The other tensors, as `NAME: REASON`: constants, zeros, values of the seed, and noise under eager."""
    control: str | None = None
    """Negative control: `noticed`: zeros, rotated rows, another sign or 5 % in any judged tensor would have failed. Of
    older records `vacuous`, too, where the check did not see perturbed weights."""
    timed_results: str | None = None
    """Results of the timed process: `agree`, `differ`, or why they were not compared; None without timing."""
    notes: list[str] = msgspec.field(default_factory=list)
    error: Error | None = None
    seconds: float | None = None


class Proof(msgspec.Struct, kw_only=True):
    """Timing proof of the record's backend: whether the reported times include all of the work."""

    verdict: ProofVerdict
    """Verdict of the proof. `unknown`: the evidence is too weak, for example because of other programs."""
    reason: str | None = None
    """Reason why it did not pass."""
    rule: int
    """Version of the proof."""
    taken_at: float
    """Time of the proof, Unix seconds; it is cached, so it may be older than the run."""
    iterations: int | None = None
    """The n of the passes with n, 2n and 4n iterations of the proof's model."""
    reported_s: float | None = None
    """Seconds of an iteration, timed as for a result."""
    slope_s: float | None = None
    """Seconds per additional iteration: slope of the line through the passes."""
    fixed_s: float | None = None
    """Seconds without an iteration: intercept of the same line."""
    unfinished_s: float | None = None
    """Seconds after the end of the timing until the last output could be read, without reading it."""
    outputs_equal: bool | None = None
    """Whether the last timed outputs equalled eager's as soon as the clock had stopped."""


class Graph(msgspec.Struct, kw_only=True):
    """One compiled program as its compiler saw it; it has no noise, so its changes explain changes of time."""

    kind: str
    """`fx` (dynamo's capture), `hlo` (XLA, before its passes), `hlo_optimized`, `inductor`."""
    fingerprint: str
    """Hash of the program without names and locations: equal programs have equal fingerprints."""
    ops: int
    """Number of operations in it."""
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
    """Reason why it is incomplete: cut at the byte limit, or not available here."""


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
    """Number of repetitions of each block's iterations, to last a millisecond; times are those of one repetition.

    Empty if no block repeated them, as for everything but operators."""
    rewarm_time: list[float] = msgspec.field(default_factory=list)
    """Seconds of the blocks at the start of interleaved turns; no other array contains them."""
    wait_s: list[float | None] = msgspec.field(default_factory=list)
    """Seconds that the process's threads waited for a core during each block: the largest wait of a thread.

    None if a thread ended meanwhile or the kernel does not report it; empty in older records."""
    wait_all_s: list[float | None] = msgspec.field(default_factory=list)
    """The same wait, summed over all threads."""
    removed_s: list[float] = msgspec.field(default_factory=list)
    """Seconds that were subtracted from the measured time of each block, because other programs delayed its threads.

    The measured time is the sum of both. Empty if nothing was subtracted, as in older records."""


class Turns(msgspec.Struct, kw_only=True):
    """Parallel arrays over the turns that a process took, the disturbed ones included."""

    round: list[int] = msgspec.field(default_factory=list)
    blocks: list[int] = msgspec.field(default_factory=list)
    wait_share: list[float | None] = msgspec.field(default_factory=list)
    """The largest wait of a thread as a share of the time of the turn's blocks."""
    others_cpus: list[float | None] = msgspec.field(default_factory=list)
    """Number of CPUs that other programs kept busy around the turn: 1.0 is one whole CPU."""
    steal_share: list[float | None] = msgspec.field(default_factory=list)
    """CPU time that the hypervisor gave to others around the turn, as a share of all CPUs' time."""
    probe_s: list[float | None] = msgspec.field(default_factory=list)
    """Seconds of a fixed piece of work on the slowest core, before or after the turn: the faster of the two."""
    probe_wait_share: list[float | None] = msgspec.field(default_factory=list)
    """Share of its time that this work waited for a core, because other programs used the CPUs."""
    threads_probe_s: list[float | None] = msgspec.field(default_factory=list)
    """Seconds of another fixed piece of work, on all of torch's threads at once, before the turn.

    None for one thread, and on other accelerators than the CPU, whose iterations need one thread of the host. Empty in
    older records. A host can slow cores only while several of them work."""
    delay_share: list[float | None] = msgspec.field(default_factory=list)
    """Share of the turn that other programs can have delayed it at most, from what a thread that wakes waited in the
    probes; None: unknown, or two threads may have shared a core."""
    reason: list[str | None] = msgspec.field(default_factory=list)
    """Reason why the turn counts as disturbed; None: it is quiet."""


NEUTRAL = (
    "_(DIR|HOME|PATH|NUM_THREADS)$|^(PJRT|OPENBLAS)_"
    "|^(CUDA_VISIBLE_DEVICES|JAX_ENABLE_COMPILATION_CACHE|JAX_PLATFORMS|KMP_DUPLICATE_LIB_OK|KMP_INIT_AT_FORK|NPROC"
    "|XLA_DISABLE_FUNCTIONALIZATION|XLA_EXPERIMENTAL|XLA_FLAGS)$"
)
"""Regular expression of the effective variables in which two results may differ: folders and devices, numbers of
threads (a field of their own), what each backend sets by its configuration, what libraries set when they are imported,
and the library by which numpy computes."""


class Quiet(msgspec.Struct, kw_only=True):
    """Result of the rule of quiet turns."""

    rule: int
    """Version of the rule: records under different rules are not judged alike."""
    policy: str
    """What the environment changes of the libraries and their threads, and the priority: `libraries` for nothing, or
    its effective variables that are not `NEUTRAL`, and `nice` if it was raised."""
    own_wait_share: float | None = None
    """Usual wait of this experiment's processes without interference, from idle turns of this run or earlier ones,
    else from turns of this process that others could not delay; None: unknown."""
    own_wait_idle: bool | None = None
    """Whether `own_wait_share` comes from idle turns; None: the record is of an earlier version."""
    turns: Turns = msgspec.field(default_factory=Turns)
    waited_s: float = 0.0
    """Seconds that the group waited for other programs before its turns."""
    programs: list[str] = msgspec.field(default_factory=list)
    """Short names of the programs that used the CPUs most, if turns were disturbed."""
    at_least_s: float | None = None
    """Lower bound of a refused result: seconds of an iteration on a quiet machine; None: unknown."""
    at_most_s: float | None = None
    """Upper bound of a refused result, in the same way."""


class Until(msgspec.Struct, kw_only=True):
    """How a process ended its blocks, if their number was not fixed."""

    rule: UntilRule = "stable"
    """`stable`: until the median of its steady blocks was known well enough."""
    target: float
    """Half the width of the median's 95 % interval, as a share of the median, at which it stops."""
    budget_s: float
    half_width: float | None = None
    """Half width that was reached; None under six steady blocks, which have no interval."""
    spent_s: float = 0.0
    """Running time since the warm-up, re-warming included."""
    stable: bool = False
    """Whether the target was reached."""


class Measurement(msgspec.Struct, kw_only=True):
    """The protocol of the measurement; its settings are no part of the experiment's identity."""

    protocol: str = "xlabench"
    """The preset: `xlabench`, `peer` or `hud`."""
    order: str = "sequence"
    """`interleaved` (turns, while the group's other processes are stopped), `rounds`, `sequence`."""
    block: int = 1
    """Number of blocks of the longest turn."""
    together: int = 1
    """Number of processes that were open at the same time and took turns, including this one."""
    processes: int = 1
    """Number of processes of the experiment; each has its own record with its `replica`."""
    looks: int = 1
    """Number of times that verdicts of the run may be judged, each time with more processes (`--until-verdict`)."""
    repeat: int | None = None
    until: Until | None = None
    """The rule of stopping, if blocks beyond `repeat` were allowed; None: exactly `repeat` blocks."""
    warmup_min: int | None = None
    warmup_max: int | None = None
    steady_blocks: int | None = None
    cache: CacheState = "cold"
    start: StartMethod = "fork"
    instrumented: bool = False
    quiet: Quiet | None = None
    """Facts about disturbance by other programs; None: unknown, neither quiet nor disturbed."""
    blocks: Blocks = msgspec.field(default_factory=Blocks)


class Record(msgspec.Struct, kw_only=True):
    """One line of `results.jsonl`: the outcome of one experiment of a run, also of a failed one.

    `metrics` holds the peer's keys and numeric lists only (and `error`, a text, on failure), because the
    peer's analyzer turns each value into an array. Keys of ours there, each a list of one value, are
    `dynamo_compile_time_s` and those that `store/metrics/metrics.yaml` marks as `recorded`.
    """

    model: ModelRef
    experiment: Experiment
    repeat: int
    iterations_per_run: int
    metrics: dict[str, Any]
    timestamp: float
    verification_code: str = "VERIFIER_SKIPPED"
    verification: Verification | None = None
    proof: Proof | None = None
    """Timing proof of the backend; None if none was taken."""
    outputs_file: str | None = None
    schema_version: int = SCHEMA_VERSION
    record_id: str
    experiment_id: str
    variant: str
    run: Run
    purpose: Purpose = "benchmark"
    twin_of: str | None = None
    replica: int = 0
    attempt: int = 1
    status: Status
    error: Error | None = None
    environment: Environment
    measurement: Measurement = msgspec.field(default_factory=Measurement)
    fallback_ops: list[FallbackOp] = msgspec.field(default_factory=list)
    instead_of: str | None = None
    """For an experiment with replaced ops: the experiment_id of the same configuration without replacements."""
    replacements: list[Replacement] = msgspec.field(default_factory=list)
    graph_breaks: list[GraphBreak] = msgspec.field(default_factory=list)
    graphs: list[Graph] = msgspec.field(default_factory=list)
    artifacts: list[Artifact] = msgspec.field(default_factory=list)
    warnings: list[str] = msgspec.field(default_factory=list)
    """All warnings for readers as text, including the findings."""
    findings: list[Finding] = msgspec.field(default_factory=list)
    machine: MachineState | None = None
    used_by: UsedBy | None = None
    """The model that an operator was recorded from."""
    finished_at: float
    reproduce: str

    @property
    def key(self) -> tuple[str, str]:
        """Identify the experiment within its run; its twin has the same key."""
        return self.experiment_id, self.environment.name

    def steady_s(self) -> list[float]:
        """Return the steady blocks in seconds per iteration, also those of a process that failed later."""
        times = zip(self.metrics.get("per_iter_time", ()), self.measurement.blocks.kind, strict=False)
        return [time for time, kind in times if kind == "steady"]
