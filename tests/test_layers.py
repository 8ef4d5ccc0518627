"""No file imports another in a circle, no class has the name of another, and errors are of one tree."""

import ast
import builtins
import functools
from collections import Counter
from pathlib import Path

import grimp
import networkx as nx
import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("runner", "store", "dashboard", "xlabench")
TREE = {"XlabenchError", "Signal"}
NAMED_BY = {ast.Name: "id", ast.Attribute: "attr", ast.ClassDef: "name", ast.alias: "name"}


def circles(edges):
    """Return the groups of modules that import each other, imports for types only included."""
    graph = nx.DiGraph(edges)
    return [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1]


def test_a_circle_is_found():
    assert circles([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]) == [["a", "b", "c"]]


@pytest.mark.parametrize("room", ROOMS)
def test_no_file_imports_another_in_a_circle(room):
    graph = grimp.build_graph(room, cache_dir=None)
    edges = [(module, other) for module in graph.modules for other in graph.find_modules_directly_imported_by(module)]
    assert edges
    assert circles(edges) == []


@functools.cache
def parsed():
    """Return the syntax tree of each file of the rooms, which are parsed once."""
    return {each: ast.parse(each.read_text()) for room in ROOMS for each in sorted((ROOT / room).rglob("*.py"))}


def classes(trees):
    """Return the classes at the top of the files: name, file, and names of its bases."""
    tops = [(node, place) for place, tree in trees.items() for node in tree.body if isinstance(node, ast.ClassDef)]
    return [(node.name, place, [ast.unparse(base).rpartition(".")[2] for base in node.bases]) for node, place in tops]


def errors_outside(trees):
    """Return the exceptions that more than one file names, and that are neither of the tree nor signals."""
    bases = nx.DiGraph([(name, base) for name, _, of in classes(trees) for base in of])
    kinds = {
        name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
    }
    over = {name: nx.descendants(bases, name) for name in bases}
    outside = {name for name, all_over in over.items() if all_over & kinds and not all_over & TREE} - TREE
    named = Counter(name for tree in trees.values() for name in outside & names(tree))
    return sorted(name for name, files_n in named.items() if files_n > 1)


def names(tree):
    """Return every name that a file defines, imports or uses."""
    return {getattr(node, NAMED_BY[type(node)]) for node in ast.walk(tree) if type(node) in NAMED_BY}


def test_no_class_name_is_defined_twice():
    where = [(name, str(place.relative_to(ROOT))) for name, place, _ in classes(parsed())]
    times = Counter(name for name, _ in where)
    assert len(times) > 400
    assert sorted(each for each in where if times[each[0]] > 1) == []


def test_an_error_outside_of_the_tree_is_found():
    texts = {
        "a": "class Odd(ValueError): ...\nclass Odder(Odd): ...\nclass Own(Exception): ...\nclass Told(Signal): ...",
        "b": "from a import Odder, Told\nimport a\ntry: ...\nexcept a.Odd: ...",
    }
    assert errors_outside({name: ast.parse(text) for name, text in texts.items()}) == ["Odd", "Odder"]


def test_errors_that_leave_their_file_are_of_the_one_tree_or_signals():
    assert errors_outside(parsed()) == []
