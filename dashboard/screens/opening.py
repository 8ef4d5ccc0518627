"""A selected point or row opens its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboard import links
from dashboard.charts.axes import MODEL_FIELDS, PICKED

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View


def from_chart(view: View, event: Any) -> None:
    """Open the model of the selected point, if one is selected; a point that is no model opens nothing."""
    for point in event["selection"].get(PICKED) or ():
        if all(point.get(field) for field in MODEL_FIELDS):
            links.go(view, "model", **{field: point[field] for field in MODEL_FIELDS})


def from_table(view: View, frame: pd.DataFrame, position: int | None) -> None:
    """Open the model of the row at a position, if one is selected."""
    if position is not None:
        row = frame.iloc[position]
        links.go(view, "model", **{field: row[field] for field in MODEL_FIELDS})
