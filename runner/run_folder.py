"""Find the folder of a run: resume the right one, or start a new one."""

from __future__ import annotations

import datetime as dt
import re
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from runner.errors import PlanMismatch
from runner.resume import remaining
from store.errors import RunFileError
from store.record import Run, RunFile
from store.run_file import RESULTS, RUN_FILE, read_records, read_run_file, write_run_file
from store.writer import ResultsWriter

if TYPE_CHECKING:
    from pathlib import Path

    from runner.messages import Settings
    from runner.plan import Plan
    from store.record import Environment

_IDENTITY = (
    "python",
    "torch",
    "torch_git",
    "torch_xla",
    "torch_xla_git",
    "torchvision",
    "transformers",
    "timm",
    "torchbench_commit",
    "machine_id",
)
"""What has to be equal for a run to be resumed."""
_FREE_SETTINGS = frozenset({"timeout_s"})
"""Settings that change no number, so that a resumed run may be given others."""


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """A folder with its `run.json` written, ready to be measured into."""

    path: Path
    file: RunFile
    resumed: bool

    @property
    def results(self) -> Path:
        return self.path / RESULTS


@dataclass(frozen=True, kw_only=True)
class RunIdentity:
    """What a new run would be."""

    plan: Plan
    environment: Environment
    settings: Settings
    label: str
    command: str


def open_folder(
    home: Path, directory: Path | None, identity: RunIdentity, *, resume: bool = True, retry_failed: bool = False
) -> RunFolder:
    """Resume the run of `directory`, else the newest unfinished equal one of `home`, else start a new one.

    Raises:
        PlanMismatch: `directory` holds a run that this command cannot resume.
    """
    if directory is None:
        directory = _unfinished(home, identity, retry_failed=retry_failed) if resume else None
        directory = directory or home / "runs" / _name(identity.label)
    if (directory / RUN_FILE).exists():
        if resume:
            return _resume(directory, identity)
        _put_aside(directory)
    elif (directory / RESULTS).exists():
        raise PlanMismatch(f"{directory} holds a {RESULTS} without {RUN_FILE}; choose another --output-dirname.")
    directory.mkdir(parents=True, exist_ok=True)
    file = _new(identity)
    write_run_file(directory, file)
    return RunFolder(path=directory, file=file, resumed=False)


def _resume(directory: Path, identity: RunIdentity) -> RunFolder:
    file = read_run_file(directory)
    reason = _difference(file, identity)
    if reason:
        raise PlanMismatch(
            f"{directory} holds run {file.run.label} with {reason}; "
            "choose another --output-dirname, or pass --no-resume to put that run aside."
        )
    return RunFolder(path=directory, file=file, resumed=True)


def _difference(file: RunFile, identity: RunIdentity) -> str | None:
    """Say what keeps a run from being resumed, or None."""
    if file.plan_id != identity.plan.plan_id:
        return "another plan"
    now = _settings(identity)
    keys = [key for key in {**file.settings, **now} if key not in _FREE_SETTINGS]
    changed = [key for key in keys if file.settings.get(key) != now.get(key)]
    if changed:
        return f"other measurement settings ({', '.join(changed)})"
    old = file.environments[0]
    for field in _IDENTITY:
        before, after = getattr(old, field), getattr(identity.environment, field)
        if before != after:
            return f"{field} {before} (now {after})"
    return None


def _settings(identity: RunIdentity) -> dict[str, Any]:
    return dict(msgspec.to_builtins(identity.settings))


def _unfinished(home: Path, identity: RunIdentity, *, retry_failed: bool) -> Path | None:
    """Return the newest unfinished run of the same plan, settings and environment."""
    found: list[tuple[float, Path]] = []
    for path in (home / "runs").glob(f"*/{RUN_FILE}"):
        try:
            file = read_run_file(path.parent)
        except RunFileError:  # a damaged run elsewhere must not keep a new one from starting
            continue
        if _difference(file, identity) is None and not _finished(path.parent, file, retry_failed=retry_failed):
            found.append((file.timestamp, path.parent))
    return max(found)[1] if found else None


def _finished(folder: Path, file: RunFile, *, retry_failed: bool) -> bool:
    left = remaining(file.plan, read_records(folder / RESULTS), retry_failed=retry_failed)
    return not left.groups and not left.skips


def _new(identity: RunIdentity) -> RunFile:
    run = Run(run_id=str(uuid.uuid4()), label=identity.label, command=identity.command)
    return RunFile(
        run=run,
        timestamp=time.time(),
        environments=[identity.environment],
        settings=_settings(identity),
        plan=list(identity.plan.entries),
        plan_id=identity.plan.plan_id,
    )


def _put_aside(directory: Path) -> None:
    """Keep an old run beside the new one; what was measured is never deleted, and a run in progress not moved."""
    with ResultsWriter(directory / RESULTS):
        directory.rename(directory.with_name(f"{directory.name}.old-{_stamp()}"))


def _name(label: str) -> str:
    return f"{_stamp()}-{re.sub(r'[^A-Za-z0-9._-]+', '-', label).strip('-.') or 'run'}"


def _stamp() -> str:
    now = dt.datetime.now(dt.UTC)
    return now.strftime("%Y%m%dT%H%M%S") + f"{now.microsecond // 1000:03d}Z"
