"""What scheduler, fork server and measuring process say to each other, and the wire they say it on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from store.record import (
    Artifact,
    Error,
    ExperimentConfig,
    FallbackOp,
    Graph,
    GraphBreak,
    Proof,
    Purpose,
    Replacement,
    Until,
    Verification,
)

if TYPE_CHECKING:
    import socket


VerifyMode = Literal["off", "with", "only"]
"""No verification, beside the timing, or in place of it."""
ProveMode = Literal["off", "once", "again"]
"""No timing proof, one where none is kept, or one in any case."""
Interleave = Literal["processes", "rounds", "off"]
"""Processes of a group take turns while the others are stopped; run whole, in balanced order; or entry by entry."""
TIME_BUDGET_S = 60.0
"""Default budget of a process that measures until it is stable."""
VERDICT_BUDGET_S = 600.0
"""Default budget of `until_verdict`."""
VERDICT_LOOKS = 3
"""How often verdicts are asked for at most: with K, 2 K and 4 K processes. Each look more widens all intervals."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Protocol settings of a run: how often and how long is measured. No part of an experiment's identity."""

    preset: str = "xlabench"
    purpose: Purpose = "benchmark"
    """`calibration`: experiments are measured against themselves (`xlabench calibrate`); `confirmation`: both sides of
    a comparison once more (`xlabench compare --confirm`); `payoff`: models with and without their fallback ops
    (`--without-fallback`). None is a result."""
    repeat: int = 20
    """Steady blocks to take, the least number of them where `until_stable`; under the preset `peer` all blocks."""
    until_stable: float | None = None
    """Blocks are taken until the 95 % interval of their median is within ± this share of it; None: `repeat` blocks."""
    time_budget_s: float | None = None
    """Running time of a process after its warm-up at which `until_stable` gives up (None: `TIME_BUDGET_S`), or wall
    time of all processes that `until_verdict` adds (None: `VERDICT_BUDGET_S`).
    """
    iterations_per_run: int = 1
    processes: int = 3
    """Measuring processes of one experiment, each with a record of its own (its `replica`)."""
    until_verdict: bool = False
    """Ambiguous cells are measured by more processes, until they are settled or the time is spent."""
    twins: int | None = None
    """Experiments that are measured against themselves beside the others; None: as many as the run's size bears."""
    interleave: Interleave = "processes"
    rounds: int = 10
    """Turns that an interleaved process takes; they share its steady blocks."""
    rewarm: int = 1
    """Blocks at the begin of an interleaved turn that are timed apart."""
    warmup_min: int = 5
    warmup_max: int = 50
    steady_blocks: int = 4
    """Blocks without a compilation and without a trend that make a steady state."""
    timeout_s: float = 1800.0
    """Running time of one experiment; its process tree is killed when it is over."""
    threads: int | None = None
    quiet: bool = True
    """Turns that other programs disturb are found, labelled and taken again; a result of too few others is refused."""
    wait_quiet: bool = True
    """A group waits some seconds for other programs before its turns."""
    raise_priority: bool = True
    """Timed processes go before other programs where the user may have that."""
    seed: int = 1337
    start: str = "fork"
    device_index: int | None = None
    """Which device of the accelerator (`--device-index`, `--card`); None: the first."""
    memory_limit_bytes: int | None = None
    """A measuring process whose tree holds more is killed by the scheduler: status `oom`."""
    verify: VerifyMode = "off"
    verify_iterations: int = 3
    tolerance: float | None = None
    """Tolerance in place of the table's."""
    prove: ProveMode = "off"
    """Whether a proof of the backend's clock is needed: without it a number may leave out work."""
    cosine: bool = False
    """Judge by cosine similarity, also where the table does not say so."""
    instruments: tuple[str, ...] = ()
    """What an extra, instrumented process dumps or profiles: names of `runner.instrument`."""
    save_ir_format: str | None = None
    profile_xla_duration_ms: int = 5000
    artifact_limit_bytes: int = 1 << 30
    """Size limit of all artifacts of one experiment; larger ones are truncated, with a note."""
    collect_dynamo_counters: bool = False
    print_subprocess: bool = False
    """Show what the measuring processes print; it is kept in their logs in any case."""

    @property
    def replicas(self) -> int:
        """Return how often each member of a group is measured: a verdict about the answer needs one process.

        A calibration seats every experiment twice, so half as many are left of its processes.
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
    """Where the place is the name of a module: its absolute path."""
    attribute: str | None = None
    sha256: str
    inputs: tuple[str, ...] = ()
    """Inputs as typed; empty: those of the source."""
    beside: tuple[str, ...] = ()
    """Files in the folder of the source that it imports or reads, relative to it: they are in the hash."""
    folders: tuple[str, ...] = ()
    """Where Python looks for what the source imports."""

    @property
    def title(self) -> str:
        """Return the name without its hash."""
        return self.name.partition("@")[0]


class Load(msgspec.Struct, tag="load", frozen=True, kw_only=True):
    """Build the model and prepare its step."""

    config: ExperimentConfig
    settings: Settings
    batch_size: int | None
    torchbench_dir: str | None
    requested_at: float
    """CLOCK_MONOTONIC when the scheduler asked for the process."""
    results: str | None = None
    """File in which the timed process leaves the results of one more iteration, for the verification; None: nowhere."""
    own: OwnModel | None = None
    """The source of the model (suite `own`)."""


class WarmUp(msgspec.Struct, tag="warm_up", frozen=True):
    """Compile and warm up to the steady state."""


class Exactly(msgspec.Struct, tag="exactly", frozen=True):
    """Take `blocks` blocks in all and label them afterwards, as the peer's runner counts them."""

    blocks: int


