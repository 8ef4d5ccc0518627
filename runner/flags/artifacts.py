"""Flags for dumps and profiles, which an extra, instrumented process writes."""

from __future__ import annotations

import argparse
from typing import Any

from runner.flags import types

INSTRUMENTS = {
    "dump_hlo": "save XLA's dump of every module (--xla_dump_to)",
    "dump_dynamo_counters": "save dynamo's counters as JSON",
    "dump_pytorch_profiles": "save a Chrome trace (gzip) and the key_averages table",
    "dump_pytorch_xla_metrics": "save PyTorch/XLA's metrics report",
    "dump_inductor": "save the TORCH_COMPILE_DEBUG folder, with a runnable fx_graph_runnable.py",
    "profile_xla": "save an XPlane profile for XProf or TensorBoard",
    "profile_cuda_cpu": "add CPU and CUDA seconds to the record",
    "profile_cuda_cpu_individual_ops": "add CPU and CUDA seconds per op, or per fallback op on XLA",
    "save_output": "save the outputs of the last iteration (torch.save)",
    "memory_snapshot": "save the allocator history (CUDA)",
    "minify": "if the backend fails, save a minimal program that still fails",
}
"""Instruments by the name of their flag; `save_ir` belongs to them under `--save-ir-format`."""


def add_artifact_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag per instrument; the timed process never sees any of them."""
    group = parser.add_argument_group("artifacts (written by an extra, instrumented process)")
    for name, text in INSTRUMENTS.items():
        group.add_argument("--" + name.replace("_", "-"), action="store_true", help=text)
    add = group.add_argument
    formats = ["text", "hlo", "stablehlo"]
    add(
        "--save-ir-format", "--save-ir", action=_Once, choices=formats, help="save the IR of every graph in this format"
    )
    add(
        "--profile-xla-duration-ms",
        type=types.positive,
        default=5000,
        metavar="MS",
        help="length of the XLA profile in milliseconds (default: 5000)",
    )
    add(
        "--collect-dynamo-counters",
        action="store_true",
        help="add dynamo's counters to the record (without an extra process)",
    )
    add(
        "--artifact-limit", type=types.size, metavar="SIZE", help="size limit of artifacts per experiment (default: 1G)"
    )


class _Once(argparse.Action):
    """Take one value: PyTorch/XLA saves a process's graphs in one format, and the last would win in silence."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        given = getattr(namespace, self.dest, None)
        if isinstance(given, str) and given != values:
            parser.error(
                f"{option} {values}: a run saves one format, and {given} is already given; run once per format"
            )
        setattr(namespace, self.dest, values)
