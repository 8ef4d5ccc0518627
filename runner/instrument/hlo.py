"""XLA's dump of every module; switched on by variables (`passes`), read and packed here."""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING

from runner.graphs import hlo
from runner.graphs.collect import MOST
from runner.instrument.base import Tool
from runner.instrument.passes import HLO_FOLDER

if TYPE_CHECKING:
    from pathlib import Path

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
            self.bench.warnings.append("dump_hlo: XLA compiled nothing")
        self.bench.graphs += [hlo.graph(path.read_text(), "hlo_optimized") for path in modules[:MOST]]
        pack([path for path in folder.glob("*") if path.suffix not in _TEXTS], folder / _ARCHIVE)


def pack(paths: list[Path], archive: Path) -> None:
    """Move files into an archive."""
    if not paths:
        return
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        for path in sorted(paths):
            tar.add(path, path.name)
            path.unlink()
