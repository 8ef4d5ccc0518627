"""What the server answers beside Streamlit's own pages: artifacts and the timeline that shows traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.routes import artifact, perfetto

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.routing import BaseRoute


def routes(hosts: Iterable[str]) -> list[BaseRoute]:
    """Return every route; each answers only requests for these host names, from pages of this server."""
    named = frozenset(host.lower() for host in hosts)
    return [artifact.route(named), *perfetto.routes(named)]
