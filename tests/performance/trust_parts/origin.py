"""When, where and under which rules a table's runs were measured, and how many of their processes gave a result."""

import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from store.run_file import RESULTS, read_records


def origin(folders: Sequence[Path]) -> list[str]:
    """Return a paragraph, read from the records, so that it stays true when a kept home is told again."""
    records = [record for folder in folders for record in read_records(folder / RESULTS)]
    first, last = min(each.timestamp for each in records), max(each.finished_at or each.timestamp for each in records)
    begun, ended = (datetime.fromtimestamp(seconds, UTC) for seconds in (first, last))
    environment = records[0].environment
    machine = [each.machine for each in records if each.machine is not None]
    loads = [each.load_start for each in machine if each.load_start is not None]
    others = [each.others_share for each in machine if each.others_share is not None]
    quiet = records[0].measurement.quiet
    judged = sum(each.status == "ok" for each in records)
    memory = f"{environment.memory_bytes / 2**30:.0f} GiB" if environment.memory_bytes else "memory unknown"
    return [
        f"Measured on {begun:%Y-%m-%d}, {begun:%H:%M} to {ended:%H:%M} UTC, on {environment.cores} cores "
        f"({environment.cpu}, {memory}), torch {environment.torch}, torch_xla {environment.torch_xla}. "
        f"The load average before a process was {statistics.median(loads):.1f} in the median and {max(loads):.1f} at "
        f"most; other programs used {statistics.median(others):.1%} of the CPUs in the median and {max(others):.0%} "
        f"at most. {judged} of {len(records)} processes gave a result"
        + (f", by rule {quiet.rule} under the policy `{quiet.policy}`." if quiet else "."),
        "",
    ]
