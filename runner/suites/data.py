"""Read a suite's data file: YAML beside the module, checked against a struct. Imports no torch."""

from __future__ import annotations

import importlib.util
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
import yaml

from runner.suites.base import ForcedDtype, ModelInfo, SuiteDataError, UnknownModelError
from store.record import Test

T = TypeVar("T")

BatchSize = int | dict[str, int]
"""One batch size for both tests, or one per test."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The C loader, if the installed YAML has it, because it is ten times faster."""
OTHER = "other"
"""The key that stands for every accelerator without a key of its own."""


def load(file_name: str, form: type[T]) -> T:
    """Return the content of a YAML file, named from this folder, as `form`.

    Raises:
        SuiteDataError: it has another form, or an entry without a reason.
    """
    path = Path(__file__).parent / file_name
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506 - a safe loader, too
        loaded = msgspec.convert(content, form)
    except (msgspec.ValidationError, yaml.YAMLError) as error:
        raise SuiteDataError(f"{file_name}: {error}; correct the file.") from error
    if isinstance(loaded, Tables):
        for name, reason in loaded.reasons():
            if not reason.strip():
                raise SuiteDataError(f"{file_name}: the entry of {name} has no reason; give one.")
    return loaded


def lookup(models: Mapping[str, T], name: str, suite: str) -> T:
    """Return the entry of a model, or raise `UnknownModelError`."""
    try:
        return models[name]
    except KeyError:
        raise UnknownModelError(
            f"Suite {suite} has no model {name!r}; list its models with `xlabench plan --suite-name {suite}`."
        ) from None


def for_accelerator(values: Mapping[str, T], accelerator: str) -> T:
    """Return the value of an accelerator, else the one for the others."""
    return values.get(accelerator, values[OTHER])


def batch_size(requested: int | None, values: Mapping[str, BatchSize], accelerator: str, test: Test) -> int:
    """Return the requested batch size, else the data file's own."""
    if requested is not None:
        return requested
    value = for_accelerator(values, accelerator)
    return value if isinstance(value, int) else value[test]


Reasons = dict[str, str]
"""Model → reason."""


class Skip(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Models that are planned and not measured, each with the reason."""

    all: Reasons = {}
    test: dict[Literal["eval", "train"], Reasons] = {}
    accelerator: dict[str, Reasons] = {}
    """Accelerator → reasons; `cpu_aarch64` counts on such a CPU only."""
    backend: dict[str, Reasons] = {}
    freezing: dict[str, Reasons] = {}
    """Accelerator → reasons under `--freezing`."""


class Slow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model that `--fast` excludes; `took` is a measured time in seconds or one word."""

    took: float | Literal["slow", "very slow"]
    reason: str

    @property
    def text(self) -> str:
        took = self.took if isinstance(self.took, str) else f"{self.took:g} s"
        return f"{took}: {self.reason}"


class Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tables that every suite's data file may hold; the header of `torchbench.yaml` explains them."""

    skip: Skip = Skip()
    missing: Reasons = {}
    dtype: dict[str, ForcedDtype] = {}
    no_cudagraphs: Reasons = {}
    slow: dict[str, Slow] = {}

    def info(self, name: str, aliases: Sequence[str] = ()) -> ModelInfo:
        """Return what planning needs to know of one model."""
        tests: tuple[Test, ...] = ("eval", "train")
        skips = {test: self.skip.test.get(test, {}).get(name) or self.skip.all.get(name) for test in tests}
        dtype, slow = self.dtype.get(name), self.slow.get(name)
        return ModelInfo(
            name=name,
            aliases=tuple(aliases),
            skips={test: reason for test, reason in skips.items() if reason},
            accelerator_skips=_of(_here(self.skip.accelerator), name),
            backend_skips=_of(self.skip.backend, name),
            freezing_skips=_of(self.skip.freezing, name),
            missing=self.missing.get(name),
            dtypes=(dtype,) if dtype else (),
            no_cudagraphs=self.no_cudagraphs.get(name),
            slow=slow.text if slow else None,
        )

    def reasons(self) -> Iterator[tuple[str, str]]:
        """Yield every model with every reason."""
        groups = (self.skip.test, self.skip.accelerator, self.skip.backend, self.skip.freezing)
        nested = [table for group in groups for table in group.values()]
        for table in (self.skip.all, self.missing, self.no_cudagraphs, *nested):
            yield from table.items()
        for entries in (self.dtype, self.slow):
            yield from ((name, entry.reason) for name, entry in entries.items())


def _of(groups: dict[str, Reasons], name: str) -> dict[str, str]:
    return {key: reasons[name] for key, reasons in groups.items() if name in reasons}


def _here(groups: dict[str, Reasons]) -> dict[str, Reasons]:
    """Count `cpu_aarch64` as the CPU where it is one."""
    of_kind = {key: reasons for key, reasons in groups.items() if key != "cpu_aarch64"}
    if platform.machine() == "aarch64":
        of_kind["cpu"] = groups.get("cpu_aarch64", {}) | of_kind.get("cpu", {})
    return of_kind


_REGISTERED = re.compile(r"^@register_model\s*\ndef (\w+)\(", re.MULTILINE)
_CLASS = re.compile(r"^class (\w+)\(", re.MULTILINE)
_NO_MODEL = ("Config", "Output", "PreTrainedModel", "Layer", "Attention", "Embeddings", "Encoder", "Decoder")
"""Endings of class names that are not models built from a configuration alone."""


@cache
def timm_models() -> frozenset[str]:
    """Return the architectures that the installed timm registers."""
    return _names_in("timm", "models/**/*.py", _REGISTERED)


@cache
def transformers_models() -> frozenset[str]:
    """Return the classes of the installed transformers that may be models."""
    classes = _names_in("transformers", "models/*/modeling_*.py", _CLASS)
    return frozenset(name for name in classes if not name.endswith(_NO_MODEL))


def _names_in(package: str, pattern: str, text: re.Pattern[str]) -> frozenset[str]:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return frozenset()
    files = Path(spec.origin).parent.glob(pattern)
    return frozenset(name for file in files for name in text.findall(file.read_text(encoding="utf-8")))
