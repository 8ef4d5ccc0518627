"""Show a plan: the matrix of experiments, runnable or skipped with the reason; and the console that prints tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runner.environments.machine import Machine
from runner.plan import LocalRequest, Plan, plan_file
from store.errors import counted
from store.record import PlanEntry


class PlainConsole(Console):
    """Rich's console for text without highlights; if the reader of a pipe has closed it, the command decides."""

    def on_broken_pipe(self) -> None:
        """Raise the error again: rich itself would end the process with code 1 and no message."""
        raise  # noqa: PLE0704 - rich calls this while it handles the error


_RUN, _SKIP, _NONE = "run", "skip", "·"


def as_json(plan: Plan) -> bytes:
    """Return the plan as JSON: entries as in `run.json`, and the suites that could not be listed."""
    value = {"plan_id": plan.plan_id, "plan": plan.entries, "missing_suites": plan.missing_suites}
    return msgspec.json.format(msgspec.json.encode(value), indent=2)


def as_yaml(plan: Plan, request: LocalRequest, machines: Mapping[str, Machine]) -> str:
    """Return the plan as a plan file, with the protocol settings that the plan's flags fix."""
    file = request.request.plan
    settings = {"preset": request.configuration.preset} if file is None else file.settings
    return plan_file.as_yaml(plan.entries, settings, machines)


def print_matrix(plan: Plan, stream: TextIO) -> None:
    """Print one line per model, test and accelerator, one column per variant, and the reasons below."""
    console = PlainConsole(file=stream, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 160)
    variants = list(dict.fromkeys(entry.variant for entry in plan.entries))
    reasons = list(dict.fromkeys(entry.skip_reason for entry in plan.skipped if entry.skip_reason))
    table = Table(box=None, pad_edge=False, header_style="bold")
    environments = {entry.environment for entry in plan.entries} - {"default"}
    headings = ["suite", "model", "test", "accelerator", *(["environment"] if environments else [])]
    for heading in (*headings, *variants):
        table.add_column(heading, overflow="fold")
    for key, entries in _rows(plan).items():
        cells = [_cell(entries.get(variant), reasons) for variant in variants]
        table.add_row(*key[: len(headings)], *cells)
    if plan.entries:
        console.print(table)
    for number, reason in enumerate(reasons, 1):
        console.print(Text(f"  skip {number}: {reason}"))
    for note in dict.fromkeys(note for entry in plan.entries for note in entry.notes):
        console.print(Text(f"  changed: {note}"))
    console.print(Text(summary(plan)))


def summary(plan: Plan) -> str:
    """Count the plan in one sentence."""
    models = Counter(entry.config.suite_name for entry in plan.entries)
    experiments, suites = counted(len(plan.entries), "experiment"), counted(len(models), "suite")
    return f"{experiments} in {suites}: {len(plan.runnable)} runnable, {len(plan.skipped)} skipped"


def headline(plan: Plan, folder: Path, *, resumed: bool) -> str:
    """Say what is measured, and in which folder."""
    return f"{summary(plan)}. {'Resuming the run' if resumed else 'Starting a new run'} in {folder}."


def _rows(plan: Plan) -> dict[tuple[str, ...], dict[str, PlanEntry]]:
    rows: dict[tuple[str, ...], dict[str, PlanEntry]] = {}
    for entry in plan.entries:
        config = entry.config
        key = (config.suite_name, config.model_name, config.test, config.accelerator, entry.environment)
        rows.setdefault(key, {})[entry.variant] = entry
    return rows


def _cell(entry: PlanEntry | None, reasons: list[str]) -> Text:
    if entry is None:
        return Text(_NONE, style="dim")
    if entry.skip_reason is None:
        return Text(_RUN, style="green")
    return Text(f"{_SKIP} {reasons.index(entry.skip_reason) + 1}", style="yellow")
