"""Records as the lines that they were: run folders that can be ingested again, or a stream of lines."""

from __future__ import annotations

import itertools
from operator import itemgetter
from typing import TYPE_CHECKING

from store.exporters import plans
from store.exporters.lines import rows
from store.exporters.target import Exported, Target, folder_name
from store.run_file import RESULTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from store.query import Connection


def export(con: Connection, runs: Sequence[str], target: Target) -> Exported:
    """Write FOLDER/RUN/results.jsonl with its run.json; to standard output the lines alone."""
    found, written = rows(con, "export_record_lines", runs), 0
    if target.folder is None:
        for row in found:
            assert target.file is not None  # noqa: S101 (one of the two is there)
            target.file.write(row["record"].encode() + b"\n")
            written += 1
        return Exported(written, ("The plans of the runs are left out; --output DIR includes them.",))
    for run, of_run in itertools.groupby(found, itemgetter("run_id")):
        folder = target.folder / folder_name(run)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / RESULTS).open("wb") as file:
            for row in of_run:
                file.write(row["record"].encode() + b"\n")
                written += 1
    return Exported(written, plans.missing_plans_sentence(plans.write(con, runs, target.folder)))
