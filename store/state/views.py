"""Views of the dashboard that people saved under names: a page and the parameters of its address."""

from __future__ import annotations

from pathlib import Path

import msgspec

from store.errors import UsageError
from store.state.database import opened
from store.state.rows import insert, select

LONGEST_NAME = 60
LONGEST_QUERY = 8000
MOST = 500


class SavedView(msgspec.Struct, frozen=True, kw_only=True):
    """A saved view and the person who saved it; a name belongs to its newest view."""

    name: str
    page: str
    """URL path of the page; empty for Overview."""
    query: str
    who: str
    created_at: str
    """Time in UTC at which the view was saved."""


def save(state: Path, view: SavedView) -> None:
    """Write a view, in place of an earlier one of its name.

    Raises:
        UsageError: it has no name, one that is too long, or there are too many views.
    """
    if not view.name.strip():
        raise UsageError("Enter a name for the view.")
    if len(view.name) > LONGEST_NAME or len(view.query) > LONGEST_QUERY:
        raise UsageError(f"A name has at most {LONGEST_NAME} characters, and a view's address {LONGEST_QUERY}.")
    saved_names = {saved.name for saved in listed(state)}
    if len(saved_names | {view.name}) > MOST:
        raise UsageError(f"There are {MOST} saved views. Remove some first.")
    with opened(state) as con:
        con.execute("DELETE FROM views WHERE name = ?", (view.name,))
        insert(con, "views", view)


def remove(state: Path, name: str) -> None:
    """Remove the view of a name, if there is one."""
    with opened(state) as con:
        con.execute("DELETE FROM views WHERE name = ?", (name,))


def listed(state: Path) -> list[SavedView]:
    """Return all saved views by name."""
    if not state.is_file():
        return []
    with opened(state) as con:
        return select(con, SavedView, "views", "ORDER BY name")
