"""Ask the hub of pretrained weights without a minute of waiting where there is no network."""

from __future__ import annotations

import contextlib
import socket
import urllib.request
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE_S = 3.0
_HTTPS = 443


@contextlib.contextmanager
def hub_or_cache() -> Iterator[None]:
    """Let the hub's client answer from its cache at once where the hub cannot be reached; it would retry otherwise."""
    try:
        from huggingface_hub import constants
    except ImportError:
        yield
        return
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not _reachable(constants.ENDPOINT)
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _reachable(address: str) -> bool:
    if urllib.request.getproxies():
        return True  # only the proxy knows
    place = urlsplit(address)
    try:
        socket.create_connection((place.hostname or "", place.port or _HTTPS), timeout=_PATIENCE_S).close()
    except OSError:
        return False
    return True
