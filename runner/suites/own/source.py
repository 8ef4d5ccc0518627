"""Import a user's file or module, and find the models in it. It executes what it imports."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.settings import OwnForm
from runner.suites.own.reference import OwnModelError, described, of_syntax

DATA_FILES = "data_files"
"""Name of the list in which a source declares files that it reads without Python's `open`."""
_NOT_THEIRS = ("site-packages", "dist-packages", "__pycache__")
_METADATA = (".egg-info", ".dist-info")
"""Endings of folders that an installation makes; packages look up their plugins there."""
_OURS = tuple(Path(__file__).parents[3] / name for name in ("runner", "store", "xlabench"))
_PYTHON = Path(os.__file__).parent
_WRITING = set("wax+")


class Reads:
    """Files that were opened, by whether something was written to them."""

    def __init__(self) -> None:
        self.modules = frozenset(sys.modules)
        """Modules that were imported before."""
        self._read: set[str] = set()
        self._written: set[str] = set()

    def opened(self, place: Any, mode: Any, flags: Any) -> None:
        if isinstance(place, str | bytes | os.PathLike):
            writes = bool(_WRITING & set(mode)) if isinstance(mode, str) else bool((flags or 0) & os.O_ACCMODE)
            (self._written if writes else self._read).add(os.path.abspath(os.fsdecode(place)))  # noqa: PTH100 - follows no link

    def further_files(self, source: Path, declared: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the files in the folder of a source that it imports or reads, relative to it."""
        data = {Path(name) for name in self._read - self._written if not name.endswith((".py", ".pyc"))}
        data |= {source.parent / name for name in declared}
        paths = {path.resolve() for path in data | set(imported(source, self.modules).values()) if path.is_file()}
        names = (_within(path, source.resolve().parent) for path in paths - {source.resolve()})
        return tuple(sorted(name for name in names if name))


_WATCHING: list[Reads] = []


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _WATCHING:
        _WATCHING[-1].opened(*arguments)


@contextlib.contextmanager
def watched() -> Iterator[Reads]:
    """Record the files that are opened meanwhile; Python keeps the hook until the process ends."""
    sys.addaudithook(_hear)
    _WATCHING.append(Reads())
    try:
        yield _WATCHING[-1]
    finally:
        _WATCHING.pop()


def declared(names: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the files that a source lists itself.

    Raises:
        OwnModelError: one is not there.
    """
    files = tuple(map(str, names.get(DATA_FILES, ())))
    folder = Path(names["__file__"]).parent
    for name in files:
        if not (folder / name).is_file():
            raise OwnModelError(f"{DATA_FILES} lists {name}, which does not exist. Correct the list.")
    return files


def imported(source: Path, before: frozenset[str]) -> dict[str, Path]:
    """Return the modules from the folder of a source that were imported since, with their files."""
    modules = {}
    for name in sorted(set(sys.modules) - before):
        place = getattr(sys.modules[name], "__file__", None)
        if place and place.endswith(".py") and _within(Path(place).resolve(), source.resolve().parent):
            modules[name] = Path(place).resolve()
    return modules


def _within(path: Path, root: Path) -> str | None:
    """Return the path below a folder; None for what is elsewhere, hidden, installed or ours."""
    if not path.is_relative_to(root) or any(path.is_relative_to(ours) for ours in _OURS):
        return None
    parts = path.relative_to(root).parts
    theirs = not set(_NOT_THEIRS) & set(path.parts) and not path.is_relative_to(_PYTHON)
    unseen = any(part.startswith(".") or part.endswith(_METADATA) for part in parts)
    return "/".join(parts) if theirs and not unseen else None


def sha256(source: Path, further_files: Iterable[str]) -> str:
    """Return the hash of a file; with further files of its folder, that of all their names and hashes.

    Raises:
        OSError: one cannot be read.
    """
    root = source.resolve().parent
    files = sorted({source.resolve().name, *further_files})
    if len(files) == 1:
        return _file_digest(source)
    lines = [f"{name} {_file_digest(root / name)}" for name in files]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


INPUTS, LOSS, STEP = "example_inputs", "loss", "train_step"
_HOOKS = (INPUTS, LOSS, STEP)
_IMPORTED: dict[str, list[str]] = {}
"""Path of a source → the modules of the user's own files that it imported; they are imported again with it."""


@dataclass(frozen=True)
class ImportedSource:
    """An imported source."""

    names: Mapping[str, Any]
    """Names that its top level defines."""
    base: str
    """Name of the source in messages."""
    path: Path
    files: tuple[str, ...]
    """The file, and the files of its folder that it imported."""


@dataclass(frozen=True)
class CandidateModel:
    """Something in a source that may be a model."""

    name: str
    kind: str
    """`class`, `instance` or `function`."""
    value: Any


def load(form: OwnForm, place: str, base: str) -> ImportedSource:
    """Import a file by its path, or a module by its name, each time again; no compiled copy is left beside it.

    Raises:
        OwnModelError: it cannot be imported.
    """
    for name in _IMPORTED.pop(place, ()):
        sys.modules.pop(name, None)
    before, sys.dont_write_bytecode = frozenset(sys.modules), True
    module = _of_file(Path(place)) if form == "file" else _of_module(place)
    path = Path(module.__file__ or "")
    _refuse_twice(path)
    imported_files = imported(path, before)
    _IMPORTED[place] = list(imported_files)
    files = sorted({path.resolve(), *imported_files.values()})
    return ImportedSource(names=vars(module), base=base, path=path, files=tuple(map(str, files)))


def _of_file(path: Path) -> types.ModuleType:
    folder, name = str(path.parent), path.stem
    if folder not in sys.path:
        sys.path.insert(0, folder)
    if not name.isidentifier() or name in sys.modules or _is_installed(name, path):
        name = f"own_{''.join(letter if letter.isalnum() else '_' for letter in name)}"
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), vars(module))  # noqa: S102 - what the user asks for
    except SyntaxError as error:
        raise of_syntax(Path(error.filename or path), error) from None
    except SystemExit as error:
        raise OwnModelError(
            f"{path.name} ends the program while it is imported ({described(error, [str(path)])}). Move the "
            'code of the script under `if __name__ == "__main__":`.'
        ) from None
    except OwnModelError:
        raise
    except Exception as error:
        pass_on_memory(error)
        to_do = "Correct it, or install what it needs."
        if "relative import" in str(error):
            to_do = f"Name it as a module, such as package.{path.stem}:NAME."
        raise OwnModelError(f"{path.name} cannot be imported: {described(error, [str(path)])}. {to_do}") from error
    return module


