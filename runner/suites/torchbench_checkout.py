"""Find a checkout of github.com/pytorch/benchmark, its models and its commit. Imports no torch."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

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
