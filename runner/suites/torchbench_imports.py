"""Find by reading which packages torchbench's models import that are not installed. Imports none of them."""

from __future__ import annotations

import ast
import importlib.util
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

_PACKAGE = "torchbenchmark"
_MODELS = ("torchbenchmark", "models")


def missing_packages(checkout: Path, names: Iterable[str]) -> dict[str, list[str]]:
    """Return for each model the packages that its modules import at once and that are not here."""
    reader = _Reader(checkout)
    found = {name: sorted(filter(_is_missing, reader.packages((*_MODELS, name)))) for name in names}
    return {name: packages for name, packages in found.items() if packages}


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
        todo, seen, found = [module], {module}, set()
        while todo:
            for name in self._imported(todo.pop()):
                if self._file(name) is not None:
                    if name not in seen:
                        seen.add(name)
                        todo.append(name)
                elif name[0] != _PACKAGE and not self._is_neighbour(module, name[0]):
                    found.add(name[0])
        return found

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
