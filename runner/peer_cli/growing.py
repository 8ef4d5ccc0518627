"""A run folder that grows: PyTorch/XLA's runner appends to its output folder whatever a later command adds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from runner.errors import UsageError
from runner.plan import Plan
from runner.schedule.run_folder import RunFolder, open_folder
from store.run_file import RESULTS, RUN_FILE, read_run_file, write_run_file
from store.writer import ResultsWriter

if TYPE_CHECKING:
    from runner.schedule.run_folder import RunIdentity
    from store.record import PlanEntry


def open_growing(
    directory: Path, identity: RunIdentity, *, resume: bool = True, timestamp: float | None = None
) -> RunFolder:
    """Open the folder's run, its plan enlarged by the identity's; only the latter's experiments are measured.

    Raises:
        PlanMismatch: the run there has other settings or versions, or was measured on another machine.
    """
    if not resume or not (directory / RUN_FILE).exists():
        folder = open_folder(directory, directory, identity, resume=resume)
        file = folder.file
        if timestamp is not None:
            file = msgspec.structs.replace(file, timestamp=timestamp)
            write_run_file(directory, file)
        return replace(folder, file=file)
    old = Plan(entries=tuple(read_run_file(directory).plan))
    folder = open_folder(directory, directory, replace(identity, plan=old))
    known = {_key(entry) for entry in old.entries}
    more = [entry for entry in identity.plan.entries if _key(entry) not in known]
    if more:
        grown = Plan(entries=(*old.entries, *more))
        with ResultsWriter(folder.results):
            write_run_file(
                directory, msgspec.structs.replace(folder.file, plan=list(grown.entries), plan_id=grown.plan_id)
            )
    return replace(folder, file=msgspec.structs.replace(folder.file, plan=list(identity.plan.entries)))


def link_results(directory: Path, basename: str) -> None:
    """Let the results be found under a name of the user's choice, too.

    Raises:
        UsageError: the name is a path, or another file has it.
    """
    if basename == RESULTS:
        return
    link = directory / basename
    if Path(basename).name != basename:
        raise UsageError(
            f"--output-basename {basename}: the name must not contain a folder; use --output-dirname for that"
        )
    if link.exists() and not (link.is_symlink() and link.resolve() == (directory / RESULTS).resolve()):
        raise UsageError(f"--output-basename {basename}: {link} is another file; choose another name")
    if not link.is_symlink():
        link.symlink_to(RESULTS)


def _key(entry: PlanEntry) -> tuple[str, str]:
    return entry.experiment_id, entry.environment
