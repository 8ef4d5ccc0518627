"""Dumps: what compilers, dynamo, PyTorch/XLA and the CUDA allocator write, and the result of the last iteration."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import torch
from torch.utils import _pytree as pytree

from runner.backends import dynamo
from runner.graphs import hlo
from runner.graphs.collect import MOST
from runner.instrument.passes import HLO_FOLDER, Tool


class DynamoCounters(Tool):
    """All of dynamo's counters since the process began, as JSON."""

    names = ("dump_dynamo_counters",)

    def end(self, repeat: int) -> None:
        file = self.bench.of_repeat(repeat) / "dynamo-counters.json"
        file.write_text(json.dumps(dynamo.counters(), indent=1) + "\n")


class XlaMetrics(Tool):
    """PyTorch/XLA's own report of its metrics and counters since the process began."""

    names = ("dump_pytorch_xla_metrics",)

    def end(self, repeat: int) -> None:
        from torch_xla.debug import metrics

        (self.bench.of_repeat(repeat) / "pytorch-xla-metrics.txt").write_text(metrics.metrics_report())


_ARCHIVE = "kernels.tar.gz"
_TEXTS = (".txt", ".debug_options")
_OPTIMIZED = "*after_optimizations.txt"


class HloDump(Tool):
    """Graph facts of the optimised modules; thousands of files per kernel go into one archive."""

    names = ("dump_hlo",)

    def finish(self) -> None:
        folder = self.bench.folder / HLO_FOLDER
        modules = sorted(folder.glob(_OPTIMIZED))
        if not modules:
            self.bench.found.warnings.append("dump_hlo: XLA compiled nothing")
        self.bench.found.graphs += [hlo.graph(path.read_text(), "hlo_optimized") for path in modules[:MOST]]
        pack([path for path in folder.glob("*") if path.suffix not in _TEXTS], folder / _ARCHIVE)


def pack(paths: list[Path], archive: Path) -> None:
    """Move files into an archive."""
    if not paths:
        return
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        for path in sorted(paths):
            tar.add(path, path.name)
            path.unlink()


_FOLDER = "inductor"


class InductorDebug(Tool):
    """Graphs before and after inductor's passes, generated code, and `fx_graph_runnable.py`, which runs on its own."""

    names = ("dump_inductor",)

    def prepare(self) -> None:
        # The variables are read when torch is imported, which the fork server did long ago.
        from torch._dynamo import config as dynamo_config
        from torch._inductor import config

        dynamo_config.debug_dir_root = str(self.bench.folder / _FOLDER)
        config.trace.enabled = True
        config.cpp.descriptive_names = "original_aten"
        config.triton.descriptive_names = "original_aten"
        config.triton.unique_kernel_names = True
        # A cached program would not be lowered again, so nothing would be written.
        config.force_disable_caches = True

    def finish(self) -> None:
        root = self.bench.folder / _FOLDER
        for run in sorted(root.glob("run_*")):
            # The name holds time and process: of no use inside an experiment's own folder.
            for part in run.iterdir():
                shutil.move(part, root / part.name)
            run.rmdir()
        if not any(root.rglob("output_code.py")):
            self.bench.found.warnings.append("dump_inductor: inductor compiled nothing")


class SaveOutput(Tool):
    """`torch.load` gives the same nest of tuples and dicts, with CPU tensors."""

    names = ("save_output",)

    def finish(self) -> None:
        if self.bench.output is None:
            self.bench.found.warnings.append("save_output: no iteration finished")
            return
        on_cpu = pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach().cpu(), self.bench.output)
        torch.save(on_cpu, self.bench.folder / "output.pt")


class MemorySnapshot(Tool):
    """Records from before the first compilation on, because the peaks of the warm-up matter."""

    names = ("memory_snapshot",)

    def before_first(self) -> None:
        torch.cuda.memory._record_memory_history()  # noqa: SLF001 - documented under this name

    def finish(self) -> None:
        memory = torch.cuda.memory
        memory._dump_snapshot(str(self.bench.folder / "memory-snapshot.pickle"))  # noqa: SLF001 - as above
        memory._record_memory_history(enabled=None)  # noqa: SLF001 - as above


# A small program that still fails, made by dynamo's minifier where a backend of dynamo failed.


_MINIFY_FOLDER = "minify"
_LAUNCHER = "minifier_launcher.py"
_REPRO = "repro.py"
_LOG = "minifier.log"
_LOG_BYTES = 1 << 16
_MOST_S = 300.0
_SHARE = 0.5
"""Share of the experiment's time limit: the failing run itself needs some."""
_LEVEL_ON_FAILURE = 2

NOTHING = (
    "minify: dynamo's minifier recorded no failure, so nothing is minified. It sees a compiler that fails, but neither "
    "the model nor a device that fails at execution; `xlabench repro` writes a script for these"
)


class Minify(Tool):
    """Leaves dynamo's `minifier_launcher.py`, and `repro.py` where minifying came to its end in time."""

    names = ("minify",)
    expects_failure = True

    def prepare(self) -> None:
        from torch._dynamo import config

        config.debug_dir_root = str(self._folder)
        # Inductor fails on what AOTAutograd made of a graph; other backends get dynamo's own graph.
        config.repro_after = "aot" if self.bench.config.dynamo == "inductor" else "dynamo"
        config.repro_level = _LEVEL_ON_FAILURE

    def finish(self) -> None:
        made = next(iter(sorted(self._folder.rglob(_LAUNCHER))), None)
        if made is None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self.bench.found.warnings.append(NOTHING)
            return
        launcher = self._folder / _LAUNCHER
        source = made.read_text()
        shutil.rmtree(self._folder)
        self._folder.mkdir()
        # A graph on an XLA device needs the device's package, which the launcher does not know of.
        launcher.write_text(("import torch_xla\n" if self.bench.config.xla else "") + source)
        self._launch(launcher)
        # The checkpoints on the way are left out, and of what the compilers said all but the end.
        for checkpoints in self._folder.glob("run_*"):
            shutil.rmtree(checkpoints)
        log = self._folder / _LOG
        log.write_bytes(log.read_bytes()[-_LOG_BYTES:])

    @property
    def _folder(self) -> Path:
        return self.bench.folder / _MINIFY_FOLDER

    def _launch(self, launcher: Path) -> None:
        """Minify in a process of its own, for a bounded time; what it prints is kept."""
        limit = min(_MOST_S, self.bench.command.load.settings.timeout_s * _SHARE)
        # Each trial in this one process: a new interpreter per trial would take seconds.
        command = [sys.executable, launcher.name, "minify", "--no-isolate"]
        variables = {**os.environ, "TORCH_COMPILE_DEBUG_DIR": str(self._folder)}
        with (self._folder / _LOG).open("wb") as log:
            try:
                subprocess.run(
                    command, cwd=self._folder, stdout=log, stderr=log, timeout=limit, check=False, env=variables
                )
            except subprocess.TimeoutExpired:
                self.bench.found.warnings.append(
                    f"minify: not finished after {limit:.0f} s; run {launcher.name} manually"
                )
        if not (self._folder / _REPRO).exists():
            self.bench.found.warnings.append(f"minify: no {_REPRO}; {_LOG} says why")
