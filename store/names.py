"""Names of models in sentences and lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import itemgetter

Model = tuple[str, str]
"""Suite and name: models of two suites may have the same name."""


def model_names(models: Iterable[Model]) -> dict[Model, str]:
    """Return the name of each model, sorted by it; those that several suites have are with their suite."""
    every = sorted(set(models), key=itemgetter(1, 0))
    suites = Counter(model for _, model in every)
    return {(suite, model): model if suites[model] == 1 else f"{suite}/{model}" for suite, model in every}
