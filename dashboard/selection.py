"""What a page shows: one run, filters on it, and the baseline to compare with; plain data without Streamlit."""

from __future__ import annotations

from dataclasses import dataclass, fields

FILTER_WORDS: dict[str, str] = {
    "suite": "Suite",
    "model": "Model",
    "backend": "Backend",
    "test": "Test",
    "accelerator": "Accelerator",
    "dtype": "Dtype",
}
"""URL parameter of each filter → its label."""


@dataclass(frozen=True)
class Selection:
    """The view that the sidebar and the URL describe; an empty filter means all."""

    run_id: str
    baseline: str
    baseline_run_id: str | None = None
    """None: the same run."""
    suite: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    backend: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    accelerator: tuple[str, ...] = ()
    dtype: tuple[str, ...] = ()

    def active(self) -> dict[str, tuple[str, ...]]:
        """Return the filters that restrict something, by label."""
        return {word: getattr(self, name) for name, word in FILTER_WORDS.items() if getattr(self, name)}

    def chosen(self) -> dict[str, tuple[str, ...]]:
        """Return every filter by its URL parameter."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name in FILTER_WORDS}
