"""Verdicts as sign, word and colour."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from store.charts.palette import FAILED_COLOUR, PASSED_COLOUR

INKS = {
    "green": ("#0F7A5E", "#2BA884"),
    "red": ("#BC3F22", "#EF7358"),
    "orange": ("#836800", "#C7A21F"),
    "blue": ("#1F66C1", "#6FA8F0"),
    "gray": ("#6E6E6E", "#9C9C9C"),
}
"""Name of a colour in markdown → colours of text on light and on dark; one for both would have too little contrast."""


@dataclass(frozen=True)
class Appearance:
    """Appearance of a verdict, which never depends on colour alone."""

    sign: str
    word: str
    colour: str
    """Colour of marks in charts, on light and dark."""
    markdown: str
    """Name of the colour in Streamlit's markdown."""

    @property
    def text(self) -> str:
        """Sign and word."""
        return f"{self.sign} {self.word}"

    @property
    def ink(self) -> str:
        """Colour of text in the reader's theme."""
        return ink_of(self.markdown)


LOOKS: dict[str, Appearance] = {
    "faster": Appearance("▲", "faster", PASSED_COLOUR, "green"),
    "slower": Appearance("▼", "slower", FAILED_COLOUR, "red"),
    "same": Appearance("≈", "unchanged", "#8A8A8A", "gray"),
    "ambiguous": Appearance("?", "ambiguous", "#9A7B00", "orange"),
    "not comparable": Appearance("✕", "not comparable", "#8A8A8A", "gray"),
    "newly failing": Appearance("✖", "newly failing", FAILED_COLOUR, "red"),
    "still failing": Appearance("✖", "still failing", FAILED_COLOUR, "red"),
    "flaky": Appearance("±", "flaky", "#9A7B00", "orange"),
    "newly passing": Appearance("✔", "newly passing", PASSED_COLOUR, "green"),
    "no longer tried": Appearance("−", "no longer tried", "#9A7B00", "orange"),  # noqa: RUF001 - a minus is meant
    "new in the plan": Appearance("+", "new in the plan", "#8A8A8A", "gray"),
    "fails in B only": Appearance("✖", "fails in B only", FAILED_COLOUR, "red"),
    "fails in A only": Appearance("✔", "fails in A only", PASSED_COLOUR, "green"),
    "fails in both": Appearance("✖", "fails in both", FAILED_COLOUR, "red"),
    "not tried in B": Appearance("−", "not tried in B", "#8A8A8A", "gray"),  # noqa: RUF001 - a minus is meant
    "tried in B only": Appearance("+", "tried in B only", "#8A8A8A", "gray"),
    "new fallback op": Appearance("✚", "new fallback op", FAILED_COLOUR, "red"),
    "fallback op in more models": Appearance("✚", "fallback op in more models", FAILED_COLOUR, "red"),
    "fallback op in other models": Appearance("±", "fallback op in other models", "#9A7B00", "orange"),
    "fallback op in fewer models": Appearance("✔", "fallback op in fewer models", PASSED_COLOUR, "green"),
    "fallback op gone": Appearance("✔", "fallback op gone", PASSED_COLOUR, "green"),
}
"""Word of store.stats.verdicts, or of a finding of store.review → its look."""


def ink_of(name: str) -> str:
    """Return the colour of text in the reader's theme by its name in markdown."""
    light, dark = INKS[name]
    return dark if st.context.theme.type == "dark" else light


def appearance_of(word: str) -> Appearance:
    """Return the look of a verdict's word."""
    return LOOKS[word]


def coloured(word: str, words: str | None = None) -> str:
    """Return a verdict's sign and word in its colour, as markdown; `words` replace the word."""
    appearance = appearance_of(word)
    return f":{appearance.markdown}[{appearance.sign} {words or appearance.word}]"
