"""What the machine and its interpreters are like at this moment, as data."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from runner.accelerators import ACCELERATORS
from runner.backends import BACKENDS, BY_NAME
from runner.backends.torch_xla2 import TorchXla2
from runner.doctor import trial
from runner.doctor.cpu_quota import cpu_quota
from runner.doctor.imports import try_imports
from runner.environments import others, proc
from runner.environments.machine import describe, detect
from runner.environments.others import Others
from runner.environments.state import Watch
from runner.errors import UsageError
from runner.plan import interpreters
from runner.proof import stored_proofs
from runner.schedule import devices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.doctor.imports import Imports
    from runner.doctor.trial import Trial
    from runner.environments.machine import Machine
    from runner.proof.stored_proofs import StoredProof
    from store.record import Accelerator, Environment, MachineState


@dataclass(frozen=True, kw_only=True)
class Offer:
    """What one interpreter offers."""

    environment: Environment
    imports: Imports
    backends: Mapping[Accelerator, Mapping[str, str | None]]
    """Accelerator of this machine → each backend with the reason why it cannot run, None if it can."""
    proofs: tuple[StoredProof, ...] = ()
    """Timing proofs of these versions on this machine that the home keeps."""

    @property
    def measurable(self) -> bool:
        """Say whether any backend can run."""
        return any(reason is None for reasons in self.backends.values() for reason in reasons.values())


@dataclass(frozen=True, kw_only=True)
class Disk:
    """A folder that a run writes to."""

    folder: Path
    free_bytes: int
    writable: bool


@dataclass(frozen=True, kw_only=True)
class Facts:
    """All that the doctor has seen."""

    cpus: int
    """CPUs of the machine."""
    usable_cpus: int
    """CPUs that this process may use."""
    quota_cpus: float | None
    threads: int
    """Threads of the trial, and of a run with the same flags."""
    others_cpus: float | None
    """CPUs that other programs kept busy before the trial."""
    programs: tuple[str, ...]
    """Short names of those programs, the busiest first."""
    trial: Trial
    state: MachineState
    offers: tuple[Offer, ...]
    unasked: Mapping[str, str]
    """Environment of `xlabench.toml` that could not report what it offers → the reason."""
    absent: Mapping[Accelerator, str]
    """Accelerator that this machine lacks → what was looked for."""
    disks: tuple[Disk, ...]
    measured_on: tuple[str, ...]
    """A sentence for each device in use: who measures on it."""


def look(home: Path, named: Mapping[str, Path], threads: int | None = None) -> Facts:
    """Look at the machine for some seconds.

    Args:
        home: folder that runs are written to.
        named: interpreters of `xlabench.toml` by name.
        threads: as `xlabench run --threads`; None: torch's own number.
    """
    found, unasked = _ask(named)
    here = found[0][0]
    offers = tuple(_offer(machine, environment, home) for machine, environment in found)
    own = next((offer.imports.threads for offer in offers if offer.imports.threads), None)
    usable = len(os.sched_getaffinity(0))
    watch = Watch("cuda" if "cuda" in here.accelerators else None)
    seen = Others()
    seen.look()
    programs = others.programs(others.WINDOW_S)
    taken = seen.look()
    tried = trial.take(threads or own or usable, seen)
    return Facts(
        cpus=os.cpu_count() or usable,
        usable_cpus=usable,
        quota_cpus=cpu_quota(proc.Machine()),
        threads=threads or own or usable,
        others_cpus=taken.cpus,
        programs=tuple(programs),
        trial=tried,
        state=watch.end(),
        offers=offers,
        unasked=unasked,
        absent={name: adapter.absent() for name, adapter in ACCELERATORS.items() if name not in here.accelerators},
        disks=_disks(home),
        measured_on=_measured_on(here),
    )


def _ask(named: Mapping[str, Path]) -> tuple[list[tuple[Machine, Environment]], dict[str, str]]:
    """Return what each interpreter offers, this one's first, and why others could not say."""
    here = detect()
    found, unasked = [(here, describe(interpreters.DEFAULT, here, {}, None))], {}
    for name, python in named.items():
        try:
            machine, environment = interpreters.ask(name, python)
        except UsageError as error:
            unasked[name] = str(error)
        else:
            found.append((machine, msgspec.structs.replace(environment, name=name)))
    return found, unasked


def _offer(machine: Machine, environment: Environment, home: Path) -> Offer:
    imports = try_imports(machine)
    backends = [*BACKENDS.values(), *BY_NAME.values(), *(TorchXla2(mode) for mode in ("torch_export", "extract_jax"))]
    return Offer(
        environment=environment,
        imports=imports,
        backends={
            accelerator: {
                backend.name: backend.unavailable(accelerator, machine) or imports.missing(backend.preload)
                for backend in backends
            }
            for accelerator in machine.accelerators
        },
        proofs=tuple(
            proof
            for proof in stored_proofs.read_all(home / stored_proofs.FOLDER)
            if stored_proofs.holds(proof, environment)
        ),
    )


def _disks(home: Path) -> tuple[Disk, ...]:
    """Return the folders of runs and of the compilers' caches; one where both lie on the same disk."""
    existing = home.absolute()
    while not existing.exists():
        existing = existing.parent
    folders = [existing, Path(tempfile.gettempdir())]
    if existing.stat().st_dev == folders[1].stat().st_dev and os.access(folders[1], os.W_OK | os.X_OK):
        folders.pop()
    return tuple(
        Disk(
            folder=home if folder == existing else folder,
            free_bytes=shutil.disk_usage(folder).free,
            writable=folder.is_dir() and os.access(folder, os.W_OK | os.X_OK),
        )
        for folder in folders
    )


def _measured_on(machine: Machine) -> tuple[str, ...]:
    """Say of each device that somebody measures on who does."""
    names = [name for kind in machine.accelerators for name in _names(kind, len(machine.devices.get(kind, ())))]
    return tuple(holder.sentence(name) for name in names if (holder := devices.owner(name)))


def _names(kind: Accelerator, count: int) -> list[str]:
    return [name for index in range(max(count, 1)) for name in devices.names([kind], index)]
