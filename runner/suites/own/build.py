"""Build a user's own model, Python or not, with its inputs, its loss and its training step; in a process of its own."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import pickle
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from runner.settings import OwnForm, OwnModel
from runner.suites import building
from runner.suites.base import BuildRequest
from runner.suites.building import seed_everything
from runner.suites.own import inputs, source
from runner.suites.own.reference import OwnModelError, described
from runner.suites.own.script import OWN_STEP
from runner.suites.random_weights import record_requested_weights
from runner.workload import Workload
from store.errors import did_you_mean

# Models that are no Python source: exported programs, configurations of transformers, torchvision's, and pickles.

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
        hint = did_you_mean(name, models.list_models()) or " `torchvision.models.list_models()` lists its models."
        raise OwnModelError(f"torchvision has no model {name!r}.{hint}")
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


@dataclass(kw_only=True)
class BuiltModule:
    """A module before it is a workload."""

    module: Any
    given: tuple[tuple[Any, ...], dict[str, Any]] | None
    names: Mapping[str, Any] = field(default_factory=dict)
    """Other names that its source defines."""
    loss: Callable[[Any], Any] | None = None
    """The loss of the output alone; a loss of the source takes the batch, too."""
    files: tuple[str, ...] = ()


class OwnLoss(torch.nn.Module):  # type: ignore[misc] # mypy does not follow torch
    """A user's `loss(output, batch)`; the batch goes to the device as the model does."""

    def __init__(self, loss: Callable[[Any, Any], Any], batch: Any) -> None:
        super().__init__()
        object.__setattr__(self, "_loss", loss)
        leaves, self._structure = pytree.tree_flatten(batch)
        self._plain = {index: leaf for index, leaf in enumerate(leaves) if not isinstance(leaf, torch.Tensor)}
        self._count = len(leaves)
        for index, leaf in enumerate(leaves):
            if index not in self._plain:
                self.register_buffer(f"leaf_{index}", leaf.detach().clone())

    def forward(self, output: Any) -> Any:
        leaves = [
            self._plain[index] if index in self._plain else getattr(self, f"leaf_{index}")
            for index in range(self._count)
        ]
        return self._loss(output, pytree.tree_unflatten(leaves, self._structure))


def build(own: OwnModel, request: BuildRequest) -> Workload:
    """Build the model of a source.

    Raises:
        OwnModelError: what the source makes is no model, or has no inputs.
    """
    seed_everything(request.seed)
    built = _built(own, request)
    args, kwargs = inputs.made(own.inputs) if own.inputs else built.given or _own_inputs(built, own, request)
    inputs.check_uncompiled(built.module, own.title)
    inputs.check_places(built.module, args, kwargs, own.title)
    loss, loss_name = _loss(built, inputs.batch_of(args, kwargs), request.loss)
    # A function of the source can know the module only where the source holds the module itself.
    is_instance = any(value is built.module for value in built.names.values())
    step = _method(built.module, source.STEP) or (built.names.get(source.STEP) if is_instance else None)
    held = [*vars(built.module).values(), *built.names.values()]
    return Workload(
        module=built.module.train(request.test == "train"),
        args=args,
        kwargs=kwargs,
        batch_size=inputs.batch_size(args, kwargs),
        loss=loss,
        loss_name=OWN_STEP if step and request.test == "train" else loss_name,
        train_step=(lambda args, kwargs: step(inputs.batch_of(args, kwargs))) if step else None,
        # Their parameters move to the device with the module.
        optimizers=[value for value in held if isinstance(value, torch.optim.Optimizer)] if step else [],
    )


def _built(own: OwnModel, request: BuildRequest) -> BuiltModule:
    if own.form not in ("file", "module"):
        module, call_inputs, loss, names = FORMS[own.form](own, request)
        return BuiltModule(module=module, given=call_inputs, loss=loss, names=names)
    base = own.title.rpartition(":")[0]
    imported = source.load(own.form, own.place, base)
    try:
        unchanged = source.sha256(imported.path, own.further_files) == own.sha256
    except OSError:  # a file was removed
        unchanged = False
    if not unchanged:
        raise OwnModelError(f"{imported.base} has changed since the run began; measure it in a new run.")
    candidate = source.choose(imported, own.attribute, has_inputs=bool(own.inputs))
    seed_everything(request.seed)
    return _called(candidate, imported, own, request)


