"""What the tables say about verifying one experiment: tolerance, judge, batch size, or why not. Imports no torch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec
import yaml

from runner.settings import Settings
from store.record import ExperimentConfig

OTHER = "other"
"""Names the entry of every suite that has none of its own."""


class Tolerance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of `tolerances`; None fits everything."""

    tolerance: float
    reason: str
    models: frozenset[str] | None = None
    tests: frozenset[str] | None = None
    dtypes: frozenset[str] | None = None
    accelerators: frozenset[str] | None = None
    freezing: bool | None = None

    def fits(self, config: ExperimentConfig) -> bool:
        pairs = (
            (self.models, config.model_name),
            (self.tests, config.test),
            (self.dtypes, config.dtype),
            (self.accelerators, config.accelerator),
        )
        named = all(wanted is None or value in wanted for wanted, value in pairs)
        return named and self.freezing in (None, config.freezing)


class ComparedBatchSize(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many samples are compared."""

    most: int
    least_train: int


class SuiteTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One suite's entry of `tolerances.yaml`, whose header explains the fields."""

    batch_size: ComparedBatchSize
    tolerances: list[Tolerance]
    most_batch_size: dict[str, int] = {}
    cosine: dict[str, str] = {}
    larger_multiplier: dict[str, str] = {}
    iou: dict[str, float] = {}
    skip: dict[str, str] = {}
    skip_train: dict[str, str] = {}
    non_deterministic: dict[str, str] = {}


class Deviation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of `deviations.yaml`, whose header explains the fields."""

    xla: bool
    tensors: str
    tolerance: float
    reason: str

    def names(self, tensor: str) -> bool:
        return re.search(self.tensors, tensor) is not None


@dataclass(frozen=True, kw_only=True)
class Criteria:
    """The criteria by which one experiment is verified."""

    tolerance: float
    cosine: bool = False
    larger_multiplier: bool = False
    iou: float | None = None
    most_samples: int
    least_samples: int = 1
    skip: str | None = None
    notes: tuple[str, ...] = ()
    deviations: tuple[Deviation, ...] = ()


def criteria(config: ExperimentConfig, settings: Settings) -> Criteria:
    """Look an experiment up; what the command line says goes before the tables."""
    suites = tables()
    table = suites.get(config.suite_name, suites[OTHER])
    name, train = config.model_name, config.test == "train"
    unstable = table.non_deterministic.get(name)
    default = next(entry.tolerance for entry in table.tolerances if entry.fits(config))
    return Criteria(
        tolerance=default if settings.tolerance is None else settings.tolerance,
        cosine=settings.cosine or name in table.cosine,
        larger_multiplier=name in table.larger_multiplier,
        iou=table.iou.get(name),
        most_samples=table.most_batch_size.get(name, table.batch_size.most),
        least_samples=table.batch_size.least_train if train else 1,
        skip=table.skip.get(name) or (table.skip_train.get(name) if train else None),
        notes=(f"known to be non-deterministic: {unstable}",) if unstable else (),
        deviations=tuple(deviation for deviation in deviations() if deviation.xla == bool(config.xla)),
    )


@cache
def tables() -> dict[str, SuiteTable]:
    """Return the entries of `tolerances.yaml` by suite."""
    return msgspec.convert(_read("tolerances.yaml"), dict[str, SuiteTable])


@cache
def deviations() -> list[Deviation]:
    """Return the entries of `deviations.yaml`."""
    return msgspec.convert(_read("deviations.yaml"), list[Deviation])


def _read(name: str) -> object:
    return yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))