class Turn(msgspec.Struct, tag="turn", frozen=True):
    """Take `blocks` timed blocks in the steady state, after `rewarm` blocks that are timed apart."""

    blocks: int
    round: int
    rewarm: int = 0
    disturbed: tuple[int, ...] = ()
    """Numbers of the turns since the warm-up, from 0, that count as disturbed now."""


class Pause(msgspec.Struct, tag="pause", frozen=True):
    """Get ready to be stopped: nothing under way, no helper at work, no file locked."""


class Finish(msgspec.Struct, tag="finish", frozen=True):
    """Report everything and exit."""

    disturbed: tuple[int, ...] = ()
    """Disturbed turns as in `Turn`; the steady blocks of a process that takes no turns are its turn 0."""


class Verify(msgspec.Struct, tag="verify", frozen=True, kw_only=True):
    """Build the model anew and compare the backend's results with eager's; the process does nothing else."""

    load: Load
    timed_results: str | None = None
    """File with results of the timed process."""


class Prove(msgspec.Struct, tag="prove", frozen=True, kw_only=True):
    """Prove that the times of the experiment's backend hold all of its work; the process does nothing else."""

    load: Load


class Instrument(msgspec.Struct, tag="instrument", frozen=True, kw_only=True):
    """Run the experiment once more under dumps and profilers; the process does nothing else."""

    load: Load
    instruments: tuple[str, ...]
    folder: str
    """Absolute path of the experiment's artifact folder; it exists."""
    limit_bytes: int
    """What may still be written."""


class Progress(msgspec.Struct, tag="progress", frozen=True):
    """A phase has begun; no answer is expected."""

    phase: str


class Loaded(msgspec.Struct, tag="loaded", frozen=True, kw_only=True):
    """The model stands on its device."""

    batch_size: int | None
    loss: str | None
    threads: int
    variables: dict[str, str]
    warnings: list[str]
    weights: str = "random"
    """What the model was built with: `random` also where a download was asked for and could not be had."""
    policy: str = "libraries"
    """How its threads wait and at which priority, as in `Quiet`."""


class Probed(msgspec.Struct, frozen=True, kw_only=True):
    """What a fixed piece of work met on the cores."""

    seconds: list[float]
    """On each core, its waiting left out."""
    wait_share: float
    """Share of its time that it waited, on the core where it waited most."""


class TurnFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn tells of its disturbance; the scheduler, who knows what else ran, judges it."""

    blocks: int
    seconds: float
    """Time of its blocks together."""
    wait_s: float | None
    """What the thread that waited most waited for a core meanwhile; None where that is unknown."""
    probes: list[Probed] = []
    """Before and after the turn."""


class WarmedUp(msgspec.Struct, tag="warmed_up", frozen=True, kw_only=True):
    """The warm-up is over; `steady` says whether it reached the steady state."""

    steady: bool
    blocks: int
    facts: TurnFacts | None = None
    """Facts of the steady blocks, if all blocks are taken in one go."""


class TurnDone(msgspec.Struct, tag="turn_done", frozen=True, kw_only=True):
    """The turn's blocks are taken; `steady` is false where a compilation spoilt them."""

    steady: bool
    enough: bool = True
    """Once `repeat` blocks are taken: no further turn is needed."""
    facts: TurnFacts | None = None


