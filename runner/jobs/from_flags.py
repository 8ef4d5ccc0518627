"""The job that flags of `xlabench run` ask for, and the command that one would type for a job."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec

from runner import flags
from runner.flags import request_words
from runner.jobs.request import ConfirmRequest, Request, RunRequest
from runner.suites.operators import document
from store.errors import UsageError


def request(parsed: argparse.Namespace) -> RunRequest:
    """Return what the flags ask for.

    Raises:
        UsageError: a flag that a job cannot have, or a value that it does not take.
    """
    local_request = flags.read(parsed)
    for name in ("models_file", "torchbench_dir"):
        if getattr(local_request, name):
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} names a file or folder, but a job contains only data; remove it.")
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
    """Return the words behind `xlabench`; every value stands in its flag's own word, so none can become another flag.

    Args:
        request: a checked one; of its plan, nothing becomes a word.
    """
    if not isinstance(request, ConfirmRequest):
        return ["run", *request_words(request)]
    words = ["compare", request.old, request.new, f"--confirm={request.cells}"]
    words += [f"--run={request.run}"] if request.run else []
    words += [f"--experiment={experiment}" for experiment in request.experiments]
    return words + ([f"--processes={request.processes}"] if request.processes else [])
