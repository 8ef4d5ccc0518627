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

    add("--batch-size", type=types.positive, metavar="N", help="batch size (default: the suite's value for each model)")
    add(
        "--preset",
        choices=presets.PRESETS,
        default="xlabench",
        help="set of defaults for dtype, optimizer, repeats and more (default: xlabench)",
    )
    add("--dtype", choices=DTYPES, help="data type (default: the preset's)")
    add("--amp-dtype", choices=["float16", "bfloat16"], help="data type of autocast with --dtype amp")
    add(
        "--matmul-precision",
        choices=["highest", "high", "medium", "default"],
        help="precision of float32 matrix products",
    )
    switch("--disable-tf32", text="disable TensorFloat-32 in matrix products and convolutions (CUDA)")
    add(
        "--xla-flags",
        action="append",
        default=[],
        type=types.words,
        metavar="FLAGS",
        help="XLA_FLAGS of the XLA backends; each occurrence adds a variant, None one without flags",
    )
    add(
        "--without-fallback",
        action="append",
        default=[],
        type=types.ops,
        metavar="OP[,OP]",
        help="measure the XLA backends twice: unchanged, and with these fallback ops replaced by torch's decomposition "
        "or PyTorch/XLA's optional lowering, to estimate what a lowering would gain",
    )
    switch("--enable-functionalization", text="functionalize XLA tensors, even if the preset disables it")
    add("--compile-mode", choices=COMPILE_MODES, help="mode of torch.compile")
    switch("--dynamic-shapes", text="compile with torch.compile(dynamic=True)")
    switch("--dynamic-batch-only", text="with --dynamic-shapes: only the batch dimension is dynamic")
    switch("--fullgraph", "--filter-by-single-graph", text="fail on a graph break instead of continuing")
    switch(
        "--disable-cudagraphs",
        text="disable CUDA graphs, even if the preset enables them",
        dest="cudagraphs",
        value=False,
    )
    switch("--freezing", text="let inductor freeze parameters into the program (eval)")
    for name in ("dynamo", "inductor"):
        add(
            f"--{name}-config",
            action="append",
            default=[],
            type=types.key_value,
            metavar="KEY=VALUE",
            help=f"set torch._{name}.config.KEY",
        )
    switch("--randomize-input", text="draw new floating-point inputs for each iteration")
    add(
        "--with-optimizer",
        nargs="?",
        const="SGD",
        metavar="CLASS",
        help="include an optimizer step in train (default: SGD)",
    )
    add("--no-optimizer", action="store_true", help="run train without an optimizer step, whatever the preset says")
    add("--loss", metavar="NAME", help="loss function of train (default: the suite's own)")
    add("--weights", choices=["random", "pretrained"], help="model weights (default: random, so nothing is downloaded)")
    add(
        "--cache",
        choices=CACHES,
        default="cold",
        help="start with empty compiler caches, with caches filled by an earlier process, or measure both",
    )
    switch("--keep-model-data-on-cuda", text="keep the model on the host device; the dynamo bridge moves it")
    switch(
        "--trace-on-xla", text="keep the model on the XLA device (default)", dest="keep_model_data_on_cuda", value=False
    )
    add("--use-xla-baseline", action="store_true", help="also plan openxla+lazytensor, as a baseline")
    switch("--collect-full-output", text="return predictions, loss and gradients from train")
    switch("--include-transfers", text="time the transfer of inputs to the device and of results back")
    switch("--pure-wall-time", text="measure time with device events, which excludes launch overhead (CUDA)")
    add(
        "--exec-mode",
        choices=EXEC_MODES,
        default=EXEC_MODES[0],
        help="operators: call back to back, synchronize after each call, or time with device events (CUDA)",
    )
    add(
        "--cuda-l2-cache",
        choices=["on", "off"],
        default="on",
        help="operators: `off` clears the L2 cache before each call and synchronizes after it (CUDA)",
    )
    add("--torchbench-dir", type=Path, metavar="DIR", help="checkout of github.com/pytorch/benchmark ($TORCHBENCH_DIR)")
