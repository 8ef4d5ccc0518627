"""The ten positional arguments of Intel's `inductor_xpu_test.sh`."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import yaml

from runner.dynamo import harness
from runner.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FIXED = ("--backend=inductor", "--disable-cudagraphs", "-n10", "--timeout=4800", "--dashboard")
_DTYPES = {
    "amp_bf16": ("--amp", "--amp-dtype=bfloat16"),
    "amp_fp16": ("--amp", "--amp-dtype=float16"),
}
_MODES = {
    "inference-with-freezing": ("--inference", "--freezing"),
    "inference-no-freezing": ("--inference",),
}


class Argument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of the ten; an empty word is its default."""

    name: str
    default: str
    choices: tuple[str, ...] = ()
    becomes: str


@cache
def arguments() -> tuple[Argument, ...]:
    """Return the ten in their order."""
    return msgspec.convert(yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text()), tuple[Argument, ...])


def run(words: Sequence[str], program: str, command: str) -> int:
    """Run the script's one harness command; return its exit code."""
    given = parse(words)
    return harness.run(given["SUITE"], translate(given), program, command)


def parse(words: Sequence[str]) -> dict[str, str]:
    """Return the value of each argument.

    Raises:
        UsageError: there are more than ten words, or one is none of its choices.
    """
    if len(words) > len(arguments()):
        names = " ".join(argument.name for argument in arguments())
        raise UsageError(f"the script takes at most {len(arguments())} words: {names}")
    given = {}
    for place, argument in enumerate(arguments()):
        value = (words[place] if place < len(words) else "") or argument.default
        if argument.choices and value not in argument.choices:
            raise UsageError(f"{argument.name} {value!r} is not one of {', '.join(argument.choices)}")
        given[argument.name] = value
    return given


def translate(given: Mapping[str, str]) -> list[str]:
    """Return the harness's flags, the CSV where the script puts it."""
    words = [f"--{given['SCENARIO']}", *_DTYPES.get(given["DT"], (f"--{given['DT']}",))]
    words += [f"-d{given['DEVICE']}", f"--device-index={given['CARD']}"]
    words += [*_MODES.get(given["MODE"], (f"--{given['MODE']}",)), *_FIXED]
    words += ["--dynamic-shapes", "--dynamic-batch-only"] if given["SHAPE"] == "dynamic" else []
    if given["NUM_SHARDS"] and given["SHARD_ID"]:
        words += [f"--total-partitions={given['NUM_SHARDS']}", f"--partition-id={given['SHARD_ID']}"]
    words += [f"--only={given['MODEL_ONLY']}"] if given["MODEL_ONLY"] else []
    folder = Path(os.environ.get("WORKSPACE") or ".") / "inductor_log" / given["SUITE"] / given["DT"]
    name = "_".join(["inductor", *(given[key] for key in ("SUITE", "DT", "MODE", "DEVICE", "SCENARIO"))])
    return [*words, f"--output={folder / name}.csv"]
