"""Models that are no Python source of the user's: exported programs, configurations of transformers, torchvision's."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from runner.settings import OwnForm, OwnModel
from runner.suites.base import BuildRequest
from runner.suites.building import seed_everything
from runner.suites.own import inputs, source
from runner.suites.own.reference import OwnModelError, described
from runner.suites.random_weights import record_requested_weights
from store.errors import did_you_mean

Given = tuple[tuple[Any, ...], dict[str, Any]] | None
Form = tuple[Any, Given, Callable[[Any], Any] | None, dict[str, Any]]
"""Module, inputs, a loss of the output alone, and what a source would define beside it."""


_BATCH_SIZE = 8
_TOKENS = 64
PICKLE = "module.pkl"
_MAIN = "own_main"


class Exported(torch.nn.Module):  # type: ignore[misc] # mypy does not follow torch
    """The module of an exported program, which knows no `train` and `eval`: the mode is the one it was exported in."""

    def __init__(self, program: Any) -> None:
        super().__init__()
        self.program = program

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.program(*args, **kwargs)

    def train(self, mode: bool = True) -> Exported:  # noqa: FBT001, FBT002 - torch's own signature
        self.training = mode
        return self


def _exported(own: OwnModel, request: BuildRequest) -> Form:
    del request
    try:
        program = torch.export.load(own.place)
        module = Exported(program.module())
    except Exception as error:
        raise OwnModelError(f"{own.title} is not a program of torch.export: {described(error)}.") from error
    call_inputs = program.example_inputs
    return module, (call_inputs if call_inputs is None else (tuple(call_inputs[0]), dict(call_inputs[1]))), None, {}


def _transformers(own: OwnModel, request: BuildRequest) -> Form:
    """Build by the classes of transformers alone: code that a configuration points at is never executed."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        import transformers
    except ImportError:
        raise OwnModelError(f"{own.title} needs transformers: pip install 'xlabench[runner]'.") from None
    from runner.suites import building
    from runner.suites.huggingface import WITHOUT_LOSS, kind_of, make_inputs

    path = Path(own.place)
    content = _configuration(path, own.title)
    if "auto_map" in content:
        raise OwnModelError(
            f"{own.title} needs code that its configuration refers to (auto_map); xlabench never executes such code."
        )
    try:
        config = transformers.AutoConfig.from_pretrained(
            path.parent, _configuration_file=path.name, local_files_only=True, trust_remote_code=False
        )
        config.use_cache = False
        kind = _class_of(transformers, config)
        seed_everything(request.seed)
        if request.weights == "pretrained":
            module = kind.from_pretrained(path.parent, config=config, local_files_only=True, trust_remote_code=False)
        elif kind is transformers.AutoModel:
            module = kind.from_config(config, trust_remote_code=False)
        else:
            module = kind(config)
    except Exception as error:
        raise OwnModelError(f"{own.title} cannot be built by transformers: {described(error)}.") from error
    try:
        wanted = kind_of(module)
        call_inputs: Given = ((), make_inputs(wanted, module.config, request.batch_size or 1, _TOKENS))
        loss = None if wanted in WITHOUT_LOSS else building.own_loss
    except ValueError:
        call_inputs, loss = None, None
    return module, call_inputs, loss, {}


def _configuration(path: Path, name: str) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OwnModelError(f"{name} is not a configuration of transformers: {described(error)}.") from None
    if not isinstance(content, dict) or "model_type" not in content:
        raise OwnModelError(f"{name} is not a configuration of transformers: it names no model_type.")
    return content


def _class_of(transformers: Any, config: Any) -> Any:
    """Return the architecture that the configuration names, else the plain model of its type."""
    for name in config.architectures or ():
        architecture = getattr(transformers, str(name), None)
        if isinstance(architecture, type) and issubclass(architecture, transformers.PreTrainedModel):
            return architecture
    return transformers.AutoModel


def _torchvision(own: OwnModel, request: BuildRequest) -> Form:
    try:
        from torchvision import models
    except ImportError:
        raise OwnModelError(f"{own.title} needs torchvision: pip install 'xlabench[runner]'.") from None
    name = own.place
    if name not in models.list_models():
        raise OwnModelError(f"torchvision has no model {name!r}.{did_you_mean(name, models.list_models())}")
    seed_everything(request.seed)
    weights = models.get_model_weights(name).DEFAULT
    if request.weights == "pretrained":
        module = models.get_model(name, weights=weights)
    else:
        with record_requested_weights("random"):
            module = models.get_model(name)
    return module, _images(f"{models.get_model_builder(name).__module__}.", weights, request), None, {}


def _images(module: str, weights: Any, request: BuildRequest) -> Given:
    """Return images of the size that the model's own weights were trained with."""
    size = getattr(weights.transforms(), "crop_size", [224])[-1]
    count = request.batch_size or _BATCH_SIZE
    if ".detection." in module:
        return ([torch.rand(3, 320, 320) for _ in range(count)],), {}
    if ".segmentation." in module:
        return (torch.rand(count, 3, 520, 520),), {}
    if ".video." in module:
        return (torch.rand(count, 3, 16, size, size),), {}
    if ".optical_flow." in module:
        return (torch.rand(count, 3, 128, 128), torch.rand(count, 3, 128, 128)), {}
    return (torch.rand(count, 3, size, size),), {}


def _pickled(own: OwnModel, request: BuildRequest) -> Form:
    """Read what `xlabench.measure` wrote on this machine for this run."""
    del request
    sys.path[:] = [*sys.path, *(folder for folder in own.folders if folder not in sys.path)]
    path = Path(own.place)
    try:
        content = pickle.loads((path / PICKLE).read_bytes())  # noqa: S301 - written by the process that asks
    except Exception as error:
        raise OwnModelError(f"{own.title} cannot be read in another process: {described(error)}.") from error
    _name_main(content["module"], content["loss"])
    names = {"loss": content["loss"]} if content["loss"] else {}
    return content["module"], inputs.called_with(content["module"], content["inputs"]), None, names


def _name_main(module: Any, loss: Any) -> None:
    """Give what was defined in `__main__` there a module of its own here: dynamo looks its globals up by the name."""
    defined = [member for kind in {type(submodule) for submodule in module.modules()} for member in vars(kind).values()]
    for scope in (getattr(function, "__globals__", {}) for function in (*defined, loss)):
        if scope.get("__name__") == "__main__":
            here = sys.modules.setdefault(_MAIN, types.ModuleType(_MAIN))
            vars(here).update(scope)
            scope["__name__"] = here.__name__ = _MAIN


FORMS: dict[OwnForm, Callable[[OwnModel, BuildRequest], Form]] = {
    "exported": _exported,
    "transformers": _transformers,
    "torchvision": _torchvision,
    "pickled": _pickled,
}


def weight_files(form: OwnForm, place: str, weights: str) -> tuple[str, ...]:
    """Return the files of weights in the folder of a configuration, where they are read."""
    if form != "transformers" or weights != "pretrained":
        return ()
    return tuple(sorted(file.name for file in Path(place).parent.iterdir() if file.suffix in (".safetensors", ".bin")))


def sha256(form: OwnForm, place: str, files: tuple[str, ...]) -> str:
    """Return the hash of a source that is no Python."""
    if form == "torchvision":
        return hashlib.sha256(place.encode()).hexdigest()
    return source.sha256(Path(place), files)
