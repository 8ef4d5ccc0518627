"""Flags that have an extra, instrumented process leave dumps and profiles behind."""

from __future__ import annotations

import argparse
from typing import Any

from runner.flags import types

INSTRUMENTS = {
    "dump_hlo": "XLA's dump of every module (--xla_dump_to)",
    "dump_dynamo_counters": "dynamo's counters as JSON",
    "dump_pytorch_profiles": "chrome trace (gzip) and key_averages table",
    "dump_pytorch_xla_metrics": "PyTorch/XLA's metrics report",
    "dump_inductor": "TORCH_COMPILE_DEBUG's folder; its fx_graph_runnable.py runs on its own",
    "profile_xla": "XPlane profile, for XProf or TensorBoard",
    "profile_cuda_cpu": "CPU and CUDA seconds, in the record",
    "profile_cuda_cpu_individual_ops": "the same per op; per fallback op on XLA",
    "save_output": "the outputs of the last iteration (torch.save)",
    "memory_snapshot": "allocator history (CUDA)",
    "minify": "a small program that still fails, where the backend fails",
}
"""Instruments by the name of their flag; `save_ir` belongs to them under `--save-ir-format`."""


def add_artifact_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag per instrument; the timed process never sees any of them."""
    group = parser.add_argument_group("artifacts (an extra, instrumented process makes them)")
    for name, text in INSTRUMENTS.items():
        group.add_argument("--" + name.replace("_", "-"), action="store_true", help=text)
    add = group.add_argument
    formats = ["text", "hlo", "stablehlo"]
    add("--save-ir-format", "--save-ir", action=_Once, choices=formats, help="save the IR of every graph; one format")
    add("--profile-xla-duration-ms", type=types.positive, default=5000, metavar="MS", help="length of the XLA profile")
    add("--collect-dynamo-counters", action="store_true", help="dynamo's counters in the record (no extra process)")
    add("--artifact-limit", type=types.size, metavar="SIZE", help="bytes per experiment (default 1G)")


class _Once(argparse.Action):
    """Take one value: PyTorch/XLA saves a process's graphs in one format, and the last would win in silence."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        given = getattr(namespace, self.dest, None)
        if isinstance(given, str) and given != values:
            parser.error(f"{option} {values}: a run saves one format, and {given} is given; run once for each")
        setattr(namespace, self.dest, values)
