"""A user's own model as text of a script that holds its source, as only the user asks for. Imports no torch."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from runner.settings import OwnModel
from runner.suites.base import BuildRequest, ModelSource
from runner.suites.own.reference import OwnModelError

OWN_STEP = "its own step"
"""Name of the loss in records of models with their own training step."""
_MOST_BYTES = 1 << 20
_UNPRINTED = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""Characters that some readers of a text take for a line break and Python does not."""

_PYTHON = """
import importlib
import inspect
import sys
import tempfile
from pathlib import Path

import torch
from torch.utils import _pytree as pytree

from runner.suites.building import mean_square_of_all, seed_everything, sum_of_outputs
from runner.suites.own.build import _returned
from runner.suites.own.inputs import batch_of, called_with, made

BATCH_SIZE = {batch_size!r}
LOSS = {loss!r}
INPUTS = {inputs!r}
SOURCES = {sources}
FOLDER = tempfile.TemporaryDirectory(prefix="repro-")


def imported():
    for name, text in SOURCES.items():
        path = Path(FOLDER.name) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    sys.path.insert(0, FOLDER.name)
    return importlib.import_module({module!r})


def called(function):
    takes = BATCH_SIZE and "batch_size" in inspect.signature(function).parameters
    return function(batch_size=BATCH_SIZE) if takes else function()


def build():
    seed_everything({seed})
    source = imported()
    value = getattr(source, {attribute!r})
    seed_everything({seed})
    module, given = _returned(value if isinstance(value, torch.nn.Module) else called(value), {title!r})
    if INPUTS:
        args, kwargs = made(INPUTS)
    elif given is not None:
        args, kwargs = called_with(module, given[0]) if len(given) == 1 else given
    else:
        example = getattr(module, "example_inputs", None) or source.example_inputs
        args, kwargs = called_with(module, called(example) if callable(example) else example)
    if LOSS == {own_step!r}:
        own_step = getattr(module, "train_step", None) or source.train_step

        def step(args, kwargs):
            return own_step(batch_of(args, kwargs))

        held = [*vars(module).values(), *vars(source).values()]
        step.optimizers = [value for value in held if isinstance(value, torch.optim.Optimizer)]
        return module, args, kwargs, step
    own = getattr(source, "loss", None) or getattr(module, "loss", None)
    if LOSS != "own":
        return module, args, kwargs, sum_of_outputs if LOSS == "sum" else mean_square_of_all

    def loss(output):
        device = next(leaf.device for leaf in pytree.tree_leaves(output) if isinstance(leaf, torch.Tensor))
        batch = pytree.tree_map_only(torch.Tensor, lambda leaf: leaf.to(device), batch_of(args, kwargs))
        return own(output, batch)

    return module, args, kwargs, loss
"""
_EXPORTED = """
import base64
import io

import torch

from runner.suites.building import mean_square_of_all, seed_everything, sum_of_outputs
from runner.suites.own.build import Exported
from runner.suites.own.inputs import made

PROGRAM = {program!r}


def build():
    seed_everything({seed})
    program = torch.export.load(io.BytesIO(base64.b64decode(PROGRAM)))
    args, kwargs = made({inputs!r}) if {inputs!r} else program.example_inputs
    return Exported(program.module()), args, kwargs, sum_of_outputs if {loss!r} == "sum" else mean_square_of_all
"""
_TRANSFORMERS = """
import os

from runner.suites.building import mean_square_of_all, own_loss, seed_everything, sum_of_outputs
from runner.suites.huggingface import kind_of, make_inputs
from runner.suites.own.build import _class_of
from runner.suites.own.inputs import made

CONFIG = {config!r}


def build():
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import transformers

    config = transformers.AutoConfig.for_model(**CONFIG)
    config.use_cache = False
    kind = _class_of(transformers, config)
    seed_everything({seed})
    module = kind.from_config(config) if kind is transformers.AutoModel else kind(config)
    losses = {{"own": own_loss, "sum": sum_of_outputs}}
    loss = losses.get({loss!r}, mean_square_of_all)
    if {inputs!r}:
        return module, *made({inputs!r}), loss
    return module, (), make_inputs(kind_of(module), module.config, {batch_size!r} or 1, 64), loss
"""
_TORCHVISION = """
from types import SimpleNamespace

from runner.suites.building import mean_square_of_all, sum_of_outputs
from runner.suites.own.build import _torchvision
from runner.suites.own.inputs import made


def build():
    request = SimpleNamespace(seed={seed}, weights="random", batch_size={batch_size!r})
    module, given, _, _ = _torchvision(SimpleNamespace(place={place!r}, title={title!r}), request)
    args, kwargs = made({inputs!r}) if {inputs!r} else given
    return module, args, kwargs, sum_of_outputs if {loss!r} == "sum" else mean_square_of_all
"""


def source(own: OwnModel, request: BuildRequest, loss: str | None) -> ModelSource:
    """Return how a model is built, with everything in it that its source and the files beside it hold.

    Raises:
        OwnModelError: no script of one file can hold it.
    """
    values = {
        "title": own.title,
        "place": own.place,
        "attribute": own.attribute,
        "inputs": own.inputs,
        "seed": request.seed,
        "batch_size": request.batch_size,
        "loss": loss,
        "own_step": OWN_STEP,
    }
    if own.form == "torchvision":
        return ModelSource(text=_TORCHVISION.format(**values), packages=("torchvision",))
    path = Path(own.file or own.place)
    if own.form == "transformers":
        config = json.loads(path.read_text(encoding="utf-8"))
        return ModelSource(text=_TRANSFORMERS.format(config=config, **values), packages=("transformers",))
    files = {name: (path.parent / name).read_bytes() for name in (path.name, *own.further_files)}
    if sum(map(len, files.values())) > _MOST_BYTES:
        raise OwnModelError(f"{own.title} and the files that it reads are larger than 1 MiB, too large for one script.")
    if own.form == "exported":
        return ModelSource(text=_EXPORTED.format(program=base64.b64encode(files[path.name]).decode(), **values))
    module, folder = path.stem, ""
    if own.form == "module":
        module = own.place
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        folder = f"{package.replace('.', '/')}/" if package else ""
    elif not module.isidentifier():
        module = "own_model"
        files[f"{module}.py"] = files.pop(path.name)
    listed = "".join(f"    {folder + name!r}: {_literal(content)},\n" for name, content in files.items())
    return ModelSource(text=_PYTHON.format(sources=f"{{\n{listed}}}", module=module, **values))


def _literal(content: bytes) -> str:
    """Return a file as Python writes it down, readable where it can be."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return repr(content)
    if "'''" in text or text.endswith(("'", "\\")) or any(mark in text for mark in _UNPRINTED) or not text.isascii():
        return repr(text)
    return f"r'''{text}'''"