def _called(
    candidate: source.CandidateModel, imported: source.ImportedSource, own: OwnModel, request: BuildRequest
) -> BuiltModule:
    """Make the module: an instance is there, a class and a function are called."""
    value = candidate.value
    if candidate.kind != "instance":
        try:
            value = value(**_batch_size_for(value, request))
        except Exception as error:
            source.pass_on_memory(error)
            raise OwnModelError(f"{own.title} cannot be built: {described(error, imported.files)}.") from error
    call_inputs: Any = None
    if candidate.kind == "function":
        value, call_inputs = _returned(value, own.title)
    if not isinstance(value, torch.nn.Module):
        raise OwnModelError(
            f"{own.title} returns {type(value).__name__}; expected: (module, inputs) or (module, args, kwargs), "
            "where the module is an nn.Module."
        )
    called = None if call_inputs is None else call_inputs[0] if len(call_inputs) == 1 else call_inputs
    if call_inputs is not None and len(call_inputs) == 1:
        called = inputs.called_with(value, call_inputs[0])
    return BuiltModule(module=value, given=called, names=imported.names, files=imported.files)


_WITH_KEYWORDS = 3


def _returned(value: Any, name: str) -> tuple[Any, Any]:
    """Return the module of what a function returned, and its inputs: one value, or arguments and keywords."""
    if not isinstance(value, tuple):
        return value, None
    if len(value) == _WITH_KEYWORDS and isinstance(value[2], dict):
        args = value[1] if isinstance(value[1], tuple | list) else (value[1],)
        return value[0], (tuple(args), value[2])
    if len(value) != 2:  # noqa: PLR2004 - module and inputs
        raise OwnModelError(
            f"{name} returns {len(value)} values; expected: (module, inputs) or (module, args, kwargs)."
        )
    return value[0], (value[1],)


def _batch_size_for(value: Any, request: BuildRequest) -> dict[str, int]:
    """Return the batch size where one was asked for and the source takes it."""
    if request.batch_size is None or "batch_size" not in inspect.signature(value).parameters:
        return {}
    return {"batch_size": request.batch_size}


def _own_inputs(built: BuiltModule, own: OwnModel, request: BuildRequest) -> tuple[tuple[Any, ...], dict[str, Any]]:
    example = getattr(built.module, source.INPUTS, None) or built.names.get(source.INPUTS)
    if example is None:
        raise OwnModelError(
            f"{own.title} has no inputs: add a method example_inputs() that returns them, or pass --input, such as "
            "--input 'f32[8,3,224,224]'."
        )
    try:
        call_inputs = example(**_batch_size_for(example, request)) if callable(example) else example
    except Exception as error:
        source.pass_on_memory(error)
        raise OwnModelError(f"{own.title}: example_inputs() fails: {described(error, built.files)}.") from error
    return inputs.called_with(built.module, call_inputs)


def _loss(built: BuiltModule, batch: Any, requested: str | None) -> tuple[Callable[[Any], Any], str]:
    """Return the source's own loss where it has one, else the mean square of what the model returns."""
    offered: dict[str, Callable[[Any], Any]] = {}
    own = built.names.get(source.LOSS) or _method(built.module, source.LOSS)
    if built.loss is not None:
        offered["own"] = built.loss
    elif own is not None and callable(own):
        offered["own"] = OwnLoss(own, batch)
    offered |= {"mean_square": building.mean_square_of_all, "sum": building.sum_of_outputs}
    return building.choose_loss(requested, offered, suite="own")


def _method(module: Any, name: str) -> Any:
    """Return a method that the class defines; a layer that is stored under the name is none."""
    return getattr(module, name) if inspect.isroutine(getattr(type(module), name, None)) else None
