"""The backends by their (xla, dynamo) pair; a new one is a class and a line here."""

from __future__ import annotations

import os
from collections.abc import Mapping

from runner.backends.host import Backend, DynamoTorchScript, Eager, HostDynamo, Inductor, TorchScript
from runner.backends.openxla import OpenXlaDynamo, OpenXlaEval, OpenXlaLazyTensor, TorchXlaTraceOnce, TorchXlaTrivial
from runner.backends.torch_xla2 import TorchXla2
from store.identity import backend_name
from store.record import ExperimentConfig

BACKENDS: Mapping[tuple[str | None, str | None], Backend] = {
    (None, None): Eager(),
    (None, "inductor"): Inductor(),
    ("PJRT", None): OpenXlaLazyTensor(),
    ("PJRT", "openxla"): OpenXlaDynamo(),
}
"""Backends of every plan that names none."""

BY_NAME: Mapping[tuple[str | None, str | None], Backend] = {
    ("PJRT", "torchxla_trivial"): TorchXlaTrivial(),
    ("PJRT", "torchxla_trace_once"): TorchXlaTraceOnce(),
    ("PJRT", "openxla_eval"): OpenXlaEval(),
    (None, "torchscript"): TorchScript(),
    (None, "ts"): DynamoTorchScript(),
}
"""Backends that are planned only if they are named."""

NAMES: Mapping[str, tuple[str | None, str | None, str | None]] = {
    backend_name(*triple): triple
    for triple in (
        *((xla, dynamo, None) for xla, dynamo in (*BACKENDS, *BY_NAME)),
        (None, "eager", None),
        *(("PJRT", None, way) for way in ("extract_jax", "torch_export")),
    )
}
"""Backend to its (xla, dynamo, torch_xla2), as far as names are known without torch."""


def backend_of(xla: str | None, dynamo: str | None, torch_xla2: str | None = None) -> Backend:
    """Return the backend of a configuration; any other name is one that dynamo may know."""
    if torch_xla2 is not None:
        return TorchXla2(torch_xla2)
    pair = xla, dynamo
    return BACKENDS.get(pair) or BY_NAME.get(pair) or HostDynamo(dynamo or "eager")


def thread_variables(config: ExperimentConfig, threads: int | None) -> Mapping[str, str]:
    """Return the variables that give XLA's CPU client as many threads as torch gets, by a call or from the user."""
    threads = threads or _threads_of_user()
    of_xla = config.accelerator == "cpu" and (config.xla or config.torch_xla2)
    return {"NPROC": str(threads)} if threads and of_xla else {}


def _threads_of_user() -> int | None:
    """Return the number of threads that the user's environment gives torch, but not XLA; None: it gives none."""
    if "NPROC" in os.environ:
        return None
    given = (os.environ.get(name, "").partition(",")[0].strip() for name in ("MKL_NUM_THREADS", "OMP_NUM_THREADS"))
    return next((int(number) for number in given if number.isdecimal() and int(number)), None)


def triple_of(name: str) -> tuple[str | None, str | None, str | None]:
    """Return the (xla, dynamo, torch_xla2) of a backend's name; any other name is one that dynamo may know."""
    if name in NAMES:
        return NAMES[name]
    return xla_of(name), name, None


def xla_of(dynamo: str | None) -> str | None:
    """Return the `xla` that belongs to a dynamo backend where none is asked for."""
    known = {**BACKENDS, **BY_NAME}
    return next((xla for xla, name in known if name == dynamo and dynamo is not None), None)
