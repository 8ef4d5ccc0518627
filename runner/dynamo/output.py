"""Output in the harness's form: a line per model, the CSV, and the CSV of graph breaks."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from runner.schedule.run_folder import RunFolder
from store import harness_csv
from store.harness_csv import Options, Row
from store.record import Record
from store.run_file import read_records

Kind = Literal["performance", "accuracy", "xla"]


@dataclass(frozen=True, kw_only=True)
class Csv:
    """Where a command writes its rows, and what it prints."""

    path: Path | None
    append: bool
    kind: Kind
    options: Options
    quiet: bool = False
    explain: bool = False
    graph_breaks: bool = False

    def write(self, folder: RunFolder) -> None:
        """Write what the run has measured so far; an interrupted one leaves the rows that it has."""
        planned = {entry.experiment_id for entry in folder.file.plan}
        records = [record for record in read_records(folder.results) if record.experiment_id in planned]
        rows = self.rows(records)
        if not self.quiet:
            statuses = {record.model.model_name: str(record.status) for record in self._own(records)}
            for row in rows:
                say(self.line(row, records[0].experiment.test, statuses.get(str(row["name"]))))
        if self.explain:
            self._explain(records)
        if self.path is None:
            return
        before = self.path.read_text() if self.append and self.path.exists() else ""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(harness_csv.text(rows, before))
        if self.graph_breaks:
            self.path.with_name(f"{self.path.stem}_graph_breaks.csv").write_text(_graph_breaks(self._own(records)))

    def rows(self, records: Iterable[Record]) -> list[Row]:
        make = {
            "performance": harness_csv.performance,
            "accuracy": harness_csv.accuracy,
            "xla": harness_csv.against_xla,
        }[self.kind]
        return make(records, self.options)

    def line(self, row: Row, test: str, status: str | None) -> str:
        """Return what the harness prints of a model: its name, then the speedup, or why there is none."""
        head = f"{row['dev']:4} {test:5} {row['name']:34}"
        if "accuracy" in row:
            return f"{head} {row['accuracy']}"
        if not row["speedup"]:
            return f"{head} {'failed' if status in (None, 'ok') else status}"
        if "time_xla" in row:
            times = f"{float(row['time_baseline']) * 1e3:.4f} ms, {float(row['time_xla']) * 1e3:.4f} ms"
        else:
            latency = float(row["abs_latency"])
            times = f"{latency * float(row['speedup']):.4f} ms, {latency:.4f} ms"
        return f"{head} {times}, {float(row['speedup']):.3f}x"

    def _own(self, records: Iterable[Record]) -> list[Record]:
        return [
            record for record in records if (record.experiment.xla, record.experiment.dynamo) == self.options.backend
        ]

    def _explain(self, records: Iterable[Record]) -> None:
        for record in self._own(records):
            counters = harness_csv.counters(record)
            breaks = f"{counters['graph_breaks']} graph breaks ({counters['unique_graph_breaks']} unique)"
            say(
                f"{record.model.model_name}: Dynamo produced {counters['unique_graphs']} graphs "
                f"covering {counters['calls_captured']} ops with {breaks}"
            )


def say(text: str) -> None:
    """Print one line."""
    sys.stdout.write(f"{text}\n")


def _graph_breaks(records: Iterable[Record]) -> str:
    """Return their `…_graph_breaks.csv`: a line per break; dynamo's counters hold no stack."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["model", "reason", "user_stack"])
    for record in records:
        for graph_break in record.graph_breaks:
            writer.writerows([[record.model.model_name, graph_break.reason, ""]] * graph_break.count)
    return out.getvalue()
