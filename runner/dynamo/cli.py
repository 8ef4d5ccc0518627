"""Which of the harness's programs is meant: the first word says it, or `--suite`."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path, PurePath

import msgspec
import yaml

from runner.dynamo import harness
from runner.environments import machine
from runner.peer_cli import table
from runner.suites import suite_names
from store.errors import UsageError

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


flags_table = partial(table.load, Path(__file__).with_name("matrix.yaml"))


def run_matrix(words: Sequence[str], command: str) -> int:
    """Carry out every command of the product; return the worst exit code."""
    parsed = flags_table().parser(f"{PROGRAM} runner", "Accept the command line of runner.py.").parse_args(list(words))
    for compiler in parsed.compilers or ():
        if compiler in _GONE:
            raise UsageError(f"--compilers {compiler}: {_GONE[compiler]}")
    every = list(commands(parsed))
    if parsed.print_run_commands:
        return _print(every, _script(parsed))
    code = 0
    for suite, flags in every:
        harness.say(shlex.join([*PROGRAM.split(), suite, *flags]))
        try:
            harness.run(suite, flags, PROGRAM, command)
        except UsageError as error:
            harness.say(f"{suite}: {error}")
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


def _print(every: Sequence[tuple[str, list[str]]], script: Path) -> int:
    lines = [shlex.join([*PROGRAM.split(), suite, *flags]) for suite, flags in every]
    script.write_text("\n".join(["#!/bin/bash", "set -x", *lines]) + "\n")
    for line in lines:
        harness.say(line)
    harness.say(f"written to {script}")
    return 0


_FIXED = ("--backend=inductor", "--disable-cudagraphs", "-n10", "--timeout=4800", "--dashboard")
_DTYPES = {
    "amp_bf16": ("--amp", "--amp-dtype=bfloat16"),
    "amp_fp16": ("--amp", "--amp-dtype=float16"),
}
_MODES = {
    "inference-with-freezing": ("--inference", "--freezing"),
    "inference-no-freezing": ("--inference",),
}


class Argument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of the ten; an empty word is its default."""

    name: str
    default: str
    choices: tuple[str, ...] = ()
    becomes: str


@cache
def arguments() -> tuple[Argument, ...]:
    """Return the ten in their order."""
    return msgspec.convert(
        yaml.safe_load(Path(__file__).with_name("xpu_script.yaml").read_text()), tuple[Argument, ...]
    )


def parse(words: Sequence[str]) -> dict[str, str]:
    """Return the value of each argument.

    Raises:
        UsageError: there are more than ten words, or one is none of its choices.
    """
    if len(words) > len(arguments()):
        names = " ".join(argument.name for argument in arguments())
        raise UsageError(f"the script takes at most {len(arguments())} words: {names}")
    values = {}
    for index, argument in enumerate(arguments()):
        value = (words[index] if index < len(words) else "") or argument.default
        if argument.choices and value not in argument.choices:
            raise UsageError(f"{argument.name} {value!r} is not one of {', '.join(argument.choices)}")
        values[argument.name] = value
    return values


def translate(values: Mapping[str, str]) -> list[str]:
    """Return the harness's flags, the CSV where the script puts it."""
    words = [f"--{values['SCENARIO']}", *_DTYPES.get(values["DT"], (f"--{values['DT']}",))]
    words += [f"-d{values['DEVICE']}", f"--device-index={values['CARD']}"]
    words += [*_MODES.get(values["MODE"], (f"--{values['MODE']}",)), *_FIXED]
    words += ["--dynamic-shapes", "--dynamic-batch-only"] if values["SHAPE"] == "dynamic" else []
    if values["NUM_SHARDS"] and values["SHARD_ID"]:
        words += [f"--total-partitions={values['NUM_SHARDS']}", f"--partition-id={values['SHARD_ID']}"]
    words += [f"--only={values['MODEL_ONLY']}"] if values["MODEL_ONLY"] else []
    folder = Path(os.environ.get("WORKSPACE") or ".") / "inductor_log" / values["SUITE"] / values["DT"]
    name = "_".join(["inductor", *(values[key] for key in ("SUITE", "DT", "MODE", "DEVICE", "SCENARIO"))])
    return [*words, f"--output={folder / name}.csv"]


PROGRAM = "python -m runner.dynamo"
_MATRIX = ("runner",)
_XPU = ("inductor_xpu_test", "xpu-script")
_HELP = f"""\
usage: {PROGRAM} SUITE FLAGS …            as torchbench.py, huggingface.py, timm_models.py (--help after SUITE)
       {PROGRAM} --suite SUITE FLAGS …    the same
       {PROGRAM} runner FLAGS …           as runner.py: suites x dtypes x compilers
       {PROGRAM} xpu-script ARGUMENTS …   as inductor_xpu_test.sh: up to ten words in its order

docs/other-harnesses.md links to the flags of each, and lists the arguments of xpu-script.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    typed = list(sys.argv[1:] if arguments is None else arguments)
    if typed in (["--help"], ["-h"]):
        sys.stdout.write(_HELP)
        return 0
    command = shlex.join(["python", "-m", "runner.dynamo", *typed])
    return table.main(PROGRAM, lambda: _run(typed, command))


def _run(typed: list[str], command: str) -> int:
    name, words = _split(typed)
    if name in _MATRIX:
        return run_matrix(words, command)
    if name in _XPU:
        values = parse(words)
        return harness.run(values["SUITE"], translate(values), PROGRAM, command)
    if name not in suite_names():
        programs = ", ".join((*suite_names(), *_MATRIX, *_XPU))
        raise UsageError(
            f"{name!r} is neither a suite nor a program of the harness; the first word must be one of {programs}"
        )
    return harness.run(name, words, PROGRAM, command)


def _split(typed: list[str]) -> tuple[str, list[str]]:
    """Return the program's or suite's name, without folder and suffix, and the words that are its own."""
    if typed and not typed[0].startswith("-"):
        return PurePath(typed[0]).name.removesuffix(".py").removesuffix(".sh"), typed[1:]
    for index, word in enumerate(typed):
        if word.startswith("--suite="):
            return word.partition("=")[2], typed[:index] + typed[index + 1 :]
        if word == "--suite" and index + 1 < len(typed):
            return typed[index + 1], typed[:index] + typed[index + 2 :]
    raise UsageError("the first word must be a suite, such as torchbench; or pass --suite NAME")
