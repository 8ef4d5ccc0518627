"""The list of pages in the order of the navigation; each is a module with `show(view)`.

The folder is not called `pages`: Streamlit takes a folder of that name beside the entry for its own list of pages, and
the first visitor of `/speedup` after a start would get a blank page instead of the one that `st.navigation` knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dashboard.screens import compare, compile_time, fallback_ops, model, operators, overview, runs, speedup, trends
from dashboard.view import View


@dataclass(frozen=True)
class PageSpec:
    """One page: title, URL path (empty: the page that opens first), icon, and the function that draws it."""

    title: str
    url_path: str
    icon: str
    show: Callable[[View], None]
    show_empty: Callable[[], None] | None = None
    """Function that draws it for an empty store; None: the page shows how to fill the store."""


PAGES = (
    PageSpec("Overview", "", ":material/dashboard:", overview.show, overview.show_empty),
    PageSpec("Speedup", "speedup", ":material/speed:", speedup.show),
    PageSpec("Compile time", "compile-time", ":material/timer:", compile_time.show),
    PageSpec("Fallback ops", "fallback-ops", ":material/call_split:", fallback_ops.show),
    PageSpec("Operators", "operators", ":material/function:", operators.show),
    PageSpec("Trends", "trends", ":material/timeline:", trends.show),
    PageSpec("Compare", "compare", ":material/compare_arrows:", compare.show),
    PageSpec("Model", "model", ":material/deployed_code:", model.show),
    PageSpec(runs.TITLE, "runs", ":material/list_alt:", runs.show, runs.show_empty),
)
