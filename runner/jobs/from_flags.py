"""The request that flags of `xlabench run` stand for; what names a file of the asker's is refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from runner.errors import UsageError
from runner.flags.artifacts import INSTRUMENTS
from runner.jobs.request import Configuration, Protocol, RunRequest, Selection
from runner.plan import plan_file
from runner.suites.operators import document

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_FILES = {
    "models_file": "--models-file",
    "torchbench_dir": "--torchbench-dir",
}


def request(parsed: argparse.Namespace) -> RunRequest:
    """Return what the flags ask for.

    Raises:
        UsageError: a flag that a job cannot have, or a value that it does not take.
    """
    for name, flag in _FILES.items():
        if getattr(parsed, name):
            raise UsageError(f"{flag} names a file or folder, but a job contains only data; remove it.")
    if parsed.ops_of and Path(parsed.ops_of).is_file():
        raise UsageError(
            f"--ops-of {parsed.ops_of} is a file, but a job contains only data. Measure "
            "it with `xlabench run --ops-of`, "
            "and pass the operators.json of that run with --config."
        )
    for name, python in parsed.env:
        if python is not None:
            raise UsageError(
                f"--env {name}={python}: a job can only use environments of xlabench.toml; pass --env {name}."
            )
    given: dict[str, Any] = {
        "kind": "run",
        "selection": _group(parsed, Selection) | {"config": _configurations(parsed.config)},
        "configuration": _group(parsed, Configuration),
        "protocol": _group(parsed, Protocol),
        "environments": [name for name, _ in parsed.env],
        "accelerator_model": getattr(parsed, "accelerator_model", None),  # of a job only
    }
    if parsed.plan is not None:
        given["plan"] = msgspec.to_builtins(plan_file.read(parsed.plan))
    try:
        return msgspec.convert(given, RunRequest)
    except msgspec.ValidationError as error:
        raise UsageError(f"A job does not support this: {error}. `xlabench run` may.") from None


def _configurations(configs: Sequence[str]) -> list[str]:
    """Return the JSON of configurations: that of files goes into the request.

    Raises:
        ConfigError: there is no such file, or it is none.
    """
    texts = [document.text_of(each) for each in configs]
    for text in texts:
        document.of_text(text)
    return [text.text.strip() for text in texts]


def _group(parsed: argparse.Namespace, kind: type[msgspec.Struct]) -> dict[str, Any]:
    names = [field.name for field in msgspec.structs.fields(kind) if field.name != "instruments"]
    found = {name: value for name in names if (value := getattr(parsed, name)) is not None}
    if kind is Protocol:
        found["instruments"] = [name for name in INSTRUMENTS if getattr(parsed, name)]
    return found
