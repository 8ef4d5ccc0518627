"""References that the first member of a group computes, in a file that the other members of the group read.

A reference is all that a backend's results are compared with: eager's results, float64's, and what varies. None of it
depends on the backend. The file lies among the caches of the group and is deleted with them, so it never outlives the
group. A member uses it only if a run of eager in its own process gives the same to the last bit, from weights, buffers
and inputs with the same checksums; otherwise it computes everything itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import psutil
import torch

from runner.verify.compare import Expected, differences
from runner.verify.copies import ComparedSize, Copies, Results
from runner.verify.judge import TensorRule
from runner.verify.leaves import Opaque

_LARGEST_SHARE = 0.25
"""Share of the free disk and of the available memory, where that is less, that a file may take."""
_PART = "part-"
"""Begins the name of a file while it is written."""
_OF_COMPILERS = ("XLA_", "PJRT_", "JAX_", "NPROC", "TORCHINDUCTOR_", "TRITON_")
"""Begin the names of variables that differ between backends, and that eager does not read."""


@dataclass(kw_only=True)
class ReferenceResults:
    """What the results of a backend are compared with, and what the copies know from eager's first run."""

    eager: Results
    expected: Expected
    kind: str | None
    """`float64` or `eager`, as in the record."""
    notes: list[str]
    double_parts_n: int
    """In how many parts of the batch float64 was computed."""
    size: ComparedSize
    timed_batch_size: int | None
    written: set[str] | None
    changed: frozenset[str]


_CLASSES = [ReferenceResults, Results, Expected, TensorRule, ComparedSize, Opaque, frozenset]
"""Classes that a file may hold besides tensors and plain values."""


def read(folder: str, copies: Copies) -> ReferenceResults | None:
    """Return the reference of a folder if it is that of these copies, and let the copies know what it knows.

    Eager runs once more for this, also because eager has to give the same twice.
    """
    key = _key(copies)
    for path in Path(folder).glob(f"{key}.*"):
        reference = _content(path)
        if reference is not None and (known := _repeated(reference, copies)) is not None:
            copies.size, copies.timed_batch_size = known.size, known.timed_batch_size
            copies.written, copies.changed = known.written, known.changed
            return reference
    return None


def write(folder: str, wanted: ComparedSize, copies: Copies, reference: ReferenceResults) -> None:
    """Keep a reference for the other members of the group, unless it is too large or holds what a file cannot.

    Args:
        folder: that of the group.
        wanted: the size that the members ask for, before it was found how many iterations fit.
        copies: those of this member.
        reference: what it has computed.
    """
    key = _key(replace(copies, size=wanted))
    place = Path(folder)
    part = place / f"{_PART}{os.getpid()}"
    lean = replace(reference, expected=replace(reference.expected, deviations=(), _yardsticks={}))
    if reference.eager.contents is None or any(place.glob(f"{key}.*")) or not _fits(place, reference):
        return
    try:
        torch.save(lean, part)
        part.rename(place / f"{key}.{_digest(part)}")
    except (OSError, RuntimeError, TypeError, AttributeError, pickle.PicklingError):
        # The disk is full, or a result holds something that is not kept in files.
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _content(path: Path) -> ReferenceResults | None:
    """Return what a file holds; None where it is not what was written."""
    try:
        if path.name.rpartition(".")[2] != _digest(path):
            return None
        with torch.serialization.safe_globals(_CLASSES):
            reference = torch.load(path, weights_only=True)
    except (OSError, RuntimeError, pickle.UnpicklingError):
        return None
    return reference if isinstance(reference, ReferenceResults) else None


def _repeated(reference: ReferenceResults, copies: Copies) -> Copies | None:
    """Return the copies with what the reference knows, if eager repeats its results here; None where it does not."""
    known = replace(
        copies,
        size=reference.size,
        timed_batch_size=reference.timed_batch_size,
        written=reference.written,
        changed=reference.changed,
    )
    eager = reference.eager
    try:
        again = known.eager(once=eager.stateless, identified=True)
    except Exception:  # noqa: BLE001 - computing everything here says what it raises
        return None
    same_start = again.contents is not None and again.contents == eager.contents
    same = same_start and not differences(eager.leaves[: len(again.leaves)], again.leaves)
    return known if same else None


def _key(copies: Copies) -> str:
    """Return a hash of all that a reference depends on, as far as it is known without running anything."""
    load = copies.load
    facts = [
        copies.eager_config(),
        replace(copies.criteria, deviations=()),
        copies.size,
        (load.settings, load.batch_size, load.torchbench_dir, load.own),
        (sys.prefix, sys.version, str(torch.__version__), str(torch.version.git_version)),
        (torch.get_num_threads(), torch.get_float32_matmul_precision(), str(torch.get_default_dtype())),
        sorted((name, value) for name, value in os.environ.items() if not name.startswith(_OF_COMPILERS)),
    ]
    return hashlib.sha256(msgspec.json.encode(facts, order="deterministic")).hexdigest()[:32]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fits(folder: Path, reference: ReferenceResults) -> bool:
    """Say whether disk and memory hold a file of the reference, with all of its tensors of a kind that files keep."""
    tensors = {id(leaf): leaf for leaf in _leaves(reference) if isinstance(leaf, torch.Tensor)}.values()
    if not all(type(tensor) is torch.Tensor and not tensor.is_quantized for tensor in tensors):
        return False
    size = sum(tensor.nbytes for tensor in tensors)
    free = min(shutil.disk_usage(folder).free, int(psutil.virtual_memory().available))
    return bool(size <= _LARGEST_SHARE * free)


def _leaves(reference: ReferenceResults) -> Iterator[Any]:
    eager, double = reference.eager, reference.expected.double
    for leaves in (*eager.leaves, eager.initial, eager.other, *(double or ())):
        yield from leaves.values()
