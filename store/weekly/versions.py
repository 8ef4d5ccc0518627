"""What was installed then and now, and where the commits between can be read."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from store.query import fetch, named
from store.report.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from store.query import Connection
    from store.report.table import Cell
    from store.weekly.lanes import Lane

VERSIONS = (
    "torch",
    "torch_git",
    "torch_xla",
    "torch_xla_git",
    "torchvision",
    "transformers",
    "timm",
    "torchbench_commit",
)
_OTHERS = ("torchax", "jax", "python", "driver", "cpu", "accelerator", "threads", "host")
_SHOWN = ("torch", "torch_xla", "transformers", "torchbench_commit")
"""Stand in the table also where they are equal: the pins of the review."""
_COMMITS = {"torch": "torch_git", "torch_xla": "torch_xla_git"}
"""Where a package's commit is, which says more than its version."""
_REPOSITORIES = {
    "torch": "pytorch/pytorch",
    "torch_xla": "pytorch/xla",
    "torchvision": "pytorch/vision",
    "transformers": "huggingface/transformers",
    "torchbench_commit": "pytorch/benchmark",
}
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_SHORT = 12
_RELEASE = re.compile(r"(\d+\.\d+(?:\.\d+)*)(?:\+[\w.]+)?")
_COLUMNS = (
    *(Column(title=title) for title in ("accelerator", "environment", "what", "last", "now")),
    Column(title="changes", link=True),
)


def versions_table(con: Connection, lanes: Iterable[Lane]) -> Table:
    """Return one row per package or fact that matters or differs, with a link to the commits between."""
    rows: list[tuple[Cell, ...]] = []
    for lane in lanes:
        known = {
            (row["run_id"], row["environment"]): json.loads(row["facts"])
            for row in fetch(con, named("weekly_environments"), {"runs": lane.runs})
        }
        names = sorted({name for run, name in known if run == lane.now.run_id})
        for name in names:
            before = known.get((lane.last.run_id, name), {}) if lane.last else {}
            after = known[lane.now.run_id, name]
            rows += [(lane.name, name, *row) for row in _rows(before, after)]
    return Table(title="Versions", columns=_COLUMNS, rows=tuple(rows))


def _rows(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[Cell, ...]]:
    found: list[tuple[Cell, ...]] = []
    for name in (*(each for each in VERSIONS if each not in _COMMITS.values()), *_OTHERS):
        old, new = _pin(before, name), _pin(after, name)
        if (name in _SHOWN and (old or new)) or (before and old != new):
            found.append((name.replace("_commit", ""), old, new, compare_link(name, before, after)))
    return found


def _pin(facts: dict[str, Any], name: str) -> str | None:
    """Return version and commit as one."""
    value, commit = facts.get(name), str(facts.get(_COMMITS.get(name, "")) or "")
    if value is None:
        return None
    shown = str(value)[:_SHORT] if _COMMIT.fullmatch(str(value)) else str(value)
    return f"{shown} ({commit[:_SHORT]})" if commit else shown


def compare_link(name: str, before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """Return the page with the commits between; None where both are equal, or one names no commit and no release."""
    ends = [_revision(name, facts) for facts in (before, after)]
    if name not in _REPOSITORIES or None in ends or ends[0] == ends[1]:
        return None
    return f"https://github.com/{_REPOSITORIES[name]}/compare/{ends[0]}...{ends[1]}"


def _revision(name: str, facts: dict[str, Any]) -> str | None:
    """Return a commit, or the tag of a release; a nightly build without its commit has neither."""
    commit = str(facts.get(_COMMITS.get(name, name)) or "")
    if _COMMIT.fullmatch(commit):
        return commit[:_SHORT]
    release = _RELEASE.fullmatch(str(facts.get(name) or ""))
    return f"v{release[1]}" if release else None
