"""Suite `torchbench`: the models of a checkout of github.com/pytorch/benchmark."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from runner.suites import data
from runner.suites.base import (
    BuildRequest,
    ModelInfo,
    SuiteContext,
    SuiteUnavailableError,
    UnknownModelError,
    UnsupportedModelError,
)
from runner.suites.data import Tables
from runner.workload import Workload
from store.record import Weights

_FILE = "torchbench.yaml"


class BatchSize(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A batch size that replaces a model's own."""

    size: int
    reason: str


class TorchbenchData(Tables, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`torchbench.yaml`, whose header explains the fields."""

    batch_size: dict[str, dict[str, BatchSize]]
    fixed_batch_size: dict[str, str]


class TorchbenchSuite:
    """Weights that a model would download are random (`random_weights.py`); the measured shapes stay the same."""

    name: str = "torchbench"
    preload: Sequence[str] = ("torchvision", "timm")

    def unavailable(self, context: SuiteContext) -> str | None:
        """Say that there is no checkout and how to get one, or return None."""
        if find(context.torchbench_dir) is None:
            return advice(context.torchbench_dir)
        return None

    def models(self, context: SuiteContext) -> Sequence[ModelInfo]:
        """List the models of the checkout by name; an empty list without one."""
        checkout = find(context.torchbench_dir)
        names = model_names(checkout) if checkout else []
        return [_data().info(name) for name in names]

    def versions(self, context: SuiteContext) -> Mapping[str, str]:
        """Return the checkout's commit as `torchbench_commit`, where it is known."""
        checkout = find(context.torchbench_dir)
        revision = commit(checkout) if checkout else None
        return {"torchbench_commit": revision} if revision else {}

    def missing_packages(self, context: SuiteContext, names: Iterable[str]) -> Mapping[str, Sequence[str]]:
        """Return for each model the packages that it imports and that are not installed; found by reading."""
        checkout = find(context.torchbench_dir)
        return missing_packages(checkout, names) if checkout else {}

    def build(self, request: BuildRequest) -> Workload:
        """Build one model through its `Model` class and `get_module()`, as the TorchDynamo harness does."""
        checkout = find(request.context.torchbench_dir)
        if checkout is None:
            raise SuiteUnavailableError(advice(request.context.torchbench_dir))
        if request.model_name not in model_names(checkout):
            raise UnknownModelError(
                f"The torchbench checkout has no model {request.model_name!r}; list its torchbenchmark/models folder."
            )

        facts = _data()
        default = facts.batch_size[request.test].get(request.model_name)
        return _build(
            checkout,
            request,
            fixed_batch_size=request.model_name in facts.fixed_batch_size,
            default_batch_size=default.size if default else None,
        )


@cache
def _data() -> TorchbenchData:
    return data.load(_FILE, TorchbenchData)


def _build(
    checkout: Path, request: BuildRequest, *, fixed_batch_size: bool, default_batch_size: int | None
) -> Workload:
    """Build the model in the test's mode with the request's seed; pretrained weights that cannot be had are random."""
    from runner.suites.building import choose_loss, sum_of_outputs
    from runner.suites.random_weights import could_not

    loss, loss_name = choose_loss(request.loss, {"sum": sum_of_outputs}, suite=SUITE.name)
    notes = []
    with _visiting(checkout, request.seed):
        model_class = _model_class(request.model_name)
        batch_size = request.batch_size if request.batch_size is not None else default_batch_size
        if fixed_batch_size or not getattr(model_class, "ALLOW_CUSTOMIZE_BSIZE", True):
            batch_size = None
        weights = request.weights
        try:
            model = _make(model_class, request, batch_size, weights)
        except Exception as error:
            if weights == "random":
                raise
            notes.append(could_not(request.model_name, error))
            weights = "random"
            model = _make(model_class, request, batch_size, weights)
    args, kwargs = _arguments(request.model_name, model.inputs, model.batch_size)
    model.module.train(request.test == "train")
    return Workload(
        module=model.module,
        args=args,
        kwargs=kwargs,
        batch_size=model.batch_size,
        loss=loss,
        loss_name=loss_name,
        weights="pretrained" if weights == "pretrained" and model.downloads else "random",
        notes=notes + model.notes(weights),
    )


@dataclass(frozen=True, kw_only=True)
class _Made:
    """A model as its constructor left it, and the downloads that it asked for."""

    module: Any
    inputs: Any
    batch_size: int | None
    downloads: list[str]
    configurations: list[str]

    def notes(self, weights: Weights) -> list[str]:
        sentences = [f"{name}: configuration built here in place of a download" for name in self.configurations]
        if weights == "random":
            return [f"{name}: random weights in place of a pretrained download" for name in self.downloads] + sentences
        return sentences if self.downloads else [*sentences, "the model offers no pretrained weights: they are random"]


def _make(model_class: Any, request: BuildRequest, batch_size: int | None, weights: Weights) -> _Made:
    from runner.suites.building import seed_everything
    from runner.suites.random_weights import hub_or_cache, local_configurations, record_requested_weights

    seed_everything(request.seed)
    # A model that uses transformers has imported it by now; other models do not need the import.
    locally = weights == "random" and "transformers" in sys.modules
    configurations: list[str] = []
    with record_requested_weights(weights) as requested, contextlib.ExitStack() as also:
        if locally:
            configurations = also.enter_context(local_configurations())
        if weights == "pretrained":
            also.enter_context(hub_or_cache())
        model = model_class(test=request.test, device="cpu", batch_size=batch_size)
        module, inputs = model.get_module()
    return _Made(
        module=module, inputs=inputs, batch_size=model.batch_size, downloads=requested, configurations=configurations
    )


def _model_class(name: str) -> Any:
    module = importlib.import_module(f"torchbenchmark.models.{name}")
    model_class = getattr(module, "Model", None)
    if model_class is None:
        raise UnsupportedModelError(f"torchbench {name} defines no Model for this platform; choose another model.")
    if not hasattr(model_class, "name"):
        model_class.name = name
    return model_class


def _arguments(name: str, inputs: Any, batch_size: int | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and keyword arguments as PyTorch/XLA's runner passes them (`torchbench_model.py`)."""
    if name == "yolov3":
        import torch

        # Its get_module() returns images of a size that only its own training loop can use.
        return (torch.rand(batch_size or 1, 3, 384, 512),), {}
    if isinstance(inputs, dict):
        return ((inputs["input_ids"],), {}) if "input_ids" in inputs else ((), dict(inputs))
    return tuple(inputs), {}


@contextlib.contextmanager
def _visiting(checkout: Path, seed: int) -> Iterator[None]:
    """Import from the checkout and work in it; afterwards the process is as before.

    Torchbench replaces `torch.manual_seed` by one that ignores its argument, and some models set cuDNN flags;
    either would change what is measured after the build.
    """
    import torch

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


SUITE = TorchbenchSuite()


# The checkout: where it lies, its models and its commit, and the packages that its models import; without torch.


VARIABLE = "TORCHBENCH_DIR"
REPOSITORY = "https://github.com/pytorch/benchmark"
_FOLDER_NAMES = ("benchmark", "torchbench", "pytorch-benchmark")
_MODELS = Path("torchbenchmark", "models")


def find(requested: Path | None) -> Path | None:
    """Return the checkout: as requested, else as `TORCHBENCH_DIR` says, else beside the working folder or a parent.

    A folder named by the user is never replaced by another: if it holds no checkout, there is none.
    """
    named = requested or os.environ.get(VARIABLE)
    if named:
        folder = Path(named).expanduser().resolve()
        return folder if _is_checkout(folder) else None
    here = Path.cwd().resolve()
    candidates = (folder / name for folder in (here, *here.parents) for name in _FOLDER_NAMES)
    return next(filter(_is_checkout, candidates), None)


def advice(requested: Path | None) -> str:
    """Say in one sentence that there is no checkout and how to get one."""
    named = requested or os.environ.get(VARIABLE)
    without = f" ({named} holds none)" if named else ""
    return (
        f"Suite torchbench needs a checkout of github.com/pytorch/benchmark{without}: git clone {REPOSITORY} "
        f"and pass --torchbench-dir DIR (or set {VARIABLE}); the packages of that name on PyPI are other projects."
    )


def model_names(checkout: Path) -> list[str]:
    """Return the names of all models, sorted, as torchbench itself lists them."""
    return sorted(
        entry.parent.name for entry in (checkout / _MODELS).glob("*/__init__.py") if entry.parent.name != "fb"
    )


def commit(checkout: Path) -> str | None:
    """Return the checked-out commit from git's own files, or None for a folder without history."""
    git = checkout / ".git"
    if git.is_file():
        git = (checkout / _text(git).removeprefix("gitdir: ")).resolve()
    if not git.is_dir():
        return None
    head = _text(git / "HEAD")
    if not head.startswith("ref: "):
        return head or None
    reference = head.removeprefix("ref: ")
    # A worktree keeps its references in the repository it belongs to.
    common = (git / _text(git / "commondir")).resolve() if (git / "commondir").exists() else git
    return _text(git / reference) or _text(common / reference) or _packed(common, reference)


def _is_checkout(folder: Path) -> bool:
    return (folder / _MODELS / "__init__.py").is_file()


def _packed(git: Path, reference: str) -> str | None:
    for line in _text(git / "packed-refs").splitlines():
        digest, _, name = line.partition(" ")
        if name == reference:
            return digest
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


_PACKAGE = "torchbenchmark"
_MODEL_PACKAGE = ("torchbenchmark", "models")


def missing_packages(checkout: Path, names: Iterable[str]) -> dict[str, list[str]]:
    """Return for each model the packages that its modules import at once and that are not here."""
    reader = _Reader(checkout)
    lacking = {name: sorted(filter(_is_missing, reader.packages((*_MODEL_PACKAGE, name)))) for name in names}
    return {name: packages for name, packages in lacking.items() if packages}


@cache
def _is_missing(package: str) -> bool:
    if package in sys.stdlib_module_names or package in sys.modules:
        return False
    try:
        return importlib.util.find_spec(package) is None
    except (ImportError, ValueError):
        return True


class _Reader:
    """Follows imports through the checkout; every file is read once."""

    def __init__(self, checkout: Path) -> None:
        self._checkout = checkout
        self._imports: dict[tuple[str, ...], set[tuple[str, ...]]] = {}

    def packages(self, module: tuple[str, ...]) -> set[str]:
        """Return the top-level packages from elsewhere that importing the module needs."""
        pending, seen, packages = [module], {module}, set()
        while pending:
            for name in self._imported(pending.pop()):
                if self._file(name) is not None:
                    if name not in seen:
                        seen.add(name)
                        pending.append(name)
                elif name[0] != _PACKAGE and not self._is_neighbour(module, name[0]):
                    packages.add(name[0])
        return packages

    def _imported(self, module: tuple[str, ...]) -> set[tuple[str, ...]]:
        if module not in self._imports:
            file = self._file(module)
            self._imports[module] = set(_imports(file, module)) if file else set()
        return self._imports[module]

    def _file(self, module: tuple[str, ...]) -> Path | None:
        if module[0] != _PACKAGE:
            return None
        path = self._checkout.joinpath(*module)
        candidates = (path / "__init__.py", path.with_suffix(".py"))
        return next((file for file in candidates if file.is_file()), None)

    def _is_neighbour(self, module: tuple[str, ...], package: str) -> bool:
        """The checkout is on `sys.path`, and some models put their own folder there."""
        folders = (self._checkout, self._checkout.joinpath(*module))
        return any((folder / package).is_dir() or (folder / f"{package}.py").is_file() for folder in folders)


def _imports(file: Path, module: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield what a module imports, also the attributes that may be modules; `try` guards what may be absent."""
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError:
        return
    package = module if file.name == "__init__.py" else module[:-1]
    for node in _at_once(tree.body):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            origin = (*base, *(node.module.split(".") if node.module else ()))
            if origin:
                yield origin
                # `from . import x`: x may be a module of the checkout; from elsewhere only the package counts.
                yield from ((*origin, alias.name) for alias in node.names if origin[0] == _PACKAGE)


def _at_once(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when the module is imported, those in classes and plain `if` too."""
    for node in body:
        yield node
        if isinstance(node, ast.ClassDef | ast.With):
            yield from _at_once(node.body)
