"""What a job may be: typed data, never a path, a shell word or code. What is not named here cannot be asked for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from runner import flags
from runner.flags import request_words
from runner.plan import plan_file
from runner.plan.request import Configuration, Instrument, JobKind, Protocol, RunRequest, Selection
from runner.plan.values import LONGEST_CONFIG, Identity, Side, XlaFlag
from runner.suites.operators import document
from store.errors import UsageError
from store.record import Accelerator

__all__ = [
    "LONGEST_CONFIG",
    "Configuration",
    "ConfirmRequest",
    "Instrument",
    "Needs",
    "Protocol",
    "Request",
    "RunRequest",
    "Selection",
    "XlaFlag",
    "decode",
    "encode",
    "needs",
    "of_flags",
    "words",
]


class ConfirmRequest(JobKind, frozen=True, kw_only=True, tag="confirm"):
    """Measure the suspected cells of two sides again, interleaved: `xlabench compare A B --confirm`."""

    old: Side
    new: Side
    run: Side | None = None
    """The run that contains the environments or backends A and B."""
    cells: Literal["suspected", "all"] = "suspected"
    experiments: Annotated[tuple[Identity, ...], Meta(max_length=2000)] = ()
    """Experiments of the new side to confirm; empty: all of these cells."""
    processes: Annotated[int, Meta(ge=3, le=1000)] | None = None
    accelerator: tuple[Accelerator, ...] = ()
    """Accelerators that the job waits for; empty means all that the machine has."""


Request = RunRequest | ConfirmRequest


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """What a job waits for."""

    accelerators: tuple[Accelerator, ...] = ()
    """Empty means all that the machine has."""
    accelerator_model: str | None = None
    """None means any model."""
    device_index: int | None = None
    environments: tuple[str, ...] = ()
    store: bool = False
    """Whether the job reads the home's store, which is on the worker's machine."""


def encode(request: Request) -> str:
    """Return a request as the text of its row."""
    return msgspec.json.encode(request).decode()


def decode(text: str | bytes) -> Request:
    """Read a request from its text.

    Raises:
        msgspec.DecodeError: it is no request; the message names the place.
    """
    request: Request = msgspec.json.decode(text, type=Request)
    return request


def needs(request: Request) -> Needs:
    """Return what a request waits for."""
    if isinstance(request, ConfirmRequest):
        return Needs(accelerators=request.accelerator, store=True)
    accelerators = request.selection.accelerator or (("cpu",) if request.selection.smoke else ())
    device_index = request.protocol.device_index
    if request.plan is not None:
        accelerators = tuple(dict.fromkeys(experiment.config["accelerator"] for experiment in request.plan.experiments))
        if device_index is None:  # an explicit flag overrides the plan's own settings
            device_index = request.plan.settings.get("device_index")
    return Needs(
        accelerators=accelerators,
        accelerator_model=request.accelerator_model,
        device_index=device_index,
        environments=request.environments or ("default",),
    )


@dataclass(frozen=True, kw_only=True)
class JobRequest:
    """A request with what people say about it."""

    request: Request
    label: str
    """Name of the run."""
    why: str = ""
    key: str = ""
    """Idempotency key: a second submission returns the same job, for example on a double click; empty: a new job."""
    priority: int = 0
    """Jobs with a higher priority run first; -100 to 100."""
    timeout_s: float | None = None
    """Time limit of one attempt; None: that of [jobs]."""


# The request that flags of `xlabench run` ask for, and the command that one would type for a request.


def of_flags(parsed: argparse.Namespace) -> RunRequest:
    """Return what the flags ask for.

    Raises:
        UsageError: a flag that a job cannot have, or a value that it does not take.
    """
    local_request = flags.read(parsed)
    for name in ("models_file", "torchbench_dir"):
        if getattr(local_request, name):
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} names a file or folder, but a job contains only data; remove it.")
    if local_request.request.plan is not None:
        plan_file.refuse_selection_flags(local_request)
        if local_request.selection != Selection():
            raise UsageError("A job measures all of a plan; remove --total-partitions and --partition-id.")
    named = local_request.selection.ops_of
    if named and Path(named).is_file():
        raise UsageError(
            f"--ops-of {named} is a file, but a job contains only data. Measure it with `xlabench run --ops-of`, "
            "and pass the operators.json of that run with --config."
        )
    for name, python in local_request.env:
        if python is not None:
            raise UsageError(
                f"--env {name}={python}: a job can only use environments of xlabench.toml; pass --env {name}."
            )
    data = local_request.changed(config=tuple(_configurations(local_request.selection.config))).request
    # Only jobs have this field.
    data = msgspec.structs.replace(data, accelerator_model=getattr(parsed, "accelerator_model", None))
    try:
        return msgspec.convert(msgspec.to_builtins(data), RunRequest)
    except msgspec.ValidationError as error:
        raise UsageError(f"A job does not support this: {error}. `xlabench run` may.") from None


def _configurations(configs: Sequence[str]) -> list[str]:
    """Return the JSON of configurations: that of files goes into the request.

    Raises:
        ConfigError: there is no such file, or it is none.
    """
    texts = [document.text_of(config) for config in configs]
    for text in texts:
        document.of_text(text)
    return [text.text.strip() for text in texts]


def words(request: Request) -> list[str]:
    """Return the words behind `xlabench`; every value is part of its flag's own word, so none can become another flag.

    Args:
        request: a checked one; of its plan, nothing becomes a word.
    """
    if not isinstance(request, ConfirmRequest):
        return ["run", *request_words(request)]
    words = ["compare", request.old, request.new, f"--confirm={request.cells}"]
    words += [f"--run={request.run}"] if request.run else []
    words += [f"--experiment={experiment}" for experiment in request.experiments]
    return words + ([f"--processes={request.processes}"] if request.processes else [])
