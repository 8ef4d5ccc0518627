"""What installed packages can build beside our tables, found by reading their sources. Imports none of them."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path

_REGISTERED = re.compile(r"^@register_model\s*\ndef (\w+)\(", re.MULTILINE)
_CLASS = re.compile(r"^class (\w+)\(", re.MULTILINE)
_NO_MODEL = ("Config", "Output", "PreTrainedModel", "Layer", "Attention", "Embeddings", "Encoder", "Decoder")
"""Ends of the names of classes that no configuration alone makes a model of."""


@cache
def timm_models() -> frozenset[str]:
    """Return the architectures that the installed timm registers."""
    return _found("timm", "models/**/*.py", _REGISTERED)


@cache
def transformers_models() -> frozenset[str]:
    """Return the classes of the installed transformers that may be models."""
    found = _found("transformers", "models/*/modeling_*.py", _CLASS)
    return frozenset(name for name in found if not name.endswith(_NO_MODEL))


def _found(package: str, pattern: str, text: re.Pattern[str]) -> frozenset[str]:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return frozenset()
    files = Path(spec.origin).parent.glob(pattern)
    return frozenset(name for file in files for name in text.findall(file.read_text(encoding="utf-8")))
