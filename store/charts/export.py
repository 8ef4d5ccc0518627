"""Charts as SVG and PNG: vl-convert renders Altair's specifications without a browser and offline."""

from __future__ import annotations

import json
import textwrap
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from store.errors import MissingPackage

if TYPE_CHECKING:
    from store.charts.drawing import Drawing

_FONT = "Arial, Liberation Sans, Helvetica, sans-serif"
"""Fonts of equal widths, so that names have the same width in a browser as vl-convert measures."""
_SOFT, _INK, _GRID = "#5A6472", "#1C2127", "#E6E9ED"
_TITLES = {"labelColor": _SOFT, "titleColor": _SOFT, "titleFontWeight": "normal"}
_CONFIG: dict[str, Any] = {
    "aria": False,
    "font": _FONT,
    "view": {"stroke": None},
    "axis": {**_TITLES, "gridColor": _GRID, "domainColor": _GRID, "tickColor": _GRID, "titlePadding": 8},
    "axisY": {"labelColor": _INK},
    "legend": {"labelColor": _INK, "columnPadding": 16},
    "title": {
        "anchor": "start",
        "color": _INK,
        "fontSize": 14,
        "offset": 12,
        "subtitleColor": _SOFT,
        "subtitlePadding": 5,
    },
}
_WINDOW = "windowSize()[0]"
_WINDOW_PX = "1440"
"""Width of the browser's window that charts assume in exports."""
_LETTER_PX = 8.4
"""Largest width of a letter of a title, in pixels."""


def require() -> None:
    """Check that charts can be drawn.

    Raises:
        MissingPackage: Altair or vl-convert is not installed.
    """
    if find_spec("altair") is None or find_spec("vl_convert") is None:
        raise MissingPackage("Charts need Altair and vl-convert: pip install 'xlabench[plots]'.")


def svg(drawing: Drawing, width: int, title: str = "", background: str | None = None) -> str:
    """Return a chart as an SVG element for an HTML page, so many pixels wide.

    Lines of the title after the first one are smaller, and long lines are broken.
    """
    import vl_convert  # noqa: PLC0415 (the extra `plots`)

    markup: str = vl_convert.vegalite_to_svg(_spec(drawing, width, title, background), allowed_base_urls=[])
    return markup


def picture(drawing: Drawing, width: int, title: str, form: str) -> bytes:
    """Return a chart as a file, on white: `form` is svg or png, which has two pixels for each of the width."""
    import vl_convert  # noqa: PLC0415 (as above)

    if form == "svg":
        return svg(drawing, width, title, "white").encode()
    image: bytes = vl_convert.vegalite_to_png(_spec(drawing, width, title, "white"), scale=2, allowed_base_urls=[])
    return image


def _spec(drawing: Drawing, width: int, title: str, background: str | None) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(json.dumps(drawing.spec).replace(_WINDOW, _WINDOW_PX))
    frames = drawing.with_rows()["datasets"]
    rows = {name: json.loads(frame.to_json(orient="records", date_format="iso")) for name, frame in frames.items()}
    first, *rest = (textwrap.wrap(line, int(width / _LETTER_PX)) for line in (title or " ").splitlines())
    titles = {"title": {"text": first, "subtitle": [part for lines in rest for part in lines]}} if first else {}
    return {**spec, **titles, "datasets": rows, "width": width, "background": background, "config": _CONFIG}