def _is_installed(name: str, path: Path) -> bool:
    """Say whether a package of this name is there, which others would then not find."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin != str(path)


def _of_module(name: str) -> types.ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except SyntaxError as error:
        raise of_syntax(Path(error.filename or name), error) from None
    except Exception as error:
        pass_on_memory(error)
        raise OwnModelError(
            f"{name} cannot be imported: {described(error)}. Check the name, and that its folder is here or on "
            "PYTHONPATH."
        ) from error


def pass_on_memory(error: Exception) -> None:
    """Raise the error again if the machine has too little memory: then it says nothing about the source."""
    from runner.failure import status_of

    if status_of("load", error) == "oom":
        raise error


def _refuse_twice(path: Path) -> None:
    """Refuse two classes of one name: the second hides the first, and it is unclear which one is meant."""
    lines: dict[str, list[int]] = {}
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.ClassDef):
            lines.setdefault(node.name, []).append(node.lineno)
    for name, places in lines.items():
        if len(places) > 1:
            listed = " and ".join(map(str, places))
            raise OwnModelError(
                f"{path.name} defines the class {name} {len(places)} times (lines {listed}); rename one."
            )


def choose(source: ImportedSource, attribute: str | None, *, has_inputs: bool) -> CandidateModel:
    """Return the model of this name; without a name the only one there is.

    Raises:
        OwnModelError: there is none, or several, with what was found and what is wanted.
    """
    if attribute is not None:
        return _named(source, attribute)
    models = list(_candidates(source))
    modules = [model for model in models if model.kind != "function"]
    ready = [model for model in modules if has_inputs or INPUTS in source.names or hasattr(model.value, INPUTS)]
    for group in (ready, [model for model in models if model.kind == "function"] if not ready else [], modules):
        if len(group) == 1:
            return group[0]
    wanted = (
        f"an nn.Module class or instance, or a function that returns (module, inputs); name one as {source.base}:NAME"
    )
    if not models:
        raise OwnModelError(f"{source.base} contains no model{_others(source)}; expected: {wanted}.")
    listed = ", ".join(f"{model.name} ({model.kind})" for model in models)
    raise OwnModelError(f"{source.base} contains several models: {listed}; expected: {wanted}.")


def _named(source: ImportedSource, attribute: str) -> CandidateModel:
    if attribute not in source.names:
        listed = ", ".join(model.name for model in _candidates(source)) or "no model"
        raise OwnModelError(f"{source.base} has no {attribute}; it contains {listed}.")
    value = source.names[attribute]
    kind = _kind(value)
    if kind is None:
        raise OwnModelError(
            f"{source.base}:{attribute} is of type {type(value).__name__}; expected: an nn.Module class or instance, "
            "or a function that returns (module, inputs) or (module, args, kwargs)."
        )
    return CandidateModel(attribute, kind, value)


def _candidates(source: ImportedSource) -> Iterator[CandidateModel]:
    """Yield what may be measured without a name: what the source defines itself and needs no argument."""
    name = source.names.get("__name__")
    for key, value in source.names.items():
        kind = _kind(value)
        own = kind == "instance" or getattr(value, "__module__", None) == name
        public = own and not key.startswith("_") and key not in _HOOKS
        if kind and public and (kind == "instance" or _needs_none(value)):
            yield CandidateModel(key, kind, value)


def _others(source: ImportedSource) -> str:
    """Name the classes that cannot be built without arguments, and say what to do about it."""
    classes = [key for key, value in source.names.items() if _kind(value) == "class" and not _needs_none(value)]
    own = [key for key in classes if source.names[key].__module__ == source.names.get("__name__")]
    if not own:
        return ""
    return (
        f" that can be built without arguments ({', '.join(own)} {'needs' if len(own) == 1 else 'need'} some: "
        "give them default values, or add a function that returns (module, inputs))"
    )


def _kind(value: Any) -> str | None:
    import torch

    if isinstance(value, torch.nn.Module):
        return "instance"
    if isinstance(value, type):
        return "class" if issubclass(value, torch.nn.Module) else None
    return "function" if inspect.isroutine(value) else None


def _needs_none(value: Any) -> bool:
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return False
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(parameter.default is not inspect.Parameter.empty or parameter.kind in free for parameter in parameters)
