"""One fixed colour and shape per backend, and one colour per status, on every page and in both themes.

Shapes repeat the information of colours.
"""

from __future__ import annotations

from collections.abc import Iterable

BACKENDS: dict[str, tuple[str, str]] = {
    "eager": ("#8A8A8A", "circle"),
    "inductor": ("#E07B00", "square"),
    "openxla+lazytensor": ("#1BA37D", "triangle-up"),
    "openxla+dynamo": ("#3A86E0", "diamond"),
}
_OTHERS = (
    ("#C76BA0", "cross"),
    ("#B09A00", "triangle-down"),
    ("#9A7BD0", "triangle-right"),
    ("#C8553D", "triangle-left"),
)

FAILED_COLOUR = "#D2492A"
PASSED_COLOUR = "#12896A"
VERDICTS = {"slower": (FAILED_COLOUR, "triangle-down"), "faster": (PASSED_COLOUR, "triangle-up")}
"""Word of a verdict → colour and shape of its marks."""

NEUTRAL = "#8A8A8A"


def colour(backend: str) -> str:
    """Return the colour of a backend; an unknown one gets the same colour each time."""
    return _look(backend)[0]


def shape(backend: str) -> str:
    """Return the mark shape of a backend."""
    return _look(backend)[1]


def scale(variants: Iterable[tuple[str, str]]) -> tuple[list[str], list[str], list[str]]:
    """Return domain, colours and shapes for (variant, backend) pairs, in the order of the backends.

    Variants of one backend share its colour and differ in shape.
    """
    order = list(BACKENDS)
    pairs = sorted(set(variants), key=lambda p: (order.index(p[1]) if p[1] in order else len(order), p[1], p[0]))
    shapes: list[str] = []
    counts: dict[str, int] = {}
    for _, backend in pairs:
        turn = counts.get(backend, 0)
        counts[backend] = turn + 1
        shapes.append(shape(backend) if turn == 0 else _OTHERS[(turn - 1) % len(_OTHERS)][1])
    return [v for v, _ in pairs], [colour(b) for _, b in pairs], shapes


def _look(backend: str) -> tuple[str, str]:
    look = BACKENDS.get(backend)
    return look or _OTHERS[sum(backend.encode()) % len(_OTHERS)]
