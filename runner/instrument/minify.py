"""A small program that still fails, made by dynamo's minifier where a backend of dynamo failed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from runner.instrument.base import Tool

_FOLDER = "minify"
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
            self._clear()
            self.bench.warnings.append(NOTHING)
            return
        launcher = self._folder / _LAUNCHER
        source = made.read_text()
        shutil.rmtree(self._folder)
        self._folder.mkdir()
        # A graph on an XLA device needs the device's package, which the launcher does not know of.
        launcher.write_text(("import torch_xla\n" if self.bench.config.xla else "") + source)
        self._launch(launcher)
        self._tidy()

    @property
    def _folder(self) -> Path:
        return self.bench.folder / _FOLDER

    def _clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _launch(self, launcher: Path) -> None:
        """Minify in a process of its own, for a bounded time; what it prints is kept."""
        limit = min(_MOST_S, self.bench.command.load.settings.timeout_s * _SHARE)
        # Each trial in this one process: a new interpreter per trial would take seconds.
        command = [sys.executable, launcher.name, "minify", "--no-isolate"]
        with (self._folder / _LOG).open("wb") as log:
            try:
                subprocess.run(
                    command, cwd=self._folder, stdout=log, stderr=log, timeout=limit, check=False, env=self._variables()
                )
            except subprocess.TimeoutExpired:
                self.bench.warnings.append(f"minify: not finished after {limit:.0f} s; run {launcher.name} manually")
        if not (self._folder / _REPRO).exists():
            self.bench.warnings.append(f"minify: no {_REPRO}; {_LOG} says why")

    def _tidy(self) -> None:
        """Leave out the checkpoints on the way, and of what the compilers said all but the end."""
        for checkpoints in self._folder.glob("run_*"):
            shutil.rmtree(checkpoints)
        log = self._folder / _LOG
        log.write_bytes(log.read_bytes()[-_LOG_BYTES:])

    def _variables(self) -> dict[str, str]:
        return {**os.environ, "TORCH_COMPILE_DEBUG_DIR": str(self._folder)}
