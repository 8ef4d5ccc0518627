"""The command line of runner.py: suites x devices x dtypes x compilers, each for performance and for accuracy."""

from __future__ import annotations

import shlex
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from runner.dynamo import harness, output
from runner.environments import machine
from runner.errors import UsageError
from runner.peer_cli import table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from runner.peer_cli.table import Table

_SUITES = ("torchbench", "huggingface", "timm_models")
_COMPILERS = ("eager", "aot_eager", "inductor", "inductor_no_cudagraphs")
_WORDS = {
    "inductor": ("--inductor",),
    "inductor_no_cudagraphs": ("--inductor", "--disable-cudagraphs"),
    "inductor_max_autotune": ("--inductor", "--inductor-compile-mode=max-autotune"),
    "inductor_max_autotune_no_cudagraphs": (
        "--inductor",
        "--inductor-compile-mode=max-autotune-no-cudagraphs",
        "--disable-cudagraphs",
    ),
    "xla": ("--xla",),
    "ts_nnc": ("--speedup-ts",),
}
"""What a compiler's name means to the harness; any other is a backend of dynamo."""
_GONE = {
    "ts_nvfuser": "nvfuser was removed from PyTorch; ts_nnc is TorchScript",
    "ts_nvfuser_cudagraphs": "nvfuser was removed from PyTorch; ts_nnc is TorchScript, cudagraphs are CUDA graphs",
    "aot_nvfuser": "nvfuser was removed from PyTorch; use inductor",
    "nvprims_nvfuser": "nvfuser was removed from PyTorch; use inductor",
    "aot_cudagraphs": "it was renamed to cudagraphs",
    "trt": "TensorRT through TorchScript was removed; use tensorrt if dynamo lists it",
}
_INFERENCE_REPEAT = ("-n50",)
"""The harness's own repeats for inductor."""
_QUICK = {
    "torchbench": ("-k", "resnet..$"),
    "huggingface": ("-k", "Albert"),
    "timm_models": ("-k", "^resnet", "-k", "^inception"),
}


@cache
def flags_table() -> Table:
    """Return what becomes of each of their flags."""
    return table.load(Path(__file__).with_suffix(".yaml"))


def run(words: Sequence[str], program: str, command: str) -> int:
    """Carry out every command of the product; return the worst exit code."""
    parsed = flags_table().parser(f"{program} runner", "Takes the command line of runner.py.").parse_args(list(words))
    for compiler in parsed.compilers or ():
        if compiler in _GONE:
            raise UsageError(f"--compilers {compiler}: {_GONE[compiler]}")
    every = list(commands(parsed))
    if parsed.print_run_commands:
        return _print(every, _script(parsed), program)
    code = 0
    for suite, given in every:
        output.say(shlex.join([*program.split(), suite, *given]))
        try:
            harness.run(suite, given, program, command)
        except UsageError as error:
            output.say(f"{suite}: {error}")
            code = UsageError.exit_code
    return code


def commands(parsed: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    """Yield suite and harness flags of each command, in the order of runner.py."""
    devices = parsed.devices or [harness.usual_device(machine.detect())]
    mode = "training" if parsed.training else "inference"
    for testing in ("performance", "accuracy"):
        for suite, device, dtype in product(parsed.suites or _SUITES, devices, parsed.dtypes or ["float32"]):
            for compiler in parsed.compilers or _COMPILERS:
                name = f"{compiler}_{suite}_{dtype}_{mode}_{device}_{testing}.csv"
                words = [f"--{testing}", f"--{mode}", f"--{dtype}", f"-d{device}"]
                words.append(f"--output={Path(parsed.output_dir) / name}")
                words += _WORDS.get(compiler, (f"--backend={compiler}",))
                if compiler.startswith("inductor"):
                    words += _INFERENCE_REPEAT if parsed.inference else ()
                    mode_asked = parsed.inductor_compile_mode
                    words += [f"--inductor-compile-mode={mode_asked}"] if mode_asked else []
                words += [*shlex.split(parsed.extra_args or ""), *flags_table().words(parsed)]
                yield suite, [*words, "--dashboard", *(_QUICK.get(suite, ()) if parsed.quick else ())]


def _script(parsed: argparse.Namespace) -> Path:
    """Return the name that runner.py gives its script."""
    devices = parsed.devices or [harness.usual_device(machine.detect())]
    axes = (devices, parsed.dtypes or ["float32"], parsed.suites or _SUITES, parsed.compilers or _COMPILERS)
    mode = "training" if parsed.training else "inference"
    return Path(f"run_{mode}_{'_'.join('_'.join(axis) for axis in axes)}.sh")


def _print(every: Sequence[tuple[str, list[str]]], script: Path, program: str) -> int:
    lines = [shlex.join([*program.split(), suite, *given]) for suite, given in every]
    script.write_text("\n".join(["#!/bin/bash", "set -x", *lines]) + "\n")
    for line in lines:
        output.say(line)
    output.say(f"written to {script}")
    return 0
