"""Try the user's own models, each in a process of its own: what it is, and whether it runs.

`look` starts the processes and imports no torch. `main` is the process, `python -m runner.suites.own.trial`: it
imports torch and executes what the user named, and its file tells which model it is, then whether that runs.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from runner.failure import status_of, storable
from runner.settings import OwnModel
from runner.suites.base import BuildRequest, SuiteContext, TriedModel
from runner.suites.own import source
from runner.suites.own.reference import OwnModelError, Reference, described, read, tag_of, typed
from runner.suites.own.source import ImportedSource
from store.errors import UsageError
from store.files import write_atomically

_PATIENCE_S = 20.0
"""Seconds after which a message says what the command waits for."""
_WATCH_EVERY_S = 0.2
_MOST_PRINTED_BYTES = 1 << 28
"""Limit of what a trial prints: a model that prints in an endless loop would fill the disk until its time is over."""
_TAIL_BYTES = 1 << 16


class TrialRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the command wants to know."""

    word: str = ""
    inputs: tuple[str, ...] = ()
    batch_size: int | None = None
    weights: str = "random"
    seed: int = 1337
    pickled: OwnModel | None = None
    """The model that `xlabench.measure` wrote, in place of `word`."""


class TrialAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the trial has found so far."""

    error: str | None = None
    own: OwnModel | None = None
    tried: TriedModel | None = None


def try_models(
    requests: Sequence[TrialRequest], *, python: str = sys.executable, variables: Mapping[str, str], timeout_s: float
) -> tuple[TriedModel, ...]:
    """Return the models, each once and tried for at most `timeout_s` seconds by the interpreter that measures them.

    Raises:
        UsageError: one cannot be used; one sentence says why.
    """
    try:
        for request in requests:
            if request.pickled is None:
                read(request.word)  # a missing source is refused without a process, which takes seconds for torch
            for text in request.inputs:
                typed(text)
    except OwnModelError as error:
        raise UsageError(str(error)) from None
    own_models = [_one(request, python, variables, timeout_s) for request in requests]
    return tuple({one.model.name: one for one in own_models}.values())


def _one(request: TrialRequest, python: str, variables: Mapping[str, str], timeout_s: float) -> TriedModel:
    name = request.word or "the module"
    with tempfile.TemporaryDirectory(prefix="xlabench-own-") as folder:
        out, errors = Path(folder) / "answer.json", Path(folder) / "errors.txt"
        command = [python, "-m", "runner.suites.own.trial", msgspec.json.encode(request).decode(), str(out)]
        with errors.open("wb") as file:
            process = subprocess.Popen(
                command,
                env=dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
                start_new_session=True,
            )
        code = _ended(process, name, timeout_s, errors)
        answer = msgspec.json.decode(out.read_bytes(), type=TrialAnswer) if out.exists() else TrialAnswer()
        with errors.open("rb") as file:
            file.seek(max(0, errors.stat().st_size - _TAIL_BYTES))
            lines = file.read().decode(errors="replace").strip().splitlines()
    if answer.error is not None:
        raise UsageError(answer.error)
    if answer.tried is not None:
        return answer.tried
    if answer.own is not None and code == -signal.SIGKILL:
        return TriedModel(model=answer.own, too_large="its process was killed")
    how = f"was killed by signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"ended with exit code {code}"
    raise UsageError(
        f"{name} cannot be tried: its process {how}{f'; its last line was: {lines[-1][:300]}' if lines else ''}"
    )


def _ended(process: subprocess.Popen[bytes], name: str, timeout_s: float, errors: Path) -> int:
    """Return the exit code of a trial, which is killed after `timeout_s`; nothing that it started outlives this.

    Raises:
        UsageError: it takes too long, or prints too much.
    """
    began, announced = time.monotonic(), False
    try:
        while (spent := time.monotonic() - began) < timeout_s:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(min(_WATCH_EVERY_S, timeout_s - spent))
            if errors.stat().st_size > _MOST_PRINTED_BYTES:
                raise UsageError(
                    f"{name} printed more than {_MOST_PRINTED_BYTES >> 20} MiB of errors when it was tried, and was "
                    "stopped before it filled the disk. Correct it."
                )
            if not announced and time.monotonic() - began >= _PATIENCE_S:
                announced = True
                sentence = f"{name} is tried once before it is measured; this has taken {_PATIENCE_S:g} s so far."
                sys.stderr.write(f"{sentence}\n")
                sys.stderr.flush()
        raise UsageError(f"The trial of {name} did not end within {timeout_s:g} s; raise --subprocess-timeout.")
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def main(words: list[str]) -> None:
    """Read the request from the first argument and write the answer to the file of the second."""
    request, out = msgspec.json.decode(words[0], type=TrialRequest), Path(words[1])
    sys.dont_write_bytecode = True
    with source.watched() as reads:
        try:
            _answer(request, out, reads)
        except OwnModelError as error:
            write_atomically(out, msgspec.json.encode(TrialAnswer(error=storable(str(error)))))


def _answer(request: TrialRequest, out: Path, reads: source.Reads) -> None:
    """Say which model it is, then whether it runs; what it reads on the way is part of its hash."""

    def write(answer: TrialAnswer) -> None:
        write_atomically(out, msgspec.json.encode(answer))

    if request.pickled is not None:
        write(TrialAnswer(own=request.pickled))
        write(TrialAnswer(own=request.pickled, tried=_tried(request.pickled, request)))
        return
    reference = read(request.word)
    attribute, imported = _imported(reference, request)
    own = _own(reference, attribute, imported, request, reads)
    write(TrialAnswer(own=own))
    tried = _tried(own, request)
    own = _own(reference, attribute, imported, request, reads)
    tag = tag_of(own.sha256, request.inputs)
    if reference.tag not in (None, tag):
        raise OwnModelError(
            f"{own.title} has changed: its hash was {reference.tag} and is {tag} now; leave out @{reference.tag} to "
            "measure the changed model."
        )
    write(TrialAnswer(own=own, tried=replace(tried, model=own)))


def _imported(reference: Reference, request: TrialRequest) -> tuple[str | None, ImportedSource | None]:
    """Import what a reference names, where it is Python; return the name of the model in it, and what it holds."""
    from runner.suites.building import seed_everything

    if reference.form not in ("file", "module"):
        return reference.attribute, None
    seed_everything(request.seed)
    imported = source.load(reference.form, reference.place, reference.base)
    return source.choose(imported, reference.attribute, has_inputs=bool(request.inputs)).name, imported


def _own(
    reference: Reference,
    attribute: str | None,
    imported: ImportedSource | None,
    request: TrialRequest,
    reads: source.Reads,
) -> OwnModel:
    """Return the model, with the hash of its source and of the files beside it that it has read so far."""
    from runner.suites.own import build

    if imported is not None:
        files = reads.further_files(imported.path, source.declared(imported.names))
        sha256 = source.sha256(imported.path, files)
    else:
        files = build.weight_files(reference.form, reference.place, request.weights)
        sha256 = build.sha256(reference.form, reference.place, files)
    named = reference.named(attribute)
    plain = reference.form == "torchvision" and not request.inputs
    return OwnModel(
        name=named if plain else f"{named}@{tag_of(sha256, request.inputs)}",
        form=reference.form,
        place=reference.place,
        file=str(imported.path.resolve()) if imported is not None and reference.form == "module" else None,
        attribute=attribute,
        sha256=sha256,
        inputs=request.inputs,
        further_files=files,
    )


def _tried(own: OwnModel, request: TrialRequest) -> TriedModel:
    """Build the model and call it once, in eager mode."""
    try:
        return _run(own, request)
    except Exception as error:
        if isinstance(error, OwnModelError) or status_of("load", error) != "oom":
            raise
        return TriedModel(model=own, too_large=described(error))


def _run(own: OwnModel, trial_request: TrialRequest) -> TriedModel:
    import torch

    from runner.suites.own.build import build

    request = BuildRequest(
        model_name=own.name,
        test="eval",
        accelerator="cpu",
        batch_size=trial_request.batch_size,
        seed=trial_request.seed,
        weights="pretrained" if trial_request.weights == "pretrained" else "random",
        context=SuiteContext(own=(TriedModel(model=own),)),
    )
    workload = build(own, request)
    try:
        with torch.no_grad():
            output = workload.module.eval()(*workload.args, **workload.kwargs)
    except Exception as error:
        source.pass_on_memory(error)
        files = [own.place] if own.form == "file" else []
        raise OwnModelError(
            f"{own.title} does not run with its inputs: {described(error, files)}. Correct the model or its inputs."
        ) from error
    if isinstance(output, Iterator):
        raise OwnModelError(
            f"{own.title} returns a {type(output).__name__}, which computes nothing until it is read, and nobody would "
            "read it. Return its tensors, for example as a tuple."
        )
    floating = {
        str(parameter.dtype).removeprefix("torch.")
        for parameter in workload.module.parameters()
        if parameter.is_floating_point()
    }
    return TriedModel(
        model=own,
        dtype=floating.pop() if len(floating) == 1 else "float32",
        trains=workload.train_step is not None or workload.loss_name == "own",
    )


if __name__ == "__main__":
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # output of the user's code is discarded
    main(sys.argv[1:])
    os._exit(0)  # a thread that the user's code has started would keep the interpreter
