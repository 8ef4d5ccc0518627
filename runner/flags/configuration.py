"""Flags that are part of an experiment's configuration: what is measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.backends.steps import DTYPES
from runner.flags import types
from runner.plan import presets

if TYPE_CHECKING:
    import argparse

COMPILE_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
EXEC_MODES = ("continuous", "discrete", "continuous_events")
CACHES = ("cold", "warm", "both")


def add_configuration_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags whose values are part of every experiment's identity."""
    group = parser.add_argument_group("configuration")
    add = group.add_argument

    def switch(*names: str, text: str, dest: str | None = None, value: bool = True) -> None:
        """Add a flag that is None until it is given: a preset's value is then kept."""
        dest = dest or names[0].removeprefix("--").replace("-", "_")
        add(*names, action="store_const", const=value, help=text, dest=dest)

    add("--batch-size", type=types.positive, metavar="N", help="default: the suite's own per model")
    add("--preset", choices=presets.PRESETS, default="xlabench", help="dtype, optimizer, repeats …")
    add("--dtype", choices=DTYPES, help="default: the preset's")
    add("--amp-dtype", choices=["float16", "bfloat16"], help="of autocast under --dtype amp")
    add("--matmul-precision", choices=["highest", "high", "medium", "default"], help="of float32 products")
    switch("--disable-tf32", text="no TensorFloat-32 in products and convolutions (CUDA)")
    add(
        "--xla-flags",
        action="append",
        default=[],
        type=types.words,
        metavar="FLAGS",
        help="XLA_FLAGS of the XLA backends; each occurrence is a variant, None one without",
    )
    add(
        "--without-fallback",
        action="append",
        default=[],
        type=types.ops,
        metavar="OP[,OP]",
        help="measure the models of the XLA backends as they are, and with these fallback ops replaced by torch's "
        "decomposition, or by the lowering that PyTorch/XLA has on request: what lowering them would pay",
    )
    switch("--enable-functionalization", text="of XLA tensors, where a preset has it off")
    add("--compile-mode", choices=COMPILE_MODES, help="mode of torch.compile")
    switch("--dynamic-shapes", text="torch.compile(dynamic=True)")
    switch("--dynamic-batch-only", text="with --dynamic-shapes: the batch dimension only")
    switch("--fullgraph", "--filter-by-single-graph", text="fail where dynamo would break the graph")
    switch("--disable-cudagraphs", text="no CUDA graphs, where a preset has them on", dest="cudagraphs", value=False)
    switch("--freezing", text="inductor folds parameters into the program (eval)")
    for name in ("dynamo", "inductor"):
        add(
            f"--{name}-config",
            action="append",
            default=[],
            type=types.key_value,
            metavar="KEY=VALUE",
            help=f"set torch._{name}.config.KEY",
        )
    switch("--randomize-input", text="new floating inputs for each iteration")
    add("--with-optimizer", nargs="?", const="SGD", metavar="CLASS", help="train steps an optimizer (default SGD)")
    add("--no-optimizer", action="store_true", help="train without an optimizer step, whatever the preset says")
    add("--loss", metavar="NAME", help="loss of train (default: the suite's own)")
    add("--weights", choices=["random", "pretrained"], help="default: random, so nothing is downloaded")
    add("--cache", choices=CACHES, default="cold", help="compiler caches: empty, filled by an earlier process, or both")
    switch("--keep-model-data-on-cuda", text="the model stays on the host device; the dynamo bridge moves it")
    switch(
        "--trace-on-xla", text="the model lies on the XLA device (default)", dest="keep_model_data_on_cuda", value=False
    )
    add("--use-xla-baseline", action="store_true", help="plan openxla+lazytensor beside what is asked for, as baseline")
    switch("--collect-full-output", text="train returns predictions, loss and gradients")
    switch("--include-transfers", text="a timed iteration moves its inputs to the device and its result back")
    switch("--pure-wall-time", text="time by device events, without launch overhead (CUDA)")
    add(
        "--exec-mode",
        choices=EXEC_MODES,
        default=EXEC_MODES[0],
        help="operators: calls of a block back to back, each waited for, or by device events (CUDA)",
    )
    add(
        "--cuda-l2-cache",
        choices=["on", "off"],
        default="on",
        help="operators: off clears it before each call, which is then waited for (CUDA)",
    )
    add("--torchbench-dir", type=Path, metavar="DIR", help="checkout of github.com/pytorch/benchmark ($TORCHBENCH_DIR)")
