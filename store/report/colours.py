"""One fixed colour per backend, the same on every page and in every report, on white and on black.

The hues are from the Okabe-Ito set, moved to middle lightness.
"""

from __future__ import annotations

BACKENDS: dict[str, str] = {
    "eager": "#8A8A8A",
    "inductor": "#E07B00",
    "openxla+lazytensor": "#1BA37D",
    "openxla+dynamo": "#3A86E0",
}
OTHERS: tuple[str, ...] = ("#C76BA0", "#B09A00", "#9A7BD0", "#C8553D")


def colour(backend: str) -> str:
    """Return the colour of a backend; an unknown one gets the same colour each time."""
    return BACKENDS.get(backend) or OTHERS[sum(backend.encode()) % len(OTHERS)]
