"""In which order the processes of a group are measured (pure): balanced, so that a drift hits all of them alike."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Literal

from runner.accelerators import ACCELERATORS
from runner.schedule.caches import in_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.schedule.resume import Member
    from runner.settings import Settings

Order = Literal["interleaved", "rounds", "sequence"]
"""Turns while the others are stopped; processes whole, the members' order turning round; member by member."""


def order_of(members: Sequence[Member], settings: Settings) -> Order:
    """Choose how a group is measured: as the settings say, as far as it makes sense and its device allows."""
    exactly_so = settings.preset == "peer" or settings.verify == "only"
    if settings.interleave == "off" or exactly_so or len(members) < 2:  # noqa: PLR2004 - nobody to take turns with
        return "sequence"
    shared = all(not ACCELERATORS[member.entry.config.accelerator].single_owner for member in members)
    return "interleaved" if settings.interleave == "processes" and shared else "rounds"


def one_by_one(members: Sequence[Member], replicas: range, order: Order) -> list[tuple[Member, int]]:
    """Return the processes, each with its replica, as they are measured where none is stopped for another."""
    if order == "sequence":
        return [(member, replica) for member in in_order(members) for replica in replicas]
    # The batch size is resolved by the first process, so the plan's order begins: ABBA from replica to replica.
    there, back = in_order(members), in_order(tuple(reversed(members)))
    return [(member, replica) for replica in replicas for member in (back if replica % 2 else there)]


def turn_order(count: int, round_number: int, seed: int, replica: int) -> list[int]:
    """Return in which order `count` processes take a round's turns: there and back, each replica in its own order."""
    order = list(range(count))
    random.Random(f"{seed}/{replica}").shuffle(order)  # noqa: S311 - no secret
    return order[::-1] if round_number % 2 else order
