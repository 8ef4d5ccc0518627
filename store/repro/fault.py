"""A fault (all results with one kind of failure whose messages have one signature), and the draft of its issue."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from store.errors import counted, shortened

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


_TITLE_LENGTH = 110
_TEXT_LENGTH = 4000
_PACKAGES = ("torch", "torch_git", "torch_xla", "torch_xla_git", "torchvision", "timm", "transformers", "python", "cpu")
_EXPECTED = {
    "fallback_op": "XLA lowers the op, so that the counter stays 0 and nothing leaves the device.",
    "graph_break": "Dynamo captures the region in one graph.",
    "failure": "The program compiles and runs, as it does under eager.",
    "wrong_answer": "Results as close to float64 as eager's are, within the tolerance.",
}
NO_LINKS = """- Issue:
- Fix:
- Notes:"""
"""The section that people fill in; its text stays when the draft is written again."""


def title(fault: Fault) -> str:
    """Return the title of the issue: the backends and the fault in one line."""
    label = "PyTorch/XLA" if any("xla" in backend for backend in fault.backends) else ", ".join(fault.backends)
    text = f"`{fault.signature}` is not lowered" if fault.kind == "fallback_op" else fault.headline
    if fault.kind == "graph_break":
        text = f"graph break: {_reason(fault)}"
    return shortened(" ".join(f"[{label}] {text}".split()), _TITLE_LENGTH)


def draft(fault: Fault, proof: ScriptOutcome | None, links: str = NO_LINKS, earlier: Sequence[str] = ()) -> str:
    """Return the draft; without a proof no script was run. Lines about earlier runs of it are the newest first."""
    parts = [f"# {title(fault)}", _head(fault), "## What happens", *_happens(fault)]
    parts += ["## What was expected", _EXPECTED[fault.kind]]
    parts += ["## To reproduce", *_reproduce(fault, proof)]
    parts += ["## How often", *_often(fault), "## Versions", *_versions(fault, proof)]
    parts += ["## Links", links, "## Runs of the script", _runs(proof, earlier)]
    return "\n\n".join(parts) + "\n"


def run_line(proof: ScriptOutcome) -> str:
    """Return the line of the last section about one run of the script."""
    on = f", {proof.versions}" if proof.versions else ""
    return f"- {_day(proof.at)} UTC: {proof.outcome} ({proof.what}, {proof.seconds:.0f} s{on})"


def _head(fault: Fault) -> str:
    rows = [
        ("Kind", KIND_WORDS[fault.kind]),
        ("Id", f"`{fault.fault_id}`"),
        ("Backends", _quoted(fault.backends)),
        ("Tests", _quoted(fault.tests)),
        ("Models", str(len(fault.models))),
        ("Seen", f"{counted(fault.results_n, 'result')} of {counted(fault.runs_n, 'run')}"),
    ]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def _happens(fault: Fault) -> list[str]:
    if fault.kind == "fallback_op":
        text = (
            f"PyTorch/XLA runs `{fault.signature}` on the CPU: the counter of this name rises. The graph is cut there "
        )
        return [text + "and the operands are brought to the host.", *_call_sites(fault)]
    if fault.kind == "wrong_answer":
        return _verification(fault)
    error = fault.record.get("error") or {}
    began = (
        f"The model `{fault.model}` ends with `{error.get('type')}` in phase {error.get('phase')}:"
        if fault.kind == "failure"
        else "Dynamo splits the graph and says:"
    )
    also = (
        ["Eager ends in the same way, so the model, not a compiler, may be what is broken."]
        if fault.kind == "failure" and "eager" in fault.backends
        else []
    )
    text = str(error.get("message") or fault.detail) if fault.kind == "failure" else fault.detail
    return [began, fenced(text[:_TEXT_LENGTH]), *also]


def _call_sites(fault: Fault) -> list[str]:
    name = fault.signature.removeprefix("aten::")
    ops = [op for op in fault.record.get("fallback_ops") or [] if op.get("op") == name]
    sites = sorted({op["call_site"] for op in ops if op.get("call_site")})
    calls = sum(op.get("calls_per_iteration") or 0.0 for op in ops)
    sentences = [f"`{fault.model}` makes {calls:g} calls of it per steady iteration."] if calls else []
    return sentences + [f"Called at {_quoted(sites)}." for _ in sites[:1]]


def _verification(fault: Fault) -> list[str]:
    verification = fault.record.get("verification") or {}
    names = ("first_failed", "decided_by", "tolerance", "reference", "max_abs_error", "rmse", "rmse_eager", "cosine")
    rows = [f"| {name} | {verification[name]} |" for name in names if verification.get(name) is not None]
    return [
        f"The results of `{fault.model}` differ from eager's by more than the tolerance.",
        "\n".join(["| verification | |", "|---|---|", *rows]),
    ]


def _reproduce(fault: Fault, proof: ScriptOutcome | None) -> list[str]:
    measurement = ["The measurement itself:", fenced(str(fault.record.get("reproduce") or "not known"), "bash")]
    if proof is None:
        return [
            f"No script has been run for this draft. `xlabench repro --signature {fault.fault_id}` writes one.",
            *measurement,
        ]
    end = ["It printed:", fenced(proof.output.strip() or "(nothing)")]
    if proof.outcome == "shown":
        sentence = f"This script, {proof.what}, was run once in a process of its own and shows the fault."
        return [sentence, fenced(proof.script, "python"), *end, *measurement]
    became = {"not shown": "ran and did not show it", "could not run": "could not run"}[proof.outcome]
    sentence = f"**No script shows the fault.** The last one tried, {proof.what}, {became}."
    return [sentence, *end, *measurement]


def _often(fault: Fault) -> list[str]:
    first = f"First seen {_run(fault.first_started, fault.first_run_label, fault.first_run_id)}"
    last = f"last {_run(fault.last_started, fault.last_run_label, fault.last_run_id)}"
    counts = f"{counted(fault.results_n, 'result')} of {counted(fault.runs_n, 'run')}"
    return [f"{first}; {last}. {counts}.", "\n".join(f"- `{model}`" for model in fault.models)]


def _versions(fault: Fault, proof: ScriptOutcome | None) -> list[str]:
    environment = fault.record.get("environment") or {}
    rows = [f"| {name} | {environment[name]} |" for name in _PACKAGES if environment.get(name)]
    ran = [f"The script ran with {proof.versions}."] if proof and proof.versions else []
    sentence = f"Seen with torch {', '.join(fault.torch) or 'unknown'}"
    sentence += f" and torch_xla {', '.join(fault.torch_xla)}." if fault.torch_xla else "."
    return [sentence, "\n".join(["| measured with | |", "|---|---|", *rows]), *ran]


def _runs(proof: ScriptOutcome | None, earlier: Iterable[str]) -> str:
    lines = [run_line(proof)] if proof else []
    return "\n".join([*lines, *earlier]) or "None."


def _reason(fault: Fault) -> str:
    """Return the explanation of a graph break, because its first line names only the kind."""
    match = re.search(r"Explanation: (.+)", fault.signature)
    return match[1] if match else fault.headline


def fenced(text: str, language: str = "") -> str:
    """Return a code block whose fence is longer than any in the text."""
    longest = max(map(len, re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _run(started: datetime | None, label: str | None, run_id: str) -> str:
    when = f"{_day(started)} UTC " if started else ""
    return f"{when}in run `{label or run_id}` (`{run_id}`)"


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"


_MOST_RUNS = 20
_ATTEMPT = ".attempt"
"""Part of the name of a script that does not show its fault."""


def existing_draft(folder: Path, fault: Fault) -> Path | None:
    """Return the draft of a fault by its id, because the words in its name may have changed."""
    return next(iter(sorted(folder.glob(f"*-{fault.fault_id}.md"))), None)


def write_draft(folder: Path, fault: Fault, proof: ScriptOutcome) -> tuple[Path, Path | None]:
    """Write the draft and the script; return their paths. The text that people wrote under Links stays.

    The script is called `….attempt.py` where it does not show the fault.
    """
    folder.mkdir(parents=True, exist_ok=True)
    before = existing_draft(folder, fault)
    place = before or folder / f"{fault.file_stem}.md"
    previous = before.read_text(encoding="utf-8") if before else ""
    earlier = [line for line in _section(previous, "Runs of the script").splitlines() if line.startswith("- ")]
    text = draft(fault, proof, _section(previous, "Links") or NO_LINKS, earlier[: _MOST_RUNS - 1])
    shown, attempt = place.with_suffix(".py"), place.with_suffix(f"{_ATTEMPT}.py")
    script, other = (shown, attempt) if proof.outcome == "shown" else (attempt, shown)
    # A script that no longer shows its fault is only an attempt.
    with contextlib.suppress(FileNotFoundError):
        other.unlink()
    _replace(place, text)
    if not proof.script:
        return place, None
    _replace(script, proof.script)
    return place, script


def _section(text: str, name: str) -> str:
    """Return the text of the last section of this name, up to the next section that we write."""
    sections = re.findall(
        rf"^## {name}\n(.*?)(?=^## (?:Links|Runs of the script)\n|\Z)", text, re.MULTILINE | re.DOTALL
    )
    return sections[-1].strip() if sections else ""


def _replace(place: Path, text: str) -> None:
    """Write a file whole or not at all."""
    temporary = place.with_name(f".{place.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(place)
