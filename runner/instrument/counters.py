"""Counters as files, one per repeat: dynamo's, and PyTorch/XLA's metrics report."""

from __future__ import annotations

import json

from runner.backends import dynamo
from runner.instrument.base import Tool


class DynamoCounters(Tool):
    """All of dynamo's counters since the process began, as JSON."""

    names = ("dump_dynamo_counters",)

    def end(self, repeat: int) -> None:
        place = self.bench.of_repeat(repeat) / "dynamo-counters.json"
        place.write_text(json.dumps(dynamo.counters(), indent=1) + "\n")


class XlaMetrics(Tool):
    """PyTorch/XLA's own report of its metrics and counters since the process began."""

    names = ("dump_pytorch_xla_metrics",)

    def end(self, repeat: int) -> None:
        from torch_xla.debug import metrics

        (self.bench.of_repeat(repeat) / "pytorch-xla-metrics.txt").write_text(metrics.metrics_report())
