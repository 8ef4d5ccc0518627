"""What a suite knows of its models beside how to build them: skips, forced dtypes, slow ones. Imports no torch."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from runner.suites.base import ForcedDtype, ModelInfo
from runner.suites.errors import SuiteDataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from store.record import Test

Reasons = dict[str, str]
"""Model → why."""


class Skip(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Models that are planned and not measured, each with the reason."""

    all: Reasons = {}
    test: dict[Literal["eval", "train"], Reasons] = {}
    accelerator: dict[str, Reasons] = {}
    """Accelerator → reasons; `cpu_aarch64` counts on such a CPU only."""
    backend: dict[str, Reasons] = {}
    freezing: dict[str, Reasons] = {}
    """Accelerator → reasons under `--freezing`."""


class Dtype(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where one of `instead_of` is asked for, all variants of the model are measured in `use`."""

    instead_of: tuple[str, ...]
    use: str
    reason: str


class Slow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model that `--fast` leaves out; `seconds` as somebody measured them, else one word."""

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
    dtype: dict[str, Dtype] = {}
    no_cudagraphs: Reasons = {}
    slow: dict[str, Slow] = {}

    def info(self, name: str, aliases: Sequence[str] = ()) -> ModelInfo:
        """Return what planning needs to know of one model."""
        dtype, slow = self.dtype.get(name), self.slow.get(name)
        forced = (ForcedDtype(instead_of=dtype.instead_of, use=dtype.use, reason=dtype.reason),) if dtype else ()
        return ModelInfo(
            name=name,
            aliases=tuple(aliases),
            skips=self._skips(name),
            accelerator_skips=_of(_here(self.skip.accelerator), name),
            backend_skips=_of(self.skip.backend, name),
            freezing_skips=_of(self.skip.freezing, name),
            missing=self.missing.get(name),
            dtypes=forced,
            no_cudagraphs=self.no_cudagraphs.get(name),
            slow=slow.text if slow else None,
        )

    def named(self) -> set[str]:
        """Return every model that some table names."""
        groups = (self.skip.test, self.skip.accelerator, self.skip.backend, self.skip.freezing)
        nested = [reasons for group in groups for reasons in group.values()]
        flat: list[dict[str, Any]] = [self.skip.all, self.missing, self.no_cudagraphs, self.dtype, self.slow]
        return {name for table in (*nested, *flat) for name in table}

    def reasons(self) -> Iterator[tuple[str, str]]:
        """Yield every model with every reason."""
        groups = (self.skip.test, self.skip.accelerator, self.skip.backend, self.skip.freezing)
        for table in (
            self.skip.all,
            self.missing,
            self.no_cudagraphs,
            *(t for group in groups for t in group.values()),
        ):
            yield from table.items()
        for entries in (self.dtype, self.slow):
            yield from ((name, entry.reason) for name, entry in entries.items())

    def _skips(self, name: str) -> dict[Test, str]:
        tests: tuple[Test, ...] = ("eval", "train")
        found = {test: self.skip.test.get(test, {}).get(name) or self.skip.all.get(name) for test in tests}
        return {test: reason for test, reason in found.items() if reason}


def checked(tables: Tables, file_name: str) -> None:
    """Refuse an entry without a reason.

    Raises:
        SuiteDataError: it names the file and the model.
    """
    for name, reason in tables.reasons():
        if not reason.strip():
            raise SuiteDataError(f"{file_name}: the entry of {name} has no reason; give one.")


def _of(groups: dict[str, Reasons], name: str) -> dict[str, str]:
    return {key: reasons[name] for key, reasons in groups.items() if name in reasons}


def _here(groups: dict[str, Reasons]) -> dict[str, Reasons]:
    """Count `cpu_aarch64` as the CPU where it is one."""
    found = {key: reasons for key, reasons in groups.items() if key != "cpu_aarch64"}
    if platform.machine() == "aarch64":
        found["cpu"] = groups.get("cpu_aarch64", {}) | found.get("cpu", {})
    return found
