"""The present state of the machine and its interpreters, as data."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from runner.accelerators import ACCELERATORS
from runner.backends import BACKENDS, BY_NAME
from runner.backends.torch_xla2 import TorchXla2
from runner.doctor import trial
from runner.doctor.trial import Trial
from runner.environments import others, proc
from runner.environments.machine import Machine, describe, detect, dynamo_sources
from runner.environments.others import MachineWatch, Others
from runner.plan import interpreters
from runner.proof import judge
from runner.proof.judge import StoredProof
from runner.schedule import devices
from store.errors import UsageError
from store.record import Accelerator, Environment, MachineState

_VERSION_1_MOUNTS = ("cpu", "cpu,cpuacct")


def cpu_quota(machine: proc.KernelFiles) -> float | None:
    """Return the smallest quota on the way up from the own group, in CPUs; None where nothing bounds it."""
    root = machine.sys / "fs/cgroup"
    quotas = []
    for line in proc.text(machine.proc / "self/cgroup").splitlines():
        number, controllers, group = line.split(":", 2)
        if number == "0":
            # With both versions mounted, the files of version 2 lie in a folder of their own.
            quotas += [_version_2(folder) for mount in (root, root / "unified") for folder in _upwards(mount, group)]
        elif "cpu" in controllers.split(","):
            mounts = [root / name for name in _VERSION_1_MOUNTS]
            quotas += [_version_1(folder) for mount in mounts for folder in _upwards(mount, group)]
    return min((quota for quota in quotas if quota is not None), default=None)


def _upwards(mount: Path, group: str) -> Iterator[Path]:
    """Give the folders from a group up to the mount; a container sees its own group as the mount itself."""
    names = [name for name in group.split("/") if name not in {"", ".."}]
    for end in range(len(names), -1, -1):
        yield mount.joinpath(*names[:end])


def _version_2(folder: Path) -> float | None:
    words = proc.text(folder / "cpu.max").split()
    return _cpus(words[0], words[1]) if len(words) == 2 else None  # noqa: PLR2004 - quota and period


def _version_1(folder: Path) -> float | None:
    return _cpus(proc.text(folder / "cpu.cfs_quota_us").strip(), proc.text(folder / "cpu.cfs_period_us").strip())


def _cpus(quota: str, period: str) -> float | None:
    """Return the quota of each period in CPUs; `max` and -1 are no quota."""
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


TRIED = ("torch", "torch_xla")
"""Packages to import, in this order: the second imports the first."""
_TIMEOUT_S = 120
_MARK = "xlabench: "
"""Prefix of an answer, because packages print as well."""
_IMPORT = """
import importlib, json, sys
for name in sys.argv[1:]:
    try:
        module = importlib.import_module(name)
    except Exception as error:
        answer = [name, f"{type(error).__name__}: {error}", None]
    else:
        answer = [name, None, module.get_num_threads() if name == "torch" else None]
    print("\\nxlabench: " + json.dumps(answer), flush=True)
"""


@dataclass(frozen=True, kw_only=True)
class Imports:
    """The result of importing the packages of an interpreter."""

    broken: Mapping[str, str] = field(default_factory=dict)
    """Package → why it cannot be imported."""
    threads: int | None = None
    """Default number of threads of torch."""

    def missing(self, preload: Sequence[str]) -> str | None:
        """Say why modules cannot be imported, or None."""
        packages = [module.partition(".")[0] for module in preload]
        wrong = next((package for package in TRIED if package in packages and package in self.broken), None)
        return None if wrong is None else f"{wrong} cannot be imported: {self.broken[wrong]}; install it again"


def try_imports(machine: Machine) -> Imports:
    """Import the packages in a process of the machine's interpreter; one that ends it gives no answer."""
    names = [name for name in TRIED if name in machine.packages]
    if not names:
        return Imports()
    command = [machine.python, "-c", _IMPORT, *names]
    # Lazy tensors look for a device when they are imported; the CPU is always there.
    variables = {"PJRT_DEVICE": "CPU", **os.environ}
    try:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        out, end = done.stdout, f"the process ended with code {done.returncode}"
    except subprocess.TimeoutExpired as error:
        out, end = (error.stdout or b"").decode(), f"it took more than {_TIMEOUT_S} s"
    broken, threads = {}, None
    answered = [json.loads(line.removeprefix(_MARK)) for line in out.splitlines() if line.startswith(_MARK)]
    for name, fault, count in answered:
        threads = count or threads
        if fault is not None:
            broken[name] = fault.strip().partition("\n")[0]
    silent = names[len(answered) :]
    if silent:
        broken[silent[0]] = end
    return Imports(broken=broken, threads=threads)


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
        return any(reason is None for reasons in self.backends.values() for reason in reasons.values())


@dataclass(frozen=True, kw_only=True)
class Disk:
    """A folder that a run writes to."""

    folder: Path
    free_bytes: int
    writable: bool


@dataclass(frozen=True, kw_only=True)
class DoctorFacts:
    """All facts that the doctor has collected."""

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
    failed_environments: Mapping[str, str]
    """Environment of `xlabench.toml` that could not report what it offers → the reason."""
    absent: Mapping[Accelerator, str]
    """Accelerator that this machine lacks → what was looked for."""
    disks: tuple[Disk, ...]
    measured_on: tuple[str, ...]
    """A sentence for each device in use: who measures on it."""


def collect(home: Path, named: Mapping[str, Path], threads: int | None = None) -> DoctorFacts:
    """Look at the machine for some seconds, with torch's own number of threads if none is given."""
    answers, failed_environments = _environments(named)
    here = answers[0][0]
    offers = tuple(_offer(machine, environment, home) for machine, environment in answers)
    own = next((offer.imports.threads for offer in offers if offer.imports.threads), None)
    usable = len(os.sched_getaffinity(0))
    watch = MachineWatch("cuda" if "cuda" in here.accelerators else None)
    seen = Others()
    seen.look()
    programs = others.programs(others.WINDOW_S)
    taken = seen.look()
    tried = trial.take(threads or own or usable, seen)
    return DoctorFacts(
        cpus=os.cpu_count() or usable,
        usable_cpus=usable,
        quota_cpus=cpu_quota(proc.KernelFiles()),
        threads=threads or own or usable,
        others_cpus=taken.cpus,
        programs=tuple(programs),
        trial=tried,
        state=watch.end(),
        offers=offers,
        failed_environments=failed_environments,
        absent={name: adapter.absent() for name, adapter in ACCELERATORS.items() if name not in here.accelerators},
        disks=_disks(home),
        measured_on=_measured_on(here),
    )


def _environments(named: Mapping[str, Path]) -> tuple[list[tuple[Machine, Environment]], dict[str, str]]:
    """Return what each interpreter offers, this one's first, and the reason of those that could not report it."""
    here = detect()
    answers, failed_environments = [(here, describe(interpreters.DEFAULT, here, {}, None))], {}
    for name, python in named.items():
        try:
            machine, environment = interpreters.ask(name, python)
        except UsageError as error:
            failed_environments[name] = str(error)
        else:
            answers.append((machine, msgspec.structs.replace(environment, name=name)))
    return answers, failed_environments


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
            for proof in judge.read_proofs(home / judge.PROOFS_FOLDER)
            if judge.proof_holds(proof, environment, dynamo_sources(machine.python))
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
    """Return a sentence for each device in use that names its holder."""
    counts = {kind: max(len(machine.devices.get(kind, ())), 1) for kind in machine.accelerators}
    names = [name for kind, count in counts.items() for index in range(count) for name in devices.names([kind], index)]
    return tuple(holder.sentence(name) for name in names if (holder := devices.owner(name)))
