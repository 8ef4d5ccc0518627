"""The text of a script: its heading, its constants, and a part with a copy of all that the part imports from us."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from store.repro.fault import Fault

GIVEN = "runner.repro.parts.given"
_PARTS = ("runner.repro.parts.faults", "runner.repro.parts.wrong_answer")
_REPORT = "runner.repro.parts.step"
_ROOT = Path(__file__).resolve().parents[2]
_OURS = ("runner.", "store.")


@dataclass(frozen=True)
class _Module:
    """A module's text by the names that it defines and imports."""

    defined: dict[str, str]
    uses: dict[str, frozenset[str]]
    """Name of a definition → the names that its text uses."""
    ours: dict[str, tuple[str, str]]
    """Imported name → the module of ours and the name in it."""
    outer: dict[str, str]
    """Imported name → the statement that imports it."""


def bundle(part: str, given: str, raw: str = "") -> str:
    """Return the script of a part without its heading.

    Args:
        part: name of the function in `runner.repro.parts` that shows the fault.
        given: a module's text in place of `given`; names that it lacks keep the value there.
        raw: text that stands as it is before everything else and defines names of `given` itself.
    """
    return _Bundle(_parsed(given), raw).script(part)


class _Bundle:
    """Collects what is needed, each name once."""

    def __init__(self, given: _Module, raw: str) -> None:
        self._given = given
        self._raw = raw
        self._raw_names = frozenset(_parsed(raw).defined)
        self._taken: dict[tuple[str, str], str] = {}
        self._names: dict[str, str] = {}
        self._imports: set[str] = set()

    def script(self, part: str) -> str:
        module = next(name for name in _PARTS if part in _read(name).defined)
        self._take(module, part)
        self._take(_REPORT, "run")
        values = [text for (source, _), text in self._taken.items() if text and source == GIVEN and not _is_block(text)]
        others = [text for (source, _), text in self._taken.items() if text and source != GIVEN and not _is_block(text)]
        # Decorators and base classes run at once, so definitions precede their uses; the part itself comes last.
        taken = sorted(self._taken.items(), key=lambda item: item[0][0] == module)
        blocks = [text for _, text in taken if _is_block(text)]
        # Torch is sorted behind the standard library, as one expects it.
        imports = sorted(self._imports, key=lambda text: (re.search("torch|timm|numpy", text) is not None, text))
        head = ["\n".join(imports), self._raw.strip(), "\n".join([*values, *others])]
        end = f'if __name__ == "__main__":\n    run({part})'
        return "\n\n\n".join(text for text in [*head, *blocks, end] if text) + "\n"

    def _take(self, module: str, name: str) -> None:
        if (module, name) in self._taken or (module == GIVEN and name in self._raw_names):
            return
        source = self._given if module == GIVEN and name in self._given.defined else _read(module)
        if name not in source.defined:
            return  # a builtin, or an argument of this name
        if self._names.setdefault(name, module) != module:
            raise ValueError(f"{name} is defined in {self._names[name]} and in {module}; rename one for the script")
        text = source.defined[name]
        same = [known for known, other in source.defined.items() if other == text and known != name]
        self._taken[module, name] = ""  # a function may need itself
        for other in same:
            self._taken[module, other] = ""
        self._resolve(source, source.uses[name], module)
        # It is inserted after everything that it needs.
        del self._taken[module, name]
        self._taken[module, name] = text

    def _resolve(self, source: _Module, names: frozenset[str], module: str | None = None) -> None:
        for name in sorted(names):
            if name in source.ours:
                self._take(*source.ours[name])
            elif name in source.outer:
                self._imports.add(source.outer[name])
            elif module is not None and name in source.defined:
                self._take(module, name)


@functools.cache
def _read(module: str) -> _Module:
    return _parsed((_ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))


