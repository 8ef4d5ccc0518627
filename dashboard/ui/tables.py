"""Tables: labels and units of columns, a dash for missing values, and downloads of the rows with their SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ButtonColumnResult, ColumnConfig

from dashboard.data import TableSource
from dashboard.data.frames import varies
from dashboard.formatting import DASH, STATUS_WORDS, TIMES, WRONG, count
from dashboard.settings import LAZY_ROWS
from dashboard.ui import downloads, widths
from dashboard.ui.verdicts import LOOKS, ink_of
from store.metrics import metric

Kind = Literal[
    "text",
    "link",
    "code",
    "ratio",
    "small ratio",
    "ms",
    "seconds",
    "number",
    "large count",
    "decimal",
    "MiB",
    "percent",
    "time",
    "verdict",
    "warnings",
    "line",
]
"""`link`: text whose click opens what its row is about (`clicked`); `code`: text that is never cut; `verdict`: text
that begins with the sign of one (`verdicts.Appearance`), never pinned, as the browser draws pinned columns pale;
`large count`: a number as sentences write it, `2,834`;
`warnings`: a list of words, of which `_first_warning` shows the first; `line`: a list of numbers."""

_FORMATS: dict[str, str] = {
    "ratio": f"%.2f{TIMES}",
    "small ratio": f"%.3g{TIMES}",
    "ms": "%.3f",
    "seconds": "%.3f",
    "number": "%d",
    "large count": widths.THOUSANDS,
    "decimal": "%.4g",
    "MiB": "%.1f",
    "percent": "%.1f",
}
_KINDS: dict[str, Kind] = {
    "x": "ratio",
    TIMES: "ratio",
    "ms": "ms",
    "s": "seconds",
    "MiB": "MiB",
    "%": "percent",
    "1/s": "decimal",
    "1/iteration": "decimal",
}
"""Display unit of a metric → kind of its column; other metrics are counts."""
_SCALES: dict[str, float] = {"ms": 1000.0, "MiB": 2.0**-20, "percent": 100.0}
"""Kind of a column → factor from the stored value (seconds, bytes, share) to the shown one."""
_NO_REASON = "no value"
"""Reason for a missing value in the entries of metrics whose reasons are in a column of the row."""
NARROW_COOKIE = "xlabench_narrow"
"""Cookie that `page.js` sets to 1 in the window of a telephone."""
_STYLED_ROWS = 2000
"""Largest number of rows with coloured verdicts, as styles are sent cell by cell."""
_ROWS_WHOLE = 15
_FEW_DIGITS = 0.1
_LARGE_COUNT = 1000
_MARKS = re.compile(r"(?:^|, )([^\w\s]) ")
"""Mark before a warning, as `doubts.marked` writes it."""
_MOST_PX = 560


@dataclass(frozen=True)
class TableColumn:
    """How one column of a query is shown."""

    label: str
    kind: Kind = "text"
    help: str | None = None
    pinned: bool = False
    width: int = 0
    """Smallest width in pixels; `widths` computes the width that its values need."""
    scale: float | None = None
    """Factor for stored numbers; None: that of the kind, such as 1000 for milliseconds."""
    hidden: bool = False
    """Whether it is hidden until the reader selects it in the menu of the table; files contain it."""
    filed: bool = False
    """Whether only files contain it, since each column of a table costs time, visible or not."""


_NAMES = {
    "model": "Model",
    "operator": "Operator",
    "arguments": "Arguments",
    "series": "Backend",
    "variant": "Backend",
    "suite": "Suite",
    "test": "Test",
    "accelerator": "Accelerator",
    "environment": "Environment",
}
"""Column that identifies a result → its label, and that a click on it opens the row."""


def naming(*names: str, pinned: Collection[str] = ("model",)) -> dict[str, TableColumn]:
    """Return the columns that identify a result, in this order; pinned ones stay when the table is scrolled.

    A setting that `_NAMES` lacks, such as `batch_size`, has the words of its name as its label.
    """
    help_texts = {"series": "Backend plus every setting in which rows differ."}
    labels = {name: _NAMES.get(name, name.replace("_", " ").capitalize()) for name in names}
    return {name: TableColumn(labels[name], help=help_texts.get(name), pinned=name in pinned) for name in names}


def measured(
    name: str, label: str | None = None, note: str = "", width: int = 0, *, hidden: bool = False
) -> TableColumn:
    """Return the column of a metric with label, unit and definition of the registry.

    The note follows the definition; the width is the smallest in pixels; a hidden column is there to be selected.
    """
    spec = metric(name)
    unit = spec.display_unit or spec.unit
    kind = "decimal" if unit == spec.unit == "%" else _KINDS.get(unit, "number")
    words = label or spec.label
    header = words if not unit or kind == "ratio" else f"{words}, {unit}"
    dash_text = "" if spec.failure == _NO_REASON else f"A dash: {spec.failure}."
    help_text = " ".join(filter(None, (spec.definition, note, dash_text)))
    return TableColumn(header, kind, help=help_text, width=width, scale=spec.scale, hidden=hidden)


def interval_column(of: str) -> TableColumn:
    """Return the column of the 95 % interval of a speedup or another ratio of two results."""
    help_text = (
        f"Confidence interval of the {of}. If a side has under 6 samples, it is the interval over processes, if there "
        "are several."
    )
    return TableColumn("95 % CI", help=help_text)


def show(
    frame: pd.DataFrame,
    columns: Mapping[str, TableColumn],
    source: TableSource,
    *,
    key: str,
    alt: str,
    whole: bool = False,
    room: int = widths.ROOM_PX,
    on_select: Callable[[], None] | Literal["rerun", "ignore"] = "ignore",
    selected: int | None = None,
    identity: str = "",
    ink: Callable[[object], str] | None = None,
) -> int | None:
    """Draw a table to sort, search, hide columns and download; return the position of the selected row.

    Files have the names and units of the store's columns, every digit, and all rows. A table that loads rows while it
    is scrolled cannot select rows; a table with selection shows only its first rows instead.

    Args:
        frame: the rows.
        columns: the columns to show, in order; those that the frame lacks are left out.
        source: name of the downloads, and the SQL behind the rows.
        key: key of the widget, unique on the page.
        alt: alternative text for readers who cannot see the table.
        whole: whether all rows are shown at once, however many.
        room: width in pixels for all columns.
        on_select: action of a selection; by default rows cannot be selected.
        selected: position of the row that is selected until the reader selects another one.
        identity: identity of the rows: a selection is a position, and must not move to a row that nobody selected.
        ink: style of a cell by its value; None: verdicts have their colours.
    """
    columns = {name: _with_digits(name, column, frame.get(name)) for name, column in columns.items()}
    present = [name for name in columns if name in frame.columns]
    selects = on_select != "ignore"
    loaded = frame.head(LAZY_ROWS) if selects else frame
    if len(loaded) < len(frame):
        st.caption(f"The first {LAZY_ROWS:,} of {count(len(frame), 'row')}; filter for others.")
    selection: Any = {"selection": {"rows": [selected]}} if selects and selected is not None else None
    offered = [name for name in present if not columns[name].filed]
    visible = [name for name in offered if not columns[name].hidden]
    displayed = display(loaded, {name: columns[name] for name in offered})
    narrow = st.context.cookies.get(NARROW_COOKIE) == "1"
    if narrow:
        displayed = _with_marks(displayed, loaded, {name: columns[name] for name in visible})
    fit = _fitted(displayed, {name: columns[name] for name in visible}, room - widths.BOX_PX * selects)
    if narrow:
        names = widths.narrow_names(fit, [name for name in visible if columns[name].pinned])
        fit |= names
        columns = {name: replace(column, pinned=name in names) for name, column in columns.items()}
        visible = _number_first(visible, names, columns)
    state: Any = st.dataframe(
        displayed.style.map(ink) if ink else _coloured(displayed, columns),
        column_config={name: _config(columns[name], fit.get(name), _link_key(key, name)) for name in offered},
        column_order=visible,
        hide_index=True,
        placeholder=DASH,
        height="content" if whole else table_height(len(loaded)),
        lazy=None if selects else len(frame) > LAZY_ROWS,
        on_select=on_select,
        selection_mode="single-row",
        selection_default=selection,
        key=f"{key}-{identity}" if identity else key,
        alt=alt,
    )
    downloads.below(frame[present], key, source)
    positions = state["selection"]["rows"] if selects else []
    return int(positions[0]) if positions else None


def clicked(key: str, column: str = "link") -> int | None:
    """Return the position of the row whose link was just clicked, by default that of the model or the operator."""
    click = st.session_state.get(f"{key}-{column}")
    return int(click["row"]) if click else None


_MILD = {"verify_only": "blue", "never_steady": "orange", "disturbed": "orange", "skipped": "gray", "not_run": "gray"}
_STATUS_INKS = {word: _MILD.get(status, "red") for status, word in STATUS_WORDS.items() if word != "ok"}
_STATUS_INKS[WRONG] = "red"


def status_ink(word: object) -> str:
    """Return the style of a cell with a status in words; what is fine, and other texts, have none."""
    return f"color: {ink_of(_STATUS_INKS[str(word)])}" if word in _STATUS_INKS else ""


def _with_digits(name: str, column: TableColumn, values: pd.Series | None) -> TableColumn:
    """Return a column whose numbers have the digits that their size needs.

    Ratios have three significant digits if two decimals would leave at most one. Counts, which are the columns `n` and
    `…_n`, have commas if one is large; numbers of jobs and batch sizes have none.
    """
    counts = column.kind == "number" and name.rpartition("_")[2] == "n"
    if values is None or not (counts or column.kind == "ratio"):
        return column
    numbers = pd.to_numeric(values).dropna()
    if counts:
        # Negative numbers would stand in parentheses.
        large = len(numbers) > 0 and bool(numbers.max() >= _LARGE_COUNT and numbers.min() >= 0)
        return replace(column, kind="large count") if large else column
    few = len(numbers) > 0 and bool(((numbers > 0) & (numbers < _FEW_DIGITS)).any())
    return replace(column, kind="small ratio") if few else column


def display(frame: pd.DataFrame, columns: Mapping[str, TableColumn]) -> pd.DataFrame:
    """Return the frame in display units, such as milliseconds for seconds and MiB for bytes."""
    return pd.DataFrame({name: _displayed(frame[name], column) for name, column in columns.items()}, index=frame.index)


def _displayed(values: pd.Series, column: TableColumn) -> pd.Series:
    if column.kind in _FORMATS:
        factor = _SCALES.get(column.kind, 1) if column.scale is None else column.scale
        numbers: pd.Series = pd.to_numeric(values)
        return numbers if factor == 1 else numbers * factor
    if column.kind == "warnings":
        return values.map(_first_warning, na_action="ignore")
    if column.kind in ("text", "link", "code", "verdict") and DASH in values.tolist():
        return values.mask(values == DASH)  # the placeholder of the table, which is paler
    return values


def _first_warning(text: str) -> str:
    """Return the first of several warnings with the number of the others: all of them do not fit beside numbers.

    Of the warnings that only the baseline has, it names none: they are in the baseline's own row.
    """
    first, *others = re.split("[,;] ", text)
    first, _, of_baseline = first.partition(": ")
    return f"{first} +{len(others)}" if others and not of_baseline else first


def table_height(rows: int) -> int | Literal["content"]:
    """Return the height of a table: all rows of a short one, and about one screen of a long one."""
    return "content" if rows <= _ROWS_WHOLE else _MOST_PX


def without_constant(
    columns: Mapping[str, TableColumn], frame: pd.DataFrame, names: Sequence[str]
) -> dict[str, TableColumn]:
    """Keep those of the named columns that have one value in all rows only for the files."""
    constant = {name for name in names if name in frame.columns and not varies(frame[name])}
    return {name: replace(column, filed=True) if name in constant else column for name, column in columns.items()}


def _coloured(frame: pd.DataFrame, columns: Mapping[str, TableColumn]) -> Any:
    """Return the frame with its verdicts in their colours, which repeat sign and word."""
    names: Any = [str(name) for name in frame.columns if columns[str(name)].kind == "verdict"]
    if not names or len(frame) > _STYLED_ROWS:
        return frame
    return frame.style.map(_ink, subset=names)


def _ink(text: object) -> str:
    """Return the style of a verdict; faster and slower are bold."""
    verdict = next((word for word, look in LOOKS.items() if str(text).startswith(look.sign)), None)
    if verdict is None:
        return ""
    return f"color: {LOOKS[verdict].ink}" + ("; font-weight: 600" if verdict in ("faster", "slower") else "")


def _number_first(visible: Sequence[str], names: Collection[str], columns: Mapping[str, TableColumn]) -> list[str]:
    """Return the visible columns: what names a row, verdicts, the first number and its interval or n, others."""
    places = [place for place, name in enumerate(visible) if columns[name].kind in _FORMATS and name not in names]
    number = visible[places[0] : places[0] + 2] if places else []
    first = [*names, *(name for name in visible if name == "test" or columns[name].kind == "verdict")]
    first += [name for name in number if name == "interval" or columns[name].kind in _FORMATS]
    return [*first, *(name for name in visible if name not in first)]


def _with_marks(displayed: pd.DataFrame, frame: pd.DataFrame, columns: Mapping[str, TableColumn]) -> pd.DataFrame:
    """Return the displayed rows with the marks of their warnings before their names, unless all have the same.

    For the window of a telephone, where the column of the warnings is out of sight beside names and numbers.
    """
    names = [name for name, column in columns.items() if column.pinned and column.kind in ("text", "link")]
    warnings = [name for name, column in columns.items() if column.kind == "warnings"]
    if not names or not warnings:
        return displayed
    marks = frame[warnings[0]].fillna("").map(lambda text: "".join(dict.fromkeys(_MARKS.findall(text))))
    if not varies(marks):
        return displayed
    return displayed.assign(**{names[0]: marks.str.cat(displayed[names[0]], sep=" ").str.lstrip()})


def _fitted(displayed: pd.DataFrame, columns: Mapping[str, TableColumn], room: int) -> dict[str, int]:
    facts = {
        name: widths.ColumnFacts(column.label, column.kind, column.pinned, column.width)
        for name, column in columns.items()
    }
    return widths.fitted(displayed, facts, _FORMATS, room)


def _link_key(key: str, name: str) -> str:
    """Return the key of a column of links; for columns that identify a row it is the default of `clicked`."""
    return f"{key}-{'link' if name in _NAMES else name}"


def _config(column: TableColumn, width: int | None, link_key: str) -> ColumnConfig | ButtonColumnResult:
    if column.kind == "link":
        return st.column_config.ButtonColumn(
            column.label,
            help=column.help,
            pinned=column.pinned,
            width=width,
            alignment="left",
            type="tertiary",
            key=link_key,
        )
    if column.kind in _FORMATS:
        return st.column_config.NumberColumn(
            column.label,
            help=column.help,
            format=_FORMATS[column.kind],
            step=1 if column.kind == "large count" else None,  # without it, the format has two decimals
            pinned=column.pinned,
            width=width,
        )
    if column.kind == "line":
        return st.column_config.LineChartColumn(column.label, help=column.help, width=width)
    if column.kind == "time":
        return st.column_config.DatetimeColumn(
            column.label, help=column.help, format="YYYY-MM-DD HH:mm", pinned=column.pinned, width=width
        )
    return st.column_config.TextColumn(column.label, help=column.help, pinned=column.pinned, width=width)
