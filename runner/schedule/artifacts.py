"""Where the files of an experiment lie: one folder each, with a readable name and a short hash."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from store.record import PlanEntry

FOLDER = "artifacts"
_HASH_CHARACTERS = 8
_NAME_CHARACTERS = 100


def folder_of(run_folder: Path, entry: PlanEntry) -> Path:
    """Return the experiment's folder, made if need be; the hash keeps equal names apart."""
    config = entry.config
    readable = [config.suite_name, config.model_name, config.test, entry.variant]
    if entry.environment != "default":
        readable.append(entry.environment)
    name = re.sub(r"[^A-Za-z0-9._+=-]+", "-", "-".join(readable))[:_NAME_CHARACTERS].strip("-.")
    folder = run_folder / FOLDER / f"{name}-{entry.experiment_id[:_HASH_CHARACTERS]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