def _parsed(text: str) -> _Module:
    defined: dict[str, str] = {}
    uses: dict[str, frozenset[str]] = {}
    ours: dict[str, tuple[str, str]] = {}
    outer: dict[str, str] = {}
    lines = text.splitlines()
    for node in ast.parse(text).body:
        whole = "\n".join(lines[_first_line(node) - 1 : node.end_lineno])
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_OURS):
            ours |= {alias.asname or alias.name: (str(node.module), alias.name) for alias in node.names}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            outer |= dict(_import_statements(node))
        for name in _bound(node):
            defined[name], uses[name] = whole, _names_of(node, ours)
    return _Module(defined, uses, ours, outer)


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a definition or an assignment binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    for target in targets:
        yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name) and type(part.ctx) is ast.Store)


def _import_statements(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yield each imported name with a statement for it alone."""
    for imported in node.names:
        alias = f"{imported.name} as {imported.asname}" if imported.asname else imported.name
        if isinstance(node, ast.Import):
            yield imported.asname or imported.name.partition(".")[0], f"import {alias}"
        elif node.module != "__future__":
            yield imported.asname or imported.name, f"from {node.module} import {alias}"


def _names_of(node: ast.AST, ours: Collection[str]) -> frozenset[str]:
    """Return the names that a definition uses; a script does without the types of ours that only annotations name."""
    notes = (getattr(part, name, None) for part in ast.walk(node) for name in ("annotation", "returns"))
    noted = {id(part) for note in notes if note is not None for part in ast.walk(note)}
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    return frozenset(part.id for part in names if id(part) not in noted or part.id not in ours)


def _is_block(text: str) -> bool:
    return text.startswith(("def ", "class ", "@"))


_HEADING = '''"""{headline}

{what}, of {model} ({test}, {backend}), made by xlabench from record {record}.
Needs {packages}; measured with {versions}.
Run it as `python FILE`. Exit codes: 0 the fault is shown, 1 it is not, 2 a package is missing.{needs_suite}
"""

from __future__ import annotations

import importlib.util
import sys

if missing := [name for name in {needed!r} if importlib.util.find_spec(name) is None]:
    print(f"COULD NOT RUN: {{missing[0]}} is not installed")
    sys.exit(2)

'''
_NEEDS_SUITE = """
It builds the model through xlabench's suite {suite}, so both have to be there (XLABENCH_SUITES, PYTHONPATH)."""
_VERSIONS = ("python", "torch", "torch_xla", "timm", "transformers")


def script(
    fault: Fault,
    part: str,
    what: str,
    *,
    values: Mapping[str, Any],
    packages: Sequence[str],
    text: str = "",
    raw: str = "",
) -> str:
    """Return a whole script.

    Args:
        fault: what it shows.
        part: function of `runner.repro.parts` that shows it.
        what: what that does, for the heading.
        values: constants of `parts.given`.
        packages: names that pip knows, whose versions are printed.
        text: functions of `parts.given`, as a module's text.
        raw: text that stands as it is at the top.
    """
    constants = "\n".join(f"{name} = {value!r}" for name, value in {**values, "PACKAGES": tuple(packages)}.items())
    environment = fault.record.get("environment") or {}
    heading = _HEADING.format(
        headline=_plain(fault.headline),
        what=what[:1].upper() + what[1:],
        model=_plain(fault.model),
        test=_plain(fault.record["experiment"]["test"]),
        backend=_plain(fault.record.get("variant") or ", ".join(fault.backends)),
        record=_plain(fault.record_id),
        packages=", ".join(packages),
        needed=tuple(packages),
        needs_suite=_NEEDS_SUITE.format(suite=_plain(fault.record["model"]["suite_name"]))
        if "xlabench" in packages
        else "",
        versions=_plain(", ".join(f"{name} {environment[name]}" for name in _VERSIONS if environment.get(name))),
    )
    return heading + bundle(part, f"{text}\n\n{constants}\n", raw)


def _plain(text: str) -> str:
    """Return text that a docstring can contain: it may come from anybody's file."""
    return " ".join(text.replace("\\", "/").replace('"', "'").split())
