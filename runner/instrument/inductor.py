"""Inductor's debug output (what TORCH_COMPILE_DEBUG gives), with kernels named after the ops they compute."""

from __future__ import annotations

import shutil

from runner.instrument.base import Tool

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
            self.bench.warnings.append("dump_inductor: inductor compiled nothing")
