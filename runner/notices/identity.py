"""A name for each event that receivers can tell it by, whatever way it comes."""

from __future__ import annotations

import uuid

_OURS = uuid.UUID("6f2f5a3c-1d5e-4e0f-9c53-5f0f5f6d2c11")


def urn(key: str) -> str:
    """Return the same name for the same key."""
    return uuid.uuid5(_OURS, key).urn
