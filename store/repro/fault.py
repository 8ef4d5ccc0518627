"""What a fault is: all results of one kind of trouble whose texts read alike, and what running its script showed."""

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
"""Letters of a text between two places that vary; shorter ones occur in any message."""
_HEAD = 400
"""Characters of a signature that a message is known by: a C++ compiler can say a page."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the query `faults`, with the result that shows it best."""

    kind: Kind
    signature: str
    """Its text with all taken out that differs from case to case; `aten::OP` of a fallback op."""
    detail: str
    """The text as one result has it."""
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
    """The record of that result as its line was read."""
    run_folder: str | None

    @property
    def fault_id(self) -> str:
        """Return what names the fault on command lines and in file names: a hash of kind and signature."""
        return hashlib.blake2b(f"{self.kind}\n{self.signature}".encode(), digest_size=_ID_BYTES).hexdigest()

    @property
    def file_stem(self) -> str:
        """Return a name for its files, safe on any disk; its end is the id."""
        words = re.sub(r"[^a-z0-9]+", "-", self.headline.lower()).strip("-")[:_SLUG_LENGTH].strip("-")
        return f"{self.kind}-{words}-{self.fault_id}"

    @property
    def headline(self) -> str:
        """Return the signature's first line."""
        return self.signature.strip().partition("\n")[0]

    @property
    def model(self) -> str:
        """Return the model of the result that shows it, as `suite/model`."""
        model = self.record["model"]
        return f"{model['suite_name']}/{model['model_name']}"

    def fragments(self) -> list[str]:
        """Return the texts that a message of this fault holds, in this order."""
        parts = [part.strip() for part in _PLACEHOLDER.split(self.signature[:_HEAD])]
        return [part for part in parts if len(part) >= _TELLING] or [max(parts, key=len)]


class ScriptOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a script that was run once in a process of its own."""

    outcome: Outcome
    what: str
    """What the script does: the smallest program that was tried, or what took its place."""
    script: str
    output: str
    """The end of what it printed."""
    seconds: float
    at: datetime
    versions: str
    """Versions that the script printed; empty if it ended before."""
