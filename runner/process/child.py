"""The measuring process: answers the scheduler's messages one after the other."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from runner import failure
from runner.backends import dynamo
from runner.messages import (
    Channel,
    Closed,
    Command,
    Exactly,
    Failed,
    Finish,
    Instrument,
    Load,
    Pause,
    Paused,
    Progress,
    Prove,
    Proved,
    Turn,
    Verified,
    Verify,
    WarmUp,
)
from runner.process.measure import Measurement

if TYPE_CHECKING:
    from store.record import Phase


def serve(channel: Channel) -> None:
    """Obey messages until `finish` or the end of the conversation; every failure is told before leaving."""
    measurement: Measurement | None = None
    phase: Phase = "load"

    def enter(name: Phase) -> None:
        nonlocal phase
        phase = name
        channel.send(Progress(name))

    try:
        while True:
            command = channel.receive(Command)
            if isinstance(command, Verify | Prove | Instrument):
                _extra(command, channel, enter)
                return
            if isinstance(command, Load):
                enter("load")
                measurement = Measurement(command)
                channel.send(measurement.load())
            elif measurement is None:
                raise RuntimeError("the first message must be `load`")  # noqa: TRY301 - told to the scheduler below
            elif _obey(command, measurement, channel, enter):
                return
    except Closed:
        return
    except BaseException as error:  # noqa: BLE001 - the scheduler has to learn of everything
        _fail(channel, phase, error, measurement)


def _extra(command: Verify | Prove | Instrument, channel: Channel, enter: Any) -> None:
    """Do what an extra process is for; it answers once."""
    if isinstance(command, Verify):
        from runner.verify import verify

        enter("verify")
        channel.send(Verified(verify(command.load, command.timed_results), _of_dynamo(command.load)))
    elif isinstance(command, Prove):
        from runner.proof.process import prove

        enter("measure")
        channel.send(Proved(prove(command.load)))
    else:
        from runner.instrument.process import instrument

        enter("profile")
        channel.send(instrument(command))


def _of_dynamo(load: Load) -> dict[str, Any]:
    """Return dynamo's counters and compile time, as the timed process reports them; nothing of other backends."""
    if not load.config.dynamo or not load.settings.collect_dynamo_counters:
        return {}
    seconds = dynamo.compile_time_s()
    own = {"dynamo_compile_time_s": [seconds]} if seconds is not None else {}
    return {"dynamo_counters": [dynamo.counters()], **own}


def _obey(command: Any, measurement: Measurement, channel: Channel, enter: Any) -> bool:
    """Carry out one message after loading; return whether it was the last."""
    if isinstance(command, WarmUp | Exactly):
        if not measurement.begun:
            enter(measurement.first_phase)
            measurement.first()
        enter("warmup")
        answer = measurement.warm_up() if isinstance(command, WarmUp) else measurement.exactly(command.blocks)
        channel.send(answer)
    elif isinstance(command, Turn):
        enter("measure")
        channel.send(measurement.turn(command))
    elif isinstance(command, Pause):
        measurement.pause()
        channel.send(Paused())
    elif isinstance(command, Finish):
        measurement.label(command.disturbed)
        channel.send(measurement.report(finished=True))
        return True
    return False


def _fail(channel: Channel, phase: Phase, error: BaseException, measurement: Measurement | None) -> None:
    report = None
    if measurement is not None and phase not in ("load", "compile"):
        # A device that failed may not answer any more; the first error is the one to tell.
        with contextlib.suppress(Exception):
            report = measurement.report()
    channel.send(Failed(status=failure.status_of(phase, error), error=failure.describe(phase, error), report=report))
