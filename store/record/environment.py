"""Where an experiment was measured: interpreter, packages, machine, and the state the machine was in."""

from __future__ import annotations

import msgspec


class Environment(msgspec.Struct, kw_only=True, frozen=True):
    """The interpreter, packages and machine that measured; `machine_id` leaves the host name out."""

    name: str
    executable: str | None = None
    """Path of the interpreter, by which `compare --confirm` finds it again; no part of any identity."""
    python: str | None = None
    torch: str | None = None
    torch_git: str | None = None
    torch_xla: str | None = None
    torch_xla_git: str | None = None
    torchvision: str | None = None
    transformers: str | None = None
    timm: str | None = None
    torchax: str | None = None
    jax: str | None = None
    torchbench_commit: str | None = None
    host: str | None = None
    machine_id: str | None = None
    cpu: str | None = None
    cores: int | None = None
    memory_bytes: int | None = None
    accelerator: str | None = None
    driver: str | None = None
    threads: int | None = None
    toolchain_probe_s: float | None = None
    """Inductor's one-time toolchain work (vector-ISA probe, precompiled headers), part of no compile time."""
    server_import_s: float | None = None
    variables: dict[str, str] = msgspec.field(default_factory=dict)
    """Effective values of the environment variables that change timing (`OMP_*`, `XLA_*`, `PJRT_DEVICE`, …)."""


class MachineState(msgspec.Struct, kw_only=True):
    """What the machine did while an experiment's timed process lived; None: this machine does not say."""

    seconds: float
    """How long it was watched: from before the process's start to after its end."""
    cpus: int | None = None
    load_start: float | None = None
    """Load average over the last minute, this run's own processes included."""
    load_end: float | None = None
    others_share: float | None = None
    """CPU time of processes that are not this run's, as a share of all CPUs' time."""
    steal_share: float | None = None
    """CPU time that the hypervisor gave to other virtual machines, as a share of all CPUs' time."""
    governor: str | None = None
    frequency_hz: float | None = None
    """Mean over the CPUs that this run may use, at the end."""
    frequency_min_hz: float | None = None
    frequency_max_hz: float | None = None
    turbo: bool | None = None
    throttle_events: int | None = None
    """How often a core or its package was slowed down for heat."""
    swap_used_bytes: int | None = None
    swap_traffic_bytes: int | None = None
    """Written to and read from swap meanwhile."""
    accelerator_processes: int | None = None
    """Processes on the accelerator at the start that are not this run's."""
