"""The selection of a page: one run, filters, and the baseline; plain data without Streamlit."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

FILTER_WORDS: dict[str, str] = {
    "suite": "Suite",
    "model": "Model",
    "backend": "Backend",
    "test": "Test",
    "accelerator": "Accelerator",
    "dtype": "Dtype",
}
"""URL parameter of each filter → its label."""

ONLY: tuple[str, ...] = ("no fallback ops", "no graph breaks")
"""Options of the filter on models: no result of the model in the run has any of these."""

Point = Literal["same", "latest", "oldest", "pinned"]
Rule = Literal["paired", "hud", "peer"]
RULES: dict[Rule, str] = {"paired": "Paired", "hud": "HUD", "peer": "PyTorch/XLA"}
"""Rule of the summary on Overview → its name."""


@dataclass(frozen=True)
class ViewSelection:
    """The view that the sidebar and the URL describe; an empty filter means all."""

    run_id: str
    baseline: str
    """Backend that results are compared with."""
    baseline_point: Point = "same"
    """The baseline's results: those of the shown run, the latest or oldest of each series, or those of one run."""
    baseline_run_id: str | None = None
    """The run of the baseline if `baseline_point` is `pinned`, else None."""
    baseline_accelerator: str | None = None
    """Accelerator of the baseline; None: the same. Another one is cross-device: it gives ratios and no verdict."""
    only: tuple[str, ...] = ()
    """Choices of `ONLY`: models without fallback ops, without graph breaks."""
    rule: Rule = "paired"
    """Rule of the summary; only Overview uses it."""
    suite: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    backend: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    accelerator: tuple[str, ...] = ()
    dtype: tuple[str, ...] = ()

    @property
    def baseline_run(self) -> str:
        """The argument of the store's macros: the id of a run, or `latest` or `oldest`."""
        if self.baseline_point == "same":
            return self.run_id
        return self.baseline_run_id or self.baseline_point

    @property
    def cross_device(self) -> bool:
        """Whether the baseline may be of another accelerator."""
        return self.baseline_accelerator is not None

    def active(self) -> dict[str, tuple[str, ...]]:
        """Return the filters that restrict something, by label."""
        filters = {word: getattr(self, name) for name, word in FILTER_WORDS.items() if getattr(self, name)}
        return filters | ({"Only models with": self.only} if self.only else {})

    def unfiltered(self) -> ViewSelection:
        """Return the same run and baseline without filters."""
        return self.without((*FILTER_WORDS, "only"))

    def chosen(self) -> dict[str, tuple[str, ...]]:
        """Return every filter by its URL parameter."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name in FILTER_WORDS}

    def without(self, names: Iterable[str]) -> ViewSelection:
        """Return the selection with these filters off."""
        off: dict[str, Any] = dict.fromkeys(names, ())
        return replace(self, **off)

    def parameters(self) -> dict[str, object]:
        """Return the parameters for queries by name; a query binds those that it names."""
        return {name: list(values) for name, values in self.chosen().items()} | {
            "run": self.run_id,
            "only": list(self.only),
            "baseline_backend": self.baseline,
            "baseline_run": self.baseline_run,
            "baseline_point": self.baseline_run_id or self.baseline_point,
            "baseline_accelerator": self.baseline_accelerator,
        }
