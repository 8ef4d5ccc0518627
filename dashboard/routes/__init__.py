"""What the server answers itself: the pages' frame, artifacts, the timeline that shows traces, notices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.routes import artifact, notices, pages, perfetto

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.routing import BaseRoute


def routes(hosts: Iterable[str], base: str = "") -> list[BaseRoute]:
    """Return every route; each answers only requests for these host names, from pages of this server.

    Args:
        hosts: names of this server.
        base: path that stands before each of ours.
    """
    named = frozenset(host.lower() for host in hosts)
    own = [artifact.route(named, base), notices.route(named, base), *perfetto.routes(named, base)]
    return [*own, *pages.routes(base)]
