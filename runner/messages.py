"""The messages between scheduler, fork server and benchmark process, and the channel that carries them."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import msgspec

from runner.settings import OwnModel, Settings
from store.errors import Signal
from store.record import (
    Artifact,
    Blocks,
    Error,
    ExperimentConfig,
    FallbackOp,
    Finding,
    Graph,
    GraphBreak,
    Phase,
    Proof,
    Replacement,
    Until,
    Verification,
)

UNFINISHED = ".part"
"""End of the name of a file of results while it is written."""


class Load(msgspec.Struct, tag="load", frozen=True, kw_only=True):
    """Build the model and prepare its step."""

    config: ExperimentConfig
    settings: Settings
    batch_size: int | None
    torchbench_dir: str | None
    requested_at: float
    """CLOCK_MONOTONIC when the scheduler requested the process."""
    results: str | None = None
    """File in which the timed process leaves the results of its last timed iteration, for the verification."""
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
    stopped: bool = True
    """The process was stopped before; else only the turn before was judged, which costs no long block its caches."""
    disturbed: tuple[int, ...] = ()
    """Numbers of the turns since the warm-up, from 0, that count as disturbed now."""


class Pause(msgspec.Struct, tag="pause", frozen=True):
    """Get ready to be stopped: nothing under way, no helper at work, no file locked."""


class Finish(msgspec.Struct, tag="finish", frozen=True):
    """Report what was timed (`MeasuredTimes`), look at results and graphs, report everything, and exit."""

    disturbed: tuple[int, ...] = ()
    """Disturbed turns as in `Turn`; the steady blocks of a process that takes no turns are its turn 0."""


class Verify(msgspec.Struct, tag="verify", frozen=True, kw_only=True):
    """Build the model and compare the backend's results with eager's; the process does nothing else."""

    load: Load
    timed_results: str | None = None
    """File with results of the timed process."""
    shared: str | None = None
    """Folder in which the members of a group share the references of the verification; None: there is no other."""


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

    phase: Phase


class Loaded(msgspec.Struct, tag="loaded", frozen=True, kw_only=True):
    """The model is on its device."""

    batch_size: int | None
    loss: str | None
    threads: int
    variables: dict[str, str]
    warnings: list[str]
    weights: str = "random"
    """What the model was built with: `random` also where a requested download failed."""
    policy: str = "libraries"
    """How its threads wait and at which priority, as in `Quiet`."""


class Probed(msgspec.Struct, frozen=True, kw_only=True):
    """What a fixed piece of work met on the cores."""

    seconds: list[float]
    """Seconds of the work on each core, without its waiting."""
    wait_share: float
    """Share of its time that it waited, on the core where it waited most."""
    wake_up_s: float = 0.0
    """What a thread that wakes waits for its core, on average, on the core where it waits longest."""


class TurnFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about the disturbance of a turn; the scheduler, which knows what else ran, judges it."""

    blocks: int
    seconds: float
    """Time of its blocks together."""
    wait_s: float | None
    """What the thread that waited most waited for a core meanwhile; None where that is unknown."""
    probes: list[Probed] = []
    """Probes before and after the turn."""
    threads_probe_s: float | None = None
    """Seconds of a fixed piece of work on all of torch's threads before the turn; None for one thread, or on a GPU."""
    dispatched: int | None = None
    """How often the thread got a core that got one most often; None where that is unknown."""
    bound: bool = False
    """Whether each thread that computed has a core of its own, so that no two of them wait for the same."""


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
    """Whether `repeat` blocks are taken, so that no further turn is needed."""
    facts: TurnFacts | None = None


class Paused(msgspec.Struct, tag="paused", frozen=True):
    """The process may be stopped."""


class ProcessReport(msgspec.Struct, tag="report", frozen=True, kw_only=True):
    """All that the process measured."""

    metrics: dict[str, Any]
    """Lists, one entry per block or a single one: numbers, as the peer's; dynamo's counters are a dict."""
    blocks: Blocks
    """What is known of each timed block, as the record keeps it."""
    fallback_ops: list[FallbackOp]
    graph_breaks: list[GraphBreak]
    warnings: list[str]
    invalid: str | None
    graphs: list[Graph] = []
    findings: list[Finding] = []
    """Reasons to doubt the times that only the process itself sees."""
    until: Until | None = None
    replacements: list[Replacement] = []
    """What stood in for fallback ops."""


