"""Read a suite's data file: YAML beside the module, checked against a struct. Imports no torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
import yaml

from runner.suites.errors import SuiteDataError, UnknownModelError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from store.record import Test

T = TypeVar("T")

BatchSize = int | dict[str, int]
"""One batch size for both tests, or one per test."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The C loader is ten times faster, where the installed YAML has it."""
OTHER = "other"
"""The key that stands for every accelerator without a key of its own."""


def load(file_name: str, form: type[T]) -> T:
    """Return the content of a YAML file, named from this folder, as `form`."""
    path = Path(__file__).parent / file_name
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506 - a safe loader, too
        return msgspec.convert(content, form)
    except (msgspec.ValidationError, yaml.YAMLError) as error:
        raise SuiteDataError(f"{file_name}: {error}; correct the file.") from error


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
