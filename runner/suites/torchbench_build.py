"""Build one torchbench model inside the measuring process, and undo what its imports change."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from runner.suites.errors import UnsupportedModelError
from runner.suites.random_weights import random_weights
from runner.suites.seeding import seed_everything

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.suites.base import BuildRequest


@dataclass(frozen=True, kw_only=True)
class Built:
    """What `get_module()` of a model gave, in the form a step takes."""

    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    batch_size: int | None


def build(checkout: Path, request: BuildRequest, *, fixed_batch_size: bool, default_batch_size: int | None) -> Built:
    """Build the model in the test's mode with the request's seed."""
    with _visiting(checkout, request.seed), random_weights():
        model_class = _model_class(request.model_name)
        batch_size = request.batch_size if request.batch_size is not None else default_batch_size
        if fixed_batch_size or not getattr(model_class, "ALLOW_CUSTOMIZE_BSIZE", True):
            batch_size = None
        seed_everything(request.seed)
        model = model_class(test=request.test, device="cpu", batch_size=batch_size)
        module, inputs = model.get_module()
    args, kwargs = _arguments(request.model_name, inputs, model.batch_size)
    module.train(request.test == "train")
    return Built(module=module, args=args, kwargs=kwargs, batch_size=model.batch_size)


def _model_class(name: str) -> Any:
    module = importlib.import_module(f"torchbenchmark.models.{name}")
    model_class = getattr(module, "Model", None)
    if model_class is None:
        raise UnsupportedModelError(f"torchbench {name} defines no Model for this platform; choose another model.")
    if not hasattr(model_class, "name"):
        model_class.name = name
    return model_class


def _arguments(name: str, inputs: Any, batch_size: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and keyword arguments as PyTorch/XLA's runner passes them (`torchbench_model.py`)."""
    if name == "yolov3":
        # Its get_module() returns images of a size that only its own training loop can use.
        return (torch.rand(batch_size, 3, 384, 512),), {}
    if isinstance(inputs, dict):
        return ((inputs["input_ids"],), {}) if "input_ids" in inputs else ((), dict(inputs))
    return tuple(inputs), {}


@contextlib.contextmanager
def _visiting(checkout: Path, seed: int) -> Iterator[None]:
    """Import from the checkout and work in it; afterwards the process is as before.

    Torchbench replaces `torch.manual_seed` by one that ignores its argument, and some models set cuDNN flags;
    either would change what is measured after the build.
    """
    manual_seed, cudnn = torch.manual_seed, torch.backends.cudnn
    flags = (cudnn.deterministic, cudnn.benchmark)
    # Silences a warning of torchaudio's Kaldi bindings, which no model here uses.
    os.environ.setdefault("KALDI_ROOT", os.devnull)
    sys.path.insert(0, str(checkout))
    try:
        with contextlib.chdir(checkout):
            env_check: Any = importlib.import_module("torchbenchmark.util.env_check")
            env_check.MAIN_RANDOM_SEED = seed
            yield
    finally:
        sys.path.remove(str(checkout))
        torch.manual_seed = manual_seed
        cudnn.deterministic, cudnn.benchmark = flags
