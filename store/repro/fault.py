"""A fault: all results with one kind of failure whose messages have one signature; and the outcome of its script."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from typing import Any, Literal

import msgspec

Kind = Literal["fallback_op", "graph_break", "failure", "wrong_answer"]
Outcome = Literal["shown", "not shown", "could not run"]

KIND_WORDS: dict[str, str] = {
    "fallback_op": "fallback op",
    "graph_break": "graph break",
    "failure": "failure",
    "wrong_answer": "wrong answer",
}
_ID_BYTES = 5
_SLUG_LENGTH = 40
_PLACEHOLDER = re.compile(r"<(?:model|id|path|address|shape|n|source)>")
_TELLING = 12
"""Least length of a fragment between two placeholders; shorter ones occur in any message."""
_HEAD = 400
"""Number of first characters of a signature that identify a message: a C++ compiler may write a page."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the query `faults`, with one result as an example."""

    kind: Kind
    signature: str
    """The message with placeholders for the parts that vary; `aten::OP` for a fallback op."""
    detail: str
    """The message as the example has it."""
    record_id: str
    results_n: int
    runs_n: int
    models: list[str]
    """Models as `suite/model`."""
    tests: list[str]
    backends: list[str]
    torch: list[str]
    torch_xla: list[str]
    first_run_id: str
    first_run_label: str | None
    first_started: datetime | None
    last_run_id: str
    last_run_label: str | None
    last_started: datetime | None
    record: dict[str, Any]
    """The record of the example."""
    run_folder: str | None

    @property
    def fault_id(self) -> str:
        """Return the id of the fault on command lines and in file names: a hash of kind and signature."""
        return hashlib.blake2b(f"{self.kind}\n{self.signature}".encode(), digest_size=_ID_BYTES).hexdigest()

    @property
    def file_stem(self) -> str:
        """Return a name for its files that is safe on any disk and ends with the id."""
        words = re.sub(r"[^a-z0-9]+", "-", self.headline.lower()).strip("-")[:_SLUG_LENGTH].strip("-")
        return f"{self.kind}-{words}-{self.fault_id}"

    @property
    def headline(self) -> str:
        return self.signature.strip().partition("\n")[0]

    @property
    def model(self) -> str:
        """Return the model of the example, as `suite/model`."""
        model = self.record["model"]
        return f"{model['suite_name']}/{model['model_name']}"

    def fragments(self) -> list[str]:
        """Return the fragments that every message of this fault contains, in this order."""
        parts = [part.strip() for part in _PLACEHOLDER.split(self.signature[:_HEAD])]
        return [part for part in parts if len(part) >= _TELLING] or [max(parts, key=len)]


class ScriptOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of a script that was run once in its own process."""

    outcome: Outcome
    what: str
    """Description of the script: the smallest program that was tried, or its replacement."""
    script: str
    output: str
    """The end of its output."""
    seconds: float
    at: datetime
    versions: str
    """Versions that the script printed; empty if it ended before."""