class Paused(msgspec.Struct, tag="paused", frozen=True):
    """The process may be stopped."""


class Report(msgspec.Struct, tag="report", frozen=True, kw_only=True):
    """All that the process measured."""

    metrics: dict[str, Any]
    """Lists, one entry per block or a single one: numbers, as the peer's; dynamo's counters are a dict."""
    kinds: list[str]
    compiles: list[int | None]
    executions: list[int | None]
    rounds: list[int]
    fallback_ops: list[FallbackOp]
    graph_breaks: list[GraphBreak]
    warnings: list[str]
    invalid: str | None
    graphs: list[Graph] = []
    rewarm_times: list[float] = []
    """Seconds of the blocks at the begin of turns; they are no part of the metrics."""
    until: Until | None = None
    waits: list[float | None] = []
    """For each block, the seconds that the longest-waiting thread waited for a core; None if unknown."""
    waits_all: list[float | None] = []
    """For each block, the seconds that all threads together waited for a core; None if unknown."""
    inner_loops: list[int] = []
    """How often each block repeated its iterations; times of the metrics are those of one repetition."""
    replacements: list[Replacement] = []
    """What stood in for fallback ops."""


class Verified(msgspec.Struct, tag="verified", frozen=True):
    """What the verification found."""

    verification: Verification
    metrics: dict[str, Any] = {}
    """What dynamo told in this process; it stands in the record where no process was timed."""


class Proved(msgspec.Struct, tag="proved", frozen=True):
    """What the timing proof found."""

    proof: Proof


class Instrumented(msgspec.Struct, tag="instrumented", frozen=True, kw_only=True):
    """What the instrumented run left behind; paths are relative to the experiment's folder."""

    artifacts: list[Artifact]
    metrics: dict[str, Any] = {}
    """Keys of the peer's profile metrics, each a list with one entry per profiled block."""
    graphs: list[Graph] = []
    fallback_times: dict[str, float] = {}
    """Seconds per iteration by fallback op."""
    profiled_iteration_s: float | None = None
    """Seconds of an iteration of the pass that these are from."""
    call_sites: dict[str, str] = {}
    """Where the program asked for a fallback op: `file:line in function`."""
    warnings: list[str] = []


class Failed(msgspec.Struct, tag="failed", frozen=True, kw_only=True):
    """The process could not go on; what it has measured so far stands beside."""

    status: str
    error: Error
    report: Report | None = None


Command = Load | WarmUp | Exactly | Turn | Pause | Finish | Verify | Prove | Instrument
Answer = Progress | Loaded | WarmedUp | TurnDone | Paused | Report | Verified | Proved | Instrumented | Failed


class Fork(msgspec.Struct, tag="fork", frozen=True, kw_only=True):
    """Ask the server for a measuring process; its channel and its log travel as file descriptors."""

    child: int
    variables: dict[str, str]


class Hello(msgspec.Struct, tag="hello", frozen=True, kw_only=True):
    """The server is ready."""

    import_s: float
    probe_s: float | None
    threads: int
    torch: str


class Forked(msgspec.Struct, tag="forked", frozen=True):
    """A measuring process runs."""

    child: int
    pid: int


class Exited(msgspec.Struct, tag="exited", frozen=True):
    """A measuring process ended; `status` as waitpid gives it."""

    child: int
    status: int


ServerAnswer = Hello | Forked | Exited
CONTROL_BYTES = 1 << 16
"""Upper bound of one control message; the control socket keeps message boundaries (SOCK_SEQPACKET)."""

_LENGTH_BYTES = 4


class Closed(Exception):
    """The other end is gone."""


class Channel:
    """Length-prefixed msgpack messages over a stream socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def send(self, message: Any) -> None:
        """Send one message; raise `Closed` where nobody listens."""
        data = msgspec.msgpack.encode(message)
        try:
            self._socket.sendall(len(data).to_bytes(_LENGTH_BYTES, "big") + data)
        except OSError as error:
            raise Closed from error

    def receive(self, kind: Any) -> Any:
        """Wait for one message and decode it as `kind`; raise `Closed` at the end of the stream."""
        length = int.from_bytes(self._exactly(_LENGTH_BYTES), "big")
        return msgspec.msgpack.decode(self._exactly(length), type=kind)

    def _exactly(self, count: int) -> bytes:
        chunks = bytearray()
        while len(chunks) < count:
            try:
                chunk = self._socket.recv(count - len(chunks))
            except OSError as error:
                raise Closed from error
            if not chunk:
                raise Closed
            chunks += chunk
        return bytes(chunks)
