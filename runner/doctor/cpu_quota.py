"""How many CPUs the control group of this process, or one above it, lets it use (versions 1 and 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.environments import proc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_VERSION_1_MOUNTS = ("cpu", "cpu,cpuacct")


def cpu_quota(machine: proc.Machine) -> float | None:
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
