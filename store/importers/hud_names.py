"""File names of the TorchDynamo harness's runner: `BACKEND_SUITE_DTYPE_MODE_DEVICE_KIND.csv`, read and written."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

import msgspec

SUITES = ("torchbench", "huggingface", "timm_models", "timm")
"""Names of theirs, one of which holds the separator."""
_MODES = {"inference": "eval", "training": "train", "inference-with-freezing": "eval"}
_DTYPES = "float32|float16|bfloat16|float64|amp_bf16|amp_fp16|amp|none|notset|unknown"
_DEVICES = "cpu|cuda|xpu|tpu|mps|hpu|rocm"
_NAME = re.compile(
    rf"(?P<head>.+)_(?P<dtype>{_DTYPES})_(?P<mode>{'|'.join(sorted(_MODES, key=len, reverse=True))})"
    rf"_(?P<device>{_DEVICES})(?:_(?P<model>.+?))?_(?P<kind>performance|accuracy)\.(?:csv|json)"
)
_NO_DTYPE = {"none", "notset", "unknown"}


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """What a file name says."""

    variant: str
    suite: str
    dtype: str | None
    test: str
    accelerator: str
    kind: str
    accelerator_model: str | None = None
    """What stands between device and kind, such as `h100`."""


def parse(name: str) -> Named | None:
    """Return what a file's name says; None where it is not of their form."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    backend, suite = _split(match["head"])
    if not backend:
        return None
    freezing = " freezing" if match["mode"].endswith("freezing") else ""
    return Named(
        variant=unquote(backend) + freezing,
        suite=unquote(suite),
        dtype=None if match["dtype"] in _NO_DTYPE else match["dtype"],
        test=_MODES[match["mode"]],
        accelerator=match["device"],
        kind=match["kind"],
        accelerator_model=unquote(match["model"]) if match["model"] else None,
    )


def file_name(named: Named) -> str:
    """Return the name that says it; what could be taken for a separator, or end a folder, is written as %XX."""
    suite = named.suite if named.suite in SUITES else _plain(named.suite)
    words = [quote(named.variant, safe="+=,"), suite, named.dtype or "unknown"]
    words += ["training" if named.test == "train" else "inference", named.accelerator]
    words += [_plain(named.accelerator_model)] if named.accelerator_model else []
    return "_".join([*words, named.kind]) + ".csv"


def _plain(word: str) -> str:
    return quote(word, safe="").replace("_", "%5F")


def _split(head: str) -> tuple[str, str]:
    for suite in SUITES:
        if head.endswith(f"_{suite}"):
            return head.removesuffix(f"_{suite}"), suite
    backend, _, suite = head.rpartition("_")
    return backend, suite
