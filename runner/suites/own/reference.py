"""What a user types to name a model: its form, its place, and the name that records give it. Imports no torch."""

from __future__ import annotations

import hashlib
import re
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from runner.settings import OwnForm
from runner.suites.base import SuiteError

_MOST = 300


class OwnModelError(SuiteError):
    """A model of the user's own cannot be used; the text says what was found and what is wanted."""


def described(error: BaseException, files: Iterable[str] = ()) -> str:
    """Name an error of somebody's code in one line, with the last line of these files that it passed through."""
    wanted = set(files)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename in wanted]
    text = " ".join(str(error).split("\n\n", maxsplit=1)[0].split())
    where = f"line {lines[-1]}: " if lines else ""
    return f"{where}{type(error).__name__}{': ' if text else ''}{text[:_MOST]}".rstrip(".")


def of_syntax(path: Path, error: SyntaxError) -> OwnModelError:
    """Say where a file is no Python."""
    where = f", line {error.lineno}" if error.lineno else ""
    return OwnModelError(f"{path.name}{where}: {error.msg}. Correct the file.")


_TAG = re.compile(r"(?P<word>.+)@(?P<tag>[0-9a-f]{8})")
_TAG_CHARACTERS = 8
_NAME = re.compile(r"[A-Za-z_]\w*")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_OF_SUITE = re.compile(r"[\w-]+|(?P<suite>[\w-]+)/[\w.+-]+")
_ZOO_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*")
CONFIG = "config.json"
TIMM = "timm:"
TORCHVISION = "torchvision:"
MEASURED = "measure:"
"""Prefix of the name of a module that was passed to `xlabench.measure`."""
WANTED = (
    "Name a file such as mymodel.py or mymodel.py:MyNet, package.module:make, model.pt2, a folder with the config.json "
    "of a transformers model, timm:NAME or torchvision:NAME."
)


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A model as the user named it."""

    form: OwnForm
    place: str
    """An absolute path, the name of a module, or the name of a model of torchvision."""
    attribute: str | None = None
    tag: str | None = None
    """Hash at the end of its name in a record; the source must be the one of that record."""

    @property
    def base(self) -> str:
        """Return the place as records store it, without the user's folders."""
        if self.form == "torchvision":
            return f"{TORCHVISION}{self.place}"
        if self.form == "module":
            return self.place
        path = Path(self.place)
        return path.parent.name if path.name == CONFIG else path.name

    def may_be(self, title: str) -> bool:
        """Say whether it may be the model of this name without hash, of which it may name the file alone."""
        named = self.named(self.attribute)
        return title == named or (self.attribute is None and title.startswith(f"{named}:"))

    def named(self, attribute: str | None) -> str:
        """Return the name without its hash."""
        return f"{self.base}:{attribute}" if attribute else self.base


def from_python(name: str) -> str:
    """Say why a module that a program has given to `xlabench.measure` is measured by no command."""
    return (
        f"A program passed {name} to xlabench.measure, and no other program has it. Run it again, or write the "
        "module into a file with example_inputs() and measure it with `xlabench run FILE`."
    )


def tag_of(sha256: str, inputs: tuple[str, ...]) -> str:
    """Return the end of a model's name: of its source alone, or of source and inputs where these were typed."""
    if not inputs:
        return sha256[:_TAG_CHARACTERS]
    return hashlib.sha256("\n".join([sha256, *inputs]).encode()).hexdigest()[:_TAG_CHARACTERS]


def read(word: str) -> Reference:
    """Read what was typed.

    Raises:
        OwnModelError: it names nothing that is there.
    """
    tagged = _TAG.fullmatch(word)
    tag = tagged["tag"] if tagged else None
    bare = tagged["word"] if tagged else word
    if bare.startswith(MEASURED):
        raise OwnModelError(from_python(bare))
    zoo_name = bare.removeprefix(TORCHVISION)
    reference: tuple[OwnForm, str, str | None] | None
    if zoo_name != bare and _ZOO_NAME.fullmatch(zoo_name):
        reference = ("torchvision", zoo_name, None)
    elif bare.endswith(".pt2"):
        reference = ("exported", _there(bare), None)
    else:
        reference = _transformers(bare) or _file(bare) or _module(bare)
    if reference is None:
        of_suite = f" For a model of a suite, pass --only {word}." if _may_be_of_suite(word) else ""
        raise OwnModelError(f"{word}: there is no such model.{of_suite} {WANTED}")
    form, place, attribute = reference
    return Reference(form=form, place=place, attribute=attribute, tag=tag)


def _may_be_of_suite(word: str) -> bool:
    """Say whether a word may be a suite's model: its name alone, or after the suite as plans and records print it."""
    named = _OF_SUITE.fullmatch(word)
    return named is not None and not (named["suite"] and Path(named["suite"]).is_dir())


def _transformers(word: str) -> tuple[OwnForm, str, None] | None:
    path = Path(word)
    if path.is_dir() and not (path / CONFIG).is_file():
        raise OwnModelError(f"{word} is a folder without a {CONFIG} of transformers. {WANTED}")
    if path.is_dir():
        return "transformers", str((path / CONFIG).resolve()), None
    return ("transformers", _there(word), None) if path.suffix == ".json" else None


def _file(word: str) -> tuple[OwnForm, str, str | None] | None:
    path, colon, name = word.partition(":") if not Path(word).is_file() else (word, "", "")
    if not path.endswith(".py"):
        return None
    if colon and not _NAME.fullmatch(name):
        raise OwnModelError(f"{word}: {name!r} is not the name of a class, instance or function in {Path(path).name}.")
    return "file", _there(path), name or None


def _module(word: str) -> tuple[OwnForm, str, str] | None:
    module, _, name = word.partition(":")
    return ("module", module, name) if _MODULE.fullmatch(module) and _NAME.fullmatch(name) else None


def _there(text: str) -> str:
    path = Path(text)
    if not path.is_file():
        raise OwnModelError(f"{text}: there is no such file. {WANTED}")
    return str(path.resolve())


_TYPED = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_]\w*)\s*=)?\s*(?P<dtype>[a-z]+\d*)\[(?P<sizes>[\d,\s]*)\](?:\s*<\s*(?P<below>\d+))?\s*"
)
_DTYPES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "c64": "complex64",
    "bool": "bool",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u8": "uint8",
}
_BELOW = 100
"""Default upper bound of integers; most vocabularies are larger, so they are valid indices."""


@dataclass(frozen=True, kw_only=True)
class TypedInput:
    """One `--input`."""

    name: str | None
    dtype: str
    sizes: tuple[int, ...]
    below: int


def typed(text: str) -> TypedInput:
    """Read `f32[8,3,224,224]`, `mask=bool[8,128]` or `i64[8,128]<30522`.

    Raises:
        OwnModelError: it is of another form.
    """
    match = _TYPED.fullmatch(text)
    if match is None or match["dtype"] not in _DTYPES:
        raise OwnModelError(
            f"--input {text}: write an input as 'f32[8,3,224,224]', 'i64[8,128]<30522' (integers below 30522) or "
            f"'mask=bool[8,128]' (by keyword); types are {', '.join(_DTYPES)}."
        )
    sizes = tuple(int(size) for size in match["sizes"].replace(" ", "").split(",") if size)
    below = int(match["below"] or _BELOW)
    return TypedInput(name=match["name"], dtype=_DTYPES[match["dtype"]], sizes=sizes, below=max(below, 1))
