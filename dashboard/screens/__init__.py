"""The pages, a module or package each, in the order of the navigation; each has a `PAGE` of its own and no list here.

The folder is not called `pages`: Streamlit takes a folder of that name beside the entry for its own list of pages, and
the first visitor of `/speedup` after a start would get a blank page instead of the one that `st.navigation` knows.
"""

from __future__ import annotations

import importlib
import pkgutil

from dashboard.ui.frame import PageSpec


def _discovered() -> tuple[PageSpec, ...]:
    """Import every module of this folder and return their pages by place."""
    names = [f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)]
    pages: list[PageSpec] = [importlib.import_module(name).PAGE for name in names]
    return tuple(sorted(pages, key=lambda page: page.place))


PAGES = _discovered()
