"""The pages themselves: Streamlit's page with our scripts in it, so that they run before anything is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import HTMLResponse
from starlette.routing import Route
from streamlit import file_util

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

SCRIPTS = [Path(__file__).parents[1] / name for name in ("page.js", "slides.js")]


class _Word(Convertor[str]):
    """The path of a page: a file has a dot, and addresses of Streamlit's own begin with an underscore."""

    regex = "[a-z-]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


def routes(base: str = "") -> list[BaseRoute]:
    """Return the routes of all pages, to stand after every other route of ours.

    Args:
        base: path that stands before each of them.
    """
    page = (Path(file_util.get_static_dir()) / "index.html").read_text(encoding="utf-8")
    scripts = "".join(f"<script>{path.read_text(encoding='utf-8')}</script>" for path in SCRIPTS)
    whole = page.replace("</head>", f"{scripts}</head>", 1)

    def answer(request: Request) -> HTMLResponse:
        del request
        return HTMLResponse(whole, headers={"Cache-Control": "no-cache"})

    register_url_convertor("word", _Word())
    return [Route(f"{base}/{{page:word}}", answer), *([Route(base, answer)] if base else [])]
