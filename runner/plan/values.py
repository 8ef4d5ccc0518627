"""The values of a request: how each is typed, read from one word of a command line, and written as one.

A reader raises a sentence that names what is accepted. What `Meta` says is checked where a job's row is read: there a
value is data, and never a path, a shell word or code.
"""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from runner.backends import NAMES
from runner.flag import Word
from store import patterns
from store.errors import did_you_mean
from store.record.experiment import TESTS, Test

_GONE = {
    "nvfuser": "nvfuser was removed from PyTorch; use inductor",
    "aot_nvfuser": "nvfuser was removed from PyTorch; use inductor",
    "prims_nvfuser": "nvfuser was removed from PyTorch; use inductor",
    "nvprims_nvfuser": "nvfuser was removed from PyTorch; use inductor",
    "aot_ts_nvfuser": "nvfuser was removed from PyTorch; use inductor",
    "nnc": "NNC is the CPU fuser of TorchScript; use torchscript, or ts with dynamo",
    "aot_ts": "aot_ts fails on the graphs that current dynamo produces; use ts",
    "aot_torchxla_trace_once": "it was renamed to openxla",
    "aot_torchxla_trivial": "AOTAutograd with torchxla_trivial was removed from PyTorch; use torchxla_trivial",
    "aot_cudagraphs": "it was renamed to cudagraphs",
    "cudagraphs_ts": "CUDA graphs around TorchScript were removed from PyTorch; use cudagraphs, or ts",
}


def none_or(text: str) -> str | None:
    """Read the peer's `None`."""
    return None if text.lower() == "none" else text


def xla(text: str) -> str | None:
    """Read `None` or `PJRT`."""
    value = none_or(text)
    if value == "XRT":
        raise argparse.ArgumentTypeError("XRT was removed from PyTorch/XLA; use PJRT")
    if value not in (None, "PJRT"):
        raise argparse.ArgumentTypeError(f"{text!r} is not one of None, PJRT")
    return value


def torch_xla2(text: str) -> str | None:
    """Read `None` or a way through torchax."""
    value = none_or(text)
    if value not in (None, "extract_jax", "torch_export"):
        raise argparse.ArgumentTypeError(f"{text!r} is not one of None, extract_jax, torch_export")
    return value


def dynamo(text: str) -> str | None:
    """Read `None` or the name of a dynamo backend; whether it exists is asked where torch is."""
    value = none_or(text)
    if value in _GONE:
        raise argparse.ArgumentTypeError(_GONE[value])
    if value is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid name of a dynamo backend")
    return value


def backend(text: str) -> str:
    """Read a backend's name as reports show it; whether dynamo has one of another name is asked where torch is."""
    if text in NAMES:
        return text
    if "+" not in text and text.lower() != "none":
        name = dynamo(text)
        if name is not None:
            return name
    hint = did_you_mean(text, NAMES) or f" Choose one of {', '.join(NAMES)}, or a name that dynamo lists."
    raise argparse.ArgumentTypeError(f"there is no backend {text!r}.{hint}")


def test(text: str) -> str:
    """Read a test under its own name or the HUD's."""
    if text not in TESTS:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(TESTS)}")
    return TESTS[text]


def regex(text: str) -> str:
    """Read a regular expression."""
    try:
        patterns.compiled(text)
    except patterns.BadPattern as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def key_value(text: str) -> tuple[str, str]:
    """Read `dotted.key=value`."""
    key, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z_][\w.]*", key.strip()):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form KEY=VALUE, for example triton.cudagraphs=True")
    return key.strip(), value.strip()


def words(text: str) -> tuple[str, ...]:
    """Read one `--xla-flags` value: flags separated by blanks; `None` is without any."""
    try:
        return () if none_or(text) is None else tuple(shlex.split(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def ops(text: str) -> tuple[str, ...]:
    """Read names of ops as the Fallback ops page shows them, separated by commas: `bucketize.Tensor,nonzero`."""
    names = tuple(dict.fromkeys(name.strip().removeprefix("aten::") for name in text.split(",")))
    if not all(re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", name) for name in names):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of an op, such as nonzero or bucketize.Tensor")
    return tuple(sorted(names))


def environment(text: str) -> tuple[str, Path | None]:
    """Read `NAME=PYTHON`: an environment's name and its interpreter; or the name alone of one that is known."""
    name, equals, python = text.partition("=")
    if bool(equals) != bool(python) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not of the form NAME=PYTHON, for example nightly=/venvs/nightly/bin/python"
        )
    return name, Path(python) if python else None


Name = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_.+-]*\Z", max_length=200)]
"""Name of a suite, a backend or an environment."""
Backend = Annotated[Name, Word(backend, metavar="NAME")]
ModelName = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_./+-]*\Z", max_length=200)]
SuiteModel = Annotated[str, Meta(pattern=r"\A[a-z0-9_]+/[A-Za-z0-9][A-Za-z0-9_.+-]*\Z", max_length=200)]
"""A model as SUITE/NAME; which there are, `runner.jobs.check` knows."""
Op = Annotated[str, Meta(pattern=r"\A[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?\Z", max_length=100)]
"""An op that may fall back, without `aten::`."""
Ops = Annotated[tuple[Op, ...], Meta(min_length=1, max_length=20), Word(ops, ",".join, "OP[,OP]")]
Identifier = Annotated[str, Meta(pattern=r"\A[A-Za-z_][A-Za-z0-9_]*\Z", max_length=100)]
Regex = Annotated[str, Meta(pattern=r"\A[\w.^$|()?:\[\]*+/ -]+\Z", max_length=200), Word(regex, metavar="REGEX")]
Xla = Annotated[Literal["PJRT"] | None, Word(xla, metavar="None|PJRT")]
Dynamo = Annotated[Identifier | None, Word(dynamo, metavar="None|NAME")]
TorchXla2 = Annotated[Literal["extract_jax", "torch_export"] | None, Word(torch_xla2, metavar="None|WAY")]
TestName = Annotated[Test, Word(test, metavar="eval|train")]
XlaFlag = Annotated[str, Meta(pattern=r"\A--?xla_[a-z0-9_]+=(true|false|-?[0-9]+(\.[0-9]+)?)\Z", max_length=200)]
"""Numbers and switches only: other values name files."""
XlaFlags = Annotated[tuple[XlaFlag, ...], Word(words, lambda flags: shlex.join(flags) or "None", "FLAGS")]
Override = Annotated[
    tuple[
        Annotated[str, Meta(pattern=r"\A[A-Za-z_][\w.]*\Z", max_length=200)],
        Annotated[str, Meta(pattern=r"\A(True|False|None|-?[0-9]+(\.[0-9]+)?)\Z", max_length=40)],
    ],
    Word(key_value, "=".join, "KEY=VALUE"),
]
"""A compiler's setting and its value; numbers and switches only: texts name programs and files."""
LONGEST_CONFIG = 100_000
"""Characters of a configuration of operators."""
OperatorConfig = Annotated[str, Meta(pattern=r"\A\s*\{", max_length=LONGEST_CONFIG)]
"""The JSON of a configuration of operators, never a path; what it may hold, `runner.jobs.check` checks."""
Side = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][\w.,+:/@#=() -]*\Z", max_length=200)]
"""A run (id, label, `latest`), environment or backend, as `xlabench compare` takes it."""
DeviceModel = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][\w.,+:/@#=() -]*\Z", max_length=200)]
"""An accelerator's model, as records name it."""
Identity = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_-]*\Z", max_length=100)]
"""Id of an experiment or a run."""
