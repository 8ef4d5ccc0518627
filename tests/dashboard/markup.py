"""A lint rule of our own: what becomes markdown holds no text of others that has not gone through `words.escape`.

Streamlit draws titles, captions, labels, help and messages as markdown: a label `![](http://…)` is fetched by the
browser of whoever looks. The rule reads the source: an expression that reaches one of these calls is made of constants,
of numbers in words, of what `escape` and `error_text` return, and of functions whose every return is.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

DRAWN = frozenset(
    {
        "badge",
        "button",
        "caption",
        "checkbox",
        "dialog",
        "error",
        "expander",
        "form_submit_button",
        "header",
        "info",
        "link_button",
        "markdown",
        "metric",
        "multiselect",
        "number_input",
        "page_link",
        "pills",
        "popover",
        "radio",
        "segmented_control",
        "selectbox",
        "slider",
        "spinner",
        "status",
        "subheader",
        "success",
        "tabs",
        "text_area",
        "text_input",
        "title",
        "toast",
        "toggle",
        "warning",
        "write",
    }
)
"""What draws its first argument, and `label` and `help`, as markdown."""
OF_OPTIONS = frozenset({"pills", "radio", "segmented_control"})
"""What draws each of its options as markdown, too; those of boxes are drawn as they are."""
ESCAPED = frozenset({"escape", "error_text"})
IN_WORDS = frozenset(
    {
        "ago",
        "bool",
        "count",
        "float",
        "int",
        "interval",
        "len",
        "ratio",
        "round",
        "seconds",
        "share",
        "significant",
        "size",
        "sum",
        "when",
    }
)
"""What returns a number, or a number in words."""
_OURS = frozenset({"certainty", "definition", "job_id", "says", "to_do"})
"""Attributes whose texts stand in our own sources, or are numbers."""
_THROUGH = frozenset(
    {
        "capitalize",
        "coloured",
        "dict",
        "enumerate",
        "filter",
        "fromkeys",
        "items",
        "join",
        "keys",
        "list",
        "listed",
        "lower",
        "max",
        "min",
        "partition",
        "placed",
        "removeprefix",
        "replace",
        "reversed",
        "set",
        "shortened",
        "sorted",
        "split",
        "str",
        "strip",
        "sub",
        "tuple",
        "upper",
        "values",
        "zip",
    }
)
"""What returns no text but that of its arguments."""
_MARKS = ("**", "](", "\n- ", "#### ", ":gray[", ":small[", ":red[", ":green[", ":orange[")


class Found(NamedTuple):
    """An expression that may be a text of others, drawn as markdown."""

    file: str
    line: int
    expression: str


class Rule:
    """The rule over all files of a package."""

    def __init__(self, package: Path) -> None:
        self._trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(package.rglob("*.py"))}
        self._root = package.parent
        self._safe: dict[str, bool] = {}

    @cached_property
    def _functions(self) -> dict[str, list[ast.FunctionDef]]:
        named = defaultdict(list)
        for tree in self._trees.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    named[node.name].append(node)
        return named

    def found(self) -> Iterator[Found]:
        """Give what bypasses the function."""
        for path, tree in self._trees.items():
            for scope in _scopes(tree):
                for node, drawn in _drawn(scope):
                    for each in self._foreign(drawn, _given(scope), 0):
                        yield Found(str(path.relative_to(self._root)), node.lineno, ast.unparse(each))

    def _foreign(self, node: ast.expr, given: dict[str, list[ast.expr]], depth: int) -> Iterator[ast.expr]:
        """Give the parts of an expression that may be a text of others."""
        if isinstance(node, ast.Call):
            yield from self._of_call(node, given, depth)
        elif isinstance(node, ast.Name) and not node.id.lstrip("_").isupper():
            values = given.get(node.id, [])
            if not values or depth > 6:
                yield node
            for value in values if depth <= 6 else ():
                yield from self._foreign(value, given, depth + 1)
        elif isinstance(node, ast.Attribute) and not node.attr.isupper() and node.attr not in _OURS:
            yield node
        elif isinstance(node, ast.Subscript):
            yield from self._foreign(node.value, given, depth)
        else:
            for part in _parts(node):
                yield from self._foreign(part, given, depth)

    def _of_call(self, node: ast.Call, given: dict[str, list[ast.expr]], depth: int) -> Iterator[ast.expr]:
        name = _name(node)
        if name in ESCAPED or name in IN_WORDS:
            return
        if name in _THROUGH:
            of = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            for each in (*of, *node.args):
                if not (isinstance(each, ast.Name) and each.id in ("dict", "str", "words")):
                    yield from self._foreign(each, given, depth)
        elif not self._returns_safe(name):
            yield node

    def _returns_safe(self, name: str) -> bool:
        """Tell whether each function of this name returns nothing foreign; one that asks itself does not."""
        if name not in self._safe:
            self._safe[name] = False
            functions = self._functions.get(name, [])
            returned = ((each, given) for function in functions for each, given in _returned(function))
            self._safe[name] = bool(functions) and not any(
                True for each, given in returned for _ in self._foreign(each, given, 0)
            )
        return self._safe[name]


def _scopes(tree: ast.Module) -> Iterator[ast.AST]:
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _drawn(scope: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Give what is drawn as markdown: arguments of such calls, and texts that are written as markdown."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in DRAWN:
            if ast.unparse(node.func.value) in ("st", "st.sidebar", "column", "left", "right"):
                options = node.func.attr in OF_OPTIONS
                yield from ((node, each) for each in node.args[: 1 + options])
                named = ("label", "help", *(["options"] if options else []))
                yield from ((node, each.value) for each in node.keywords if each.arg in named)
        elif isinstance(node, ast.JoinedStr) and any(
            mark in part.value for part in node.values if isinstance(part, ast.Constant) for mark in _MARKS
        ):
            yield node, node


def _given(scope: ast.AST) -> dict[str, list[ast.expr]]:
    """Return by name what is assigned to it."""
    given: dict[str, list[ast.expr]] = defaultdict(list)
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            pairs: Iterable[tuple[ast.expr, ast.expr]] = ((target, node.value) for target in node.targets)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.For | ast.comprehension):
            pairs = [(node.target, node.iter)]
        else:
            continue
        for target, value in pairs:
            for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(name, ast.Name):
                    given[name.id].append(value)
    return given


def _returned(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, dict[str, list[ast.expr]]]]:
    given = _given(function)
    for node in ast.walk(function):
        if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
            yield node.value, given


def _parts(node: ast.expr) -> list[ast.expr]:
    """Return the parts of an expression of which its text is made."""
    if isinstance(node, ast.JoinedStr):
        # A format of numbers takes no text.
        return [each.value for each in node.values if isinstance(each, ast.FormattedValue) and each.format_spec is None]
    if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp):
        return [node.elt]
    fields = {
        ast.BinOp: ("left", "right"),
        ast.DictComp: ("key",),
        ast.IfExp: ("body", "orelse"),
        ast.Starred: ("value",),
    }
    found = [getattr(node, field) for field in fields.get(type(node), ())]
    return [*found, *getattr(node, "elts", ()), *(getattr(node, "values", ()) if not found else ())]


def _name(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
