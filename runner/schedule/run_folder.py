"""Find the folder of a run: resume the right one, or start a new one."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from runner.errors import PlanMismatch
from runner.plan import Plan
from runner.plan.earlier_run import IDENTITY
from runner.plan.interpreters import Interpreter
from runner.schedule.groups import remaining
from runner.settings import Settings
from store.errors import RunFileError
from store.record import Environment, Run, RunFile
from store.run_file import RESULTS, RUN_FILE, read_records, read_run_file, record_files, write_run_file
from store.writer import ResultsWriter

_FREE_SETTINGS = frozenset({"timeout_s", "memory_limit_bytes", "artifact_limit_bytes", "print_subprocess", "prove"})
"""Settings that change no number, so that a resumed run may be given others: limits, what is shown and proved."""


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """A folder with its `run.json` written, ready to be measured into."""

    path: Path
    file: RunFile
    settings: Settings
    """Settings of this call: those of the resumed run, except settings that change no number."""
    resumed: bool

    @property
    def results(self) -> Path:
        return self.path / RESULTS


def new_run(
    plan: Plan, interpreters: Iterable[Interpreter], settings: Settings, *, label: str, command: str
) -> RunFile:
    """Return what `run.json` says of a new run; its settings are as they are read again, to be compared."""
    return RunFile(
        run=Run(run_id=str(uuid.uuid4()), label=label, command=command),
        timestamp=time.time(),
        environments=[interpreter.description for interpreter in interpreters],
        settings=dict(msgspec.json.decode(msgspec.json.encode(settings))),
        plan=list(plan.entries),
        plan_id=plan.plan_id,
    )


def open_folder(
    home: Path, directory: Path | None, new: RunFile, *, resume: bool = True, retry_failed: bool = False
) -> RunFolder:
    """Resume the run of `directory`, else the newest unfinished equal one of `home`, else start the new one.

    Raises:
        PlanMismatch: `directory` holds a run that this command cannot resume.
        WriterBusy: another process begins a run in it.
    """
    is_new = directory is not None and not directory.exists()
    if directory is None:
        directory = _unfinished(home, new, retry_failed=retry_failed) if resume else None
        is_new = directory is None
        directory = directory or _new_folder(home / "runs", new.run.label)
    if (directory / RUN_FILE).exists():
        if resume:
            return _resume(directory, new)
        with ResultsWriter(directory / RESULTS):  # results are never deleted, and a run in progress is not moved
            directory.rename(directory.with_name(f"{directory.name}.old-{_stamp()}"))
    elif any(file.stat().st_size for file in record_files(directory / RESULTS)):
        raise PlanMismatch(f"{directory} contains {RESULTS} without {RUN_FILE}; use another --output-dirname.")
    try:
        with ResultsWriter(directory / RESULTS):  # of two that begin at once, one writes the file
            if (directory / RUN_FILE).exists():
                return _resume(directory, new)
            write_run_file(directory, new)
    except OSError:
        if is_new:
            _remove_empty(directory)
        raise
    return RunFolder(path=directory, file=new, settings=_settings(new), resumed=False)


def _remove_empty(directory: Path) -> None:
    """Remove the folder of a run that could not begin, as on a full disk, unless it holds something."""
    results = directory / RESULTS
    with contextlib.suppress(OSError):
        if not results.stat().st_size:
            results.unlink()
    with contextlib.suppress(OSError):
        directory.rmdir()


def _resume(directory: Path, new: RunFile) -> RunFolder:
    file = read_run_file(directory)
    reason = _difference(file, new)
    if reason:
        raise PlanMismatch(
            f"{directory} contains run {file.run.label} with {reason}. "
            "Use another --output-dirname, or pass --no-resume to rename that run and start a new one."
        )
    return RunFolder(path=directory, file=file, settings=_settings(new), resumed=True)


def _settings(file: RunFile) -> Settings:
    return msgspec.convert(file.settings, Settings)


def _difference(file: RunFile, new: RunFile) -> str | None:
    """Say what keeps a run from being resumed, or None."""
    if file.plan_id != new.plan_id:
        return "another plan"
    now = new.settings
    # The time budget of `until_verdict` limits how far a run comes and changes no number, so it may be raised.
    free = _FREE_SETTINGS | ({"time_budget_s"} if now["until_verdict"] else set())
    keys = [key for key in {**file.settings, **now} if key not in free]
    changed = [key for key in keys if file.settings.get(key) != now.get(key)]
    if changed:
        return f"other measurement settings ({', '.join(changed)})"
    return _other_environment(file.environments, new.environments)


def _other_environment(before: Sequence[Environment], after: Sequence[Environment]) -> str | None:
    """Name the first version or machine that differs; the environments themselves are part of the plan."""
    now = {environment.name: environment for environment in after}
    for old in before:
        new = now.get(old.name)
        for field in IDENTITY:
            was, is_now = getattr(old, field), getattr(new, field, None)
            if was != is_now:
                where = f"environment {old.name}: " if len(before) > 1 else ""
                return f"{where}{field} {was} (now {is_now})"
    return None


def _unfinished(home: Path, new: RunFile, *, retry_failed: bool) -> Path | None:
    """Return the newest unfinished run of the same plan, settings and environment."""
    unfinished: list[tuple[float, Path]] = []
    for path in (home / "runs").glob(f"*/{RUN_FILE}"):
        try:
            file = read_run_file(path.parent)
            if _difference(file, new) is not None:
                continue
            records = read_records(path.parent / RESULTS)
            left = remaining(file.plan, records, replicas=_settings(new).records, retry_failed=retry_failed)
        except RunFileError:  # a damaged run elsewhere must not keep a new one from starting
            continue
        if left.groups or left.skips:
            unfinished.append((file.timestamp, path.parent))
    return max(unfinished)[1] if unfinished else None


def _new_folder(runs: Path, label: str) -> Path:
    """Make a folder that no other run has, though two of one label start in the same millisecond."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.") or "run"
    while True:
        folder = runs / f"{_stamp()}-{readable}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            time.sleep(0.001)
        else:
            return folder


def _stamp() -> str:
    now = dt.datetime.now(dt.UTC)
    return now.strftime("%Y%m%dT%H%M%S") + f"{now.microsecond // 1000:03d}Z"
