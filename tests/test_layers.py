"""No file imports another in a circle; `make lint` holds the layers of packages."""

from __future__ import annotations

import grimp
import networkx as nx
import pytest

ROOMS = ("runner", "store", "dashboard", "xlabench")


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
