"""One thing that differs between two sides, with its evidence and the words under which people speak of it."""

from __future__ import annotations

import hashlib
import math
from typing import Any, Literal

import msgspec

from store.compare import Cell
from store.state.reviews import Subject
from store.weekly.speed import CONFIRMED, NOT_CONFIRMED, SUSPECTED

Group = Literal["failure", "speed", "fallback op", "plan"]
GOOD = ("faster", "newly passing", "fails in A only", "fallback op gone", "fallback op in fewer models")
"""Words of findings that are no trouble."""
_GROUPS: tuple[Group, ...] = ("failure", "speed", "fallback op", "plan")
_CERTAINTIES = (CONFIRMED, SUSPECTED, NOT_CONFIRMED)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of one result, or of an op in several models."""

    group: Group
    word: str
    """What happened: slower, newly failing, no longer tried, …"""
    certainty: str
    """`confirmed`, `suspected` or `not confirmed`; a new failure that its retry repeated is confirmed."""
    subject: Subject
    place: str
    """The accelerator as people know it."""
    suite: str
    model: str
    test: str
    backend: str
    variant: str
    environment: str
    accelerator: str
    dtype: str | None
    experiment_id: str
    """Empty for an op, as suite, model and environment are."""
    why: str
    op: str = ""
    models: tuple[str, ...] = ()
    """Models in which an op is new, or from which it is gone."""
    state: str = ""
    """State of a failure over the last runs, such as `flaky, failed 2 of 5 (RPFPP)`."""
    signature: str = ""
    """Message of a failure without names and numbers."""
    cell: Cell | None = None
    """The best evidence of a change of speed."""
    confirming_run: str = ""
    now: dict[str, Any] = {}
    """The new side's result, if it has one."""
    before: dict[str, Any] = {}
    """The old side's."""

    @property
    def what(self) -> str:
        """Return it in one line."""
        of = (self.op,) if self.op else (self.suite, self.model)
        where = f"{' '.join((*of, self.test, self.variant))} on {self.place or self.accelerator}"
        _, against, other = self.subject.finding.partition(" against ")
        return f"{self.word}: {where}{against}{other}"

    @property
    def token(self) -> str:
        """Return a short name for links: the same for this series and kind of finding in every run."""
        words = f"{self.subject.series}\0{self.subject.finding}"
        return hashlib.blake2b(words.encode(), digest_size=5).hexdigest()

    @property
    def good(self) -> bool:
        """Say whether it is an improvement."""
        return self.word in GOOD

    @property
    def lost_s(self) -> float | None:
        """Return by how many seconds an iteration takes longer; below 0 it takes less."""
        if self.cell is None or self.cell.old_s is None or self.cell.new_s is None:
            return None
        return self.cell.new_s - self.cell.old_s

    @property
    def surely(self) -> float:
        """Return the least change that the interval allows, as a logarithm."""
        if self.cell is None:
            return 0.0
        verdict = self.cell.verdict
        near = verdict.high if self.word == "slower" else verdict.low
        return abs(math.log(near)) if near else 0.0


def by_evidence(finding: Finding) -> tuple[Any, ...]:
    """Sort troubles before improvements, then by group, certainty and the least change that the interval allows.

    What is no longer tried comes last: a smaller plan is a choice more often than a trouble.
    """
    certainty = _CERTAINTIES.index(finding.certainty)
    rank = (
        finding.group == "plan",
        finding.good,
        _GROUPS.index(finding.group),
        finding.word == "flaky",
        certainty,
        -finding.surely,
    )
    return (*rank, finding.suite, finding.model, finding.test, finding.variant)


def by_time_lost(finding: Finding) -> tuple[Any, ...]:
    """Sort by the time that an iteration lost; what has no time comes last."""
    lost = finding.lost_s
    return (lost is None, -(lost or 0.0), *by_evidence(finding))
