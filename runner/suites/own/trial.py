"""Try a user's own model in a process of its own: what it is, and whether it runs. `python -m runner.suites.own.trial`.

It imports torch and executes what the user named. Two files tell what it found: the model, then whether it runs.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from runner.settings import OwnModel
from runner.suites.own import source
from runner.suites.own.reference import Hooks, OwnModelError, Reference, described, read, tag_of

if TYPE_CHECKING:
    from runner.suites.own.source import ImportedSource


class TrialRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the command wants to know."""

    word: str = ""
    inputs: tuple[str, ...] = ()
    batch_size: int | None = None
    weights: str = "random"
    seed: int = 1337
    pickled: OwnModel | None = None
    """What `xlabench.measure` wrote, in place of the word."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What is known so far."""

    error: str | None = None
    own: OwnModel | None = None
    hooks: Hooks | None = None


def main(words: list[str]) -> None:
    """Answer the question of the first word in the file of the second."""
    asked, out = msgspec.json.decode(words[0], type=TrialRequest), Path(words[1])
    sys.dont_write_bytecode = True
    with source.watched() as reads:
        try:
            _answer(asked, out, reads)
        except OwnModelError as error:
            _tell(out, Told(error=str(error)))


def _answer(asked: TrialRequest, out: Path, reads: source.Reads) -> None:
    """Say which model it is, then whether it runs; what it reads on the way is part of its hash."""
    if asked.pickled is not None:
        _tell(out, Told(own=asked.pickled))
        _tell(out, Told(own=asked.pickled, hooks=_tried(asked.pickled, asked)))
        return
    reference = read(asked.word)
    attribute, found = _found(reference, asked)
    own = _own(reference, attribute, found, asked, reads)
    _tell(out, Told(own=own))
    hooks = _tried(own, asked)
    own = _own(reference, attribute, found, asked, reads)
    tag = tag_of(own.sha256, asked.inputs)
    if reference.tag not in (None, tag):
        raise OwnModelError(
            f"{own.title} has changed: its hash was {reference.tag} and is {tag} now; leave out @{reference.tag} to "
            "measure what it is now."
        )
    _tell(out, Told(own=own, hooks=hooks))


def _tell(out: Path, told: Told) -> None:
    part = out.with_suffix(".part")
    part.write_bytes(msgspec.json.encode(told))
    part.replace(out)


def _found(reference: Reference, asked: TrialRequest) -> tuple[str | None, ImportedSource | None]:
    """Import what a reference names, where it is Python; return the name of the model in it, and what it holds."""
    from runner.suites.building import seed_everything
    from runner.suites.own import inputs, source

    for text in asked.inputs:
        inputs.typed(text)
    if reference.form not in ("file", "module"):
        return reference.attribute, None
    seed_everything(asked.seed)
    found = source.load(reference.form, reference.place, reference.base)
    return source.choose(found, reference.attribute, has_inputs=bool(asked.inputs)).name, found


def _own(
    reference: Reference, attribute: str | None, found: ImportedSource | None, asked: TrialRequest, reads: source.Reads
) -> OwnModel:
    """Return the model, with the hash of its source and of the files beside it that it has read so far."""
    from runner.suites.own import forms

    if found is not None:
        files = reads.beside(found.path, source.declared(found.names))
        sha256 = source.sha256(found.path, files)
    else:
        files = forms.weights_beside(reference.form, reference.place, asked.weights)
        sha256 = forms.sha256(reference.form, reference.place, files)
    named = reference.named(attribute)
    plain = reference.form == "torchvision" and not asked.inputs
    return OwnModel(
        name=named if plain else f"{named}@{tag_of(sha256, asked.inputs)}",
        form=reference.form,
        place=reference.place,
        file=str(found.path.resolve()) if found is not None and reference.form == "module" else None,
        attribute=attribute,
        sha256=sha256,
        inputs=asked.inputs,
        beside=files,
    )


def _tried(own: OwnModel, asked: TrialRequest) -> Hooks:
    """Build the model and call it once, in eager mode."""
    from runner.failure import status_of

    try:
        return _run(own, asked)
    except OwnModelError:
        raise
    except Exception as error:
        if status_of("load", error) != "oom":
            raise
        return Hooks(too_large=described(error))


def _run(own: OwnModel, asked: TrialRequest) -> Hooks:
    import torch

    from runner.suites.base import BuildRequest, SuiteContext, found_of
    from runner.suites.own.build import build

    request = BuildRequest(
        model_name=own.name,
        test="eval",
        accelerator="cpu",
        batch_size=asked.batch_size,
        seed=asked.seed,
        weights="pretrained" if asked.weights == "pretrained" else "random",
        context=SuiteContext(own=(found_of(own),)),
    )
    workload = build(own, request)
    try:
        with torch.no_grad(), contextlib.redirect_stdout(None):
            workload.module.eval()(*workload.args, **workload.kwargs)
    except Exception as error:
        from runner.failure import status_of

        if status_of("load", error) == "oom":
            raise
        files = [own.place] if own.form == "file" else []
        raise OwnModelError(
            f"{own.title} does not run with its inputs: {described(error, files)}. Correct the model or its inputs."
        ) from error
    floating = {
        str(each.dtype).removeprefix("torch.") for each in workload.module.parameters() if each.is_floating_point()
    }
    return Hooks(
        dtype=floating.pop() if len(floating) == 1 else "float32",
        trains=workload.train_step is not None or workload.loss_name == "own",
    )


if __name__ == "__main__":
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the user's code prints is no answer
    main(sys.argv[1:])