class MeasuredTimes(msgspec.Struct, tag="measured", frozen=True):
    """All that was timed, before anything else runs in the process; the answer to `Finish` follows."""

    report: ProcessReport


class Verified(msgspec.Struct, tag="verified", frozen=True):
    """What the verification found."""

    verification: Verification
    metrics: dict[str, Any] = {}
    """Dynamo's counters in this process; the record holds them if no process was timed."""


class Proved(msgspec.Struct, tag="proved", frozen=True):
    """What the timing proof found."""

    proof: Proof


class Instrumented(msgspec.Struct, tag="instrumented", kw_only=True):
    """What the instrumented run left behind, filled by its tools; paths are relative to the experiment's folder."""

    artifacts: list[Artifact]
    metrics: dict[str, Any] = {}
    """Keys of the peer's profile metrics, each a list with one entry per profiled block."""
    graphs: list[Graph] = []
    fallback_times: dict[str, float] = {}
    """Seconds per iteration by fallback op."""
    profiled_iteration_s: float | None = None
    """Seconds of an iteration of the pass that these are from."""
    warnings: list[str] = []


class Failed(msgspec.Struct, tag="failed", frozen=True, kw_only=True):
    """The process could not continue; `report` holds what it has measured so far."""

    status: str
    error: Error
    report: ProcessReport | None = None


Command = Load | WarmUp | Exactly | Turn | Pause | Finish | Verify | Prove | Instrument
Answer = (
    Progress
    | Loaded
    | WarmedUp
    | TurnDone
    | Paused
    | MeasuredTimes
    | ProcessReport
    | Verified
    | Proved
    | Instrumented
    | Failed
)


class Fork(msgspec.Struct, tag="fork", frozen=True, kw_only=True):
    """Ask the server for a benchmark process; its channel and its log travel as file descriptors."""

    child: int
    variables: dict[str, str]


class Hello(msgspec.Struct, tag="hello", frozen=True, kw_only=True):
    """The server is ready."""

    import_s: float
    probe_s: float | None


class Forked(msgspec.Struct, tag="forked", frozen=True):
    """A benchmark process runs."""

    child: int
    pid: int


class Exited(msgspec.Struct, tag="exited", frozen=True):
    """A benchmark process ended; `status` as waitpid gives it."""

    child: int
    status: int


ServerAnswer = Hello | Forked | Exited
CONTROL_BYTES = 1 << 16
"""Upper bound of one control message; the control socket keeps message boundaries (SOCK_SEQPACKET)."""

_LENGTH_BYTES = 4
MOST_MESSAGE_BYTES = 1 << 27
"""Upper bound of one message: text that was written into the channel begins with a larger length."""


class Closed(Signal):
    """The other end is gone."""


class Garbled(Signal):
    """The stream holds bytes that are no message: other code than ours has written into it."""


class Channel:
    """Length-prefixed msgpack messages over a stream socket.

    `multiprocessing.connection` would save ten lines, but takes 7 ms to import in each process.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def send(self, message: Any) -> None:
        """Send one message; raise `Closed` if the other end is closed."""
        data = msgspec.msgpack.encode(message)
        try:
            self._socket.sendall(len(data).to_bytes(_LENGTH_BYTES, "big") + data)
        except OSError as error:
            raise Closed from error

    def receive(self, kind: Any, wait: Callable[[], None] = lambda: None) -> Any:
        """Wait for one message and decode it as `kind`.

        Args:
            kind: the type of the message.
            wait: called before each part of the message is read, as its rest may never come.

        Raises:
            Closed: the stream has ended.
            Garbled: the stream holds something else.
        """
        length = int.from_bytes(self._exactly(_LENGTH_BYTES, wait), "big")
        if length > MOST_MESSAGE_BYTES:
            raise Garbled
        data = self._exactly(length, wait)
        try:
            return msgspec.msgpack.decode(data, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Garbled from error

    def _exactly(self, count: int, wait: Callable[[], None]) -> bytes:
        chunks = bytearray()
        while len(chunks) < count:
            wait()
            try:
                chunk = self._socket.recv(count - len(chunks))
            except OSError as error:
                raise Closed from error
            if not chunk:
                raise Closed
            chunks += chunk
        return bytes(chunks)
