"""The settings of a run: how often and how long is measured, and where a user's own model lies."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from runner.flag import Count, Flag, Number, Seed, Share, Tolerance
from store.record import Purpose

VerifyMode = Literal["off", "with", "only"]
"""No verification, one in addition to the timing, or one in place of it."""
ProveMode = Literal["off", "once", "again"]
"""No timing proof, one where none is kept, or one in any case."""
Interleave = Literal["processes", "rounds", "off"]
"""Processes of a group take turns while the others are stopped; run whole, in balanced order; or entry by entry."""
STABLE_TARGET = 0.01
"""Target of `--until-stable`: a third of the default noise floor, so that a process's own noise hides no verdict."""
VERIFICATION, ARTIFACTS = "verification", "artifacts (written by an extra, instrumented process)"
"""Groups of flags."""
TIME_BUDGET_S = 60.0
"""Default budget of a process that measures until it is stable."""
VERDICT_BUDGET_S = 600.0
"""Default budget of `until_verdict`."""
VERDICT_LOOKS = 3
"""Largest number of looks at verdicts: with K, 2 K and 4 K processes. Each further look widens all intervals."""


class TypedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a request and the settings of its run have alike: each field is a flag, and a setting of the same name."""

    until_stable: Annotated[
        Share | None,
        Flag(
            "continue after --repeat blocks until the 95 % confidence interval of a process's median is within "
            "± TARGET (default: 1%) or the time budget is spent",
            const=STABLE_TARGET,
        ),
    ] = None
    iterations_per_run: Annotated[Count, Flag("iterations per timed block (default: 1)")] = 1
    until_verdict: Annotated[
        bool, Flag("measure ambiguous experiments with more processes: twice, then four times as many")
    ] = False
    interleave: Annotated[
        Interleave,
        Flag(
            "order of a group's processes: in turns, with the others stopped (processes); each as a whole, in a "
            "balanced order (rounds); or experiment by experiment (off) (default: processes)"
        ),
    ] = "processes"
    rounds: Annotated[Count, Flag("number of turns of an interleaved process (default: 10)", metavar="R")] = 10
    rewarm: Annotated[
        Number,
        Flag(
            "blocks at the start of each turn that do not count as steady state (default: 1, and at least 50 ms of "
            "blocks, on GPUs 200 ms); 0 takes none"
        ),
    ] = 1
    twins: Annotated[
        Number | None,
        Flag(
            "number of A/A controls: experiments that are also measured against themselves, to estimate the run's "
            "false-alarm rate (default: one for every ten groups, and at least one for three or more groups)"
        ),
    ] = None
    warmup_min: Annotated[
        Count, Flag("take at least this many warm-up blocks, the first included (default: 5, the minimum)")
    ] = 5
    warmup_max: Annotated[
        Count, Flag("give up after this many warm-up blocks and record `never_steady` (default: 50)")
    ] = 50
    threads: Annotated[Count | None, Flag("number of CPU threads of every backend (default: torch's default)")] = None
    seed: Annotated[Seed, Flag("random seed of weights, inputs and random operations (default: 1337)")] = 1337
    device_index: Annotated[Number | None, Flag("index of the device to use", names=("--card",))] = None
    start: Annotated[
        Literal["fork", "interpreter"],
        Flag("fork processes from a warm server, or start a new interpreter each time (default: fork)"),
    ] = "fork"
    verify_iterations: Annotated[Count, Flag("number of iterations to compare (default: 3)", group=VERIFICATION)] = 3
    tolerance: Annotated[
        Tolerance | None, Flag("tolerance, instead of the suite's own (see docs/verify.md)", group=VERIFICATION)
    ] = None
    cosine: Annotated[bool, Flag("compare all models by cosine similarity", group=VERIFICATION)] = False
    save_ir_format: Annotated[
        Literal["text", "hlo", "stablehlo"] | None,
        Flag("save the IR of every graph in this format", names=("--save-ir",), once=True, group=ARTIFACTS),
    ] = None
    profile_xla_duration_ms: Annotated[
        Count, Flag("length of the XLA profile in milliseconds (default: 5000)", metavar="MS", group=ARTIFACTS)
    ] = 5000
    collect_dynamo_counters: Annotated[
        bool, Flag("add dynamo's counters to the record (without an extra process)", group=ARTIFACTS)
    ] = False


class Settings(TypedSettings, frozen=True, kw_only=True):
    """Protocol settings of a run: how often and how long is measured. No part of an experiment's identity."""

    preset: str = "xlabench"
    purpose: Purpose = "benchmark"
    """`calibration`: experiments are measured against themselves (`xlabench calibrate`); `confirmation`: both sides of
    a comparison once more (`xlabench compare --confirm`); `payoff`: models with and without their fallback ops
    (`--without-fallback`). None is a result."""
    repeat: int = 20
    """Steady blocks to take, the least number of them where `until_stable`; under the preset `peer` all blocks."""
    time_budget_s: float | None = None
    """Running time of a process after its warm-up at which `until_stable` gives up (None: `TIME_BUDGET_S`), or wall
    time of all processes that `until_verdict` adds (None: `VERDICT_BUDGET_S`).
    """
    processes: int = 3
    """Benchmark processes of one experiment, each with a record of its own (its `replica`)."""
    steady_blocks: int = 4
    """Blocks without a compilation and without a trend that make a steady state."""
    timeout_s: float = 1800.0
    """Running time of one experiment; its process tree is killed when it is over."""
    quiet: bool = True
    """Turns that other programs disturb are found, labelled and taken again; a result of too few others is refused."""
    wait_quiet: bool = True
    """A group waits some seconds for other programs before its turns."""
    raise_priority: bool = True
    """Timed processes go before other programs where the user may have that."""
    memory_limit_bytes: int | None = None
    """A benchmark process whose tree holds more is killed by the scheduler: status `oom`."""
    verify: VerifyMode = "off"
    prove: ProveMode = "off"
    """Whether a proof of the backend's clock is needed: without it a number may leave out work."""
    instruments: tuple[str, ...] = ()
    """What an extra, instrumented process dumps or profiles: names of `runner.instrument`."""
    artifact_limit_bytes: int = 1 << 30
    """Size limit of all artifacts of one experiment; larger ones are truncated, with a note."""
    print_subprocess: bool = False
    """Show what the benchmark processes print; it is kept in their logs in any case."""

    @property
    def replicas(self) -> int:
        """Return how often each member of a group is measured: a verdict about the answer needs one process.

        A calibration measures every experiment twice at a time, so it has half as many replicas.
        """
        if self.verify == "only":
            return 1
        return max(1, self.processes // 2) if self.purpose == "calibration" else self.processes

    @property
    def records(self) -> int:
        """Return how many records an experiment gets."""
        return 2 * self.replicas if self.purpose == "calibration" else self.replicas

    @property
    def stable_budget_s(self) -> float:
        """Return the time that a process has to become stable."""
        return TIME_BUDGET_S if self.time_budget_s is None else self.time_budget_s

    @property
    def looks(self) -> int:
        """Return how often a cell of the run may be judged while processes are added."""
        return VERDICT_LOOKS if self.until_verdict else 1

    @property
    def verdict_budget_s(self) -> float:
        """Return the wall time that `until_verdict` may add."""
        return VERDICT_BUDGET_S if self.time_budget_s is None else self.time_budget_s

    def turns(self) -> tuple[int, ...]:
        """Return the blocks of each interleaved turn: `repeat` in all, lengths differ by one at most."""
        rounds = min(self.rounds, self.repeat)
        length, longer = divmod(self.repeat, rounds)
        return (length + 1,) * longer + (length,) * (rounds - longer)


OwnForm = Literal["file", "module", "exported", "transformers", "torchvision", "pickled"]


class OwnModel(msgspec.Struct, frozen=True, kw_only=True):
    """Where the source of a user's own model lies on this machine.

    It is executed, so only a command gives it, or `[models]` of the home's xlabench.toml; never a job, record or plan.
    """

    name: str
    """Name in records, with the hash."""
    form: OwnForm
    place: str
    """An absolute path, the name of a module, or the name of a model of torchvision."""
    file: str | None = None
    """Absolute path of the module, if the place is a module's name."""
    attribute: str | None = None
    sha256: str
    inputs: tuple[str, ...] = ()
    """Inputs as typed; empty: those of the source."""
    further_files: tuple[str, ...] = ()
    """Files in the folder of the source that it imports or reads, relative to it: they are in the hash."""
    folders: tuple[str, ...] = ()
    """Where Python looks for what the source imports."""

    @property
    def title(self) -> str:
        """Return the name without its hash."""
        return self.name.partition("@")[0]
