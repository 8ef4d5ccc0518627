"""Charts side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import streamlit as st

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streamlit.delta_generator import DeltaGenerator

T = TypeVar("T")


def abreast(parts: Iterable[T], most: int = 2) -> Iterator[tuple[DeltaGenerator, T]]:
    """Yield each part with its place; as many as fit stand side by side, one alone has the whole width."""
    every = list(parts)
    width = max(1, min(most, len(every)))
    for begin in range(0, len(every), width):
        yield from zip(st.columns(width, gap="medium"), every[begin : begin + width], strict=False)
