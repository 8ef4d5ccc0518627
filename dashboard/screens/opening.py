"""A selected point or row opens its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboard import doubts, links, tables
from dashboard.charts.axes import MODEL_FIELDS, PICKED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from dashboard.tables import Column
    from dashboard.view import View


def from_chart(view: View, event: Any) -> None:
    """Open the model of the selected point, if one is selected; a point that is no model opens nothing."""
    for point in event["selection"].get(PICKED) or ():
        if all(point.get(field) for field in MODEL_FIELDS):
            links.go(view, "model", **{field: point[field] for field in MODEL_FIELDS})


def table(
    view: View,
    frame: pd.DataFrame,
    columns: Mapping[str, Column],
    *,
    key: str,
    alt: str,
    file_name: str,
    sql: str,
    told_once: Sequence[str] = (),
) -> None:
    """Draw rows that each are of one model, with what speaks against each; a selected one opens it.

    Args:
        view: what is shown.
        frame: the rows, with suite, model and test.
        columns: those to show, in order.
        key: of the widget, unique on the page.
        alt: what a reader who cannot see it is told.
        file_name: what the files hold, for their name.
        sql: statement behind the rows.
        told_once: columns that are left out where they say the same in every row.
    """
    if doubts.knows(frame):
        frame, columns = doubts.marked(frame), _with_doubt(columns)
    picked = tables.show(
        frame,
        tables.without_constant(columns, frame, (*told_once, "doubt")),
        key=key,
        alt=alt,
        file_name=view.file_name(file_name),
        sql=sql,
        on_select="rerun",
    )
    if picked is not None and picked < len(frame):
        row = frame.iloc[picked]
        links.go(view, "model", **{field: row[field] for field in MODEL_FIELDS})


def _with_doubt(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return the columns with that of doubts after those that name a row."""
    names = {name: column for name, column in columns.items() if column.pinned}
    return names | {"doubt": doubts.COLUMN} | {name: column for name, column in columns.items() if name not in names}
