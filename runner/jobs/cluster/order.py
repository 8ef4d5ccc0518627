"""What a node is told, and the names of what lies at the place that worker and nodes share."""

from __future__ import annotations

import re

import msgspec

from runner.jobs.executor import Work
from runner.jobs.request import Needs

ORDER, WAITS, STOP, MEASURES, LOG, END = "order.json", "waits", "stop", "measures.json", "log", "end.json"
"""Files of an attempt: the worker's order, what the node waits for, the request to end, and the node's answers."""
RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,250}")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt as the worker gives it to a node. It names no place: the node knows its own."""

    origin: str
    """Identifies the worker's home, so that several homes can share nodes and places."""
    job_id: int
    attempt: int
    label: str
    needs: Needs
    work: Work


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Which run an attempt measures into."""

    run_id: str
    name: str
    """Name of its folder, at the shared place and in the worker's home."""


def attempt_name(origin: str, job_id: int, attempt: int) -> str:
    """Return where an attempt's files lie at the shared place."""
    return f"attempts/{origin}/{job_id}/{attempt}"


def run_name(origin: str, name: str) -> str:
    """Return where a run's files lie at the shared place."""
    return f"runs/{origin}/{name}"
