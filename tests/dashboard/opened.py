"""One page of the dashboard, run once without a browser."""

import functools
import html
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from dashboard import settings

APP = Path(settings.__file__).with_name("app.py")


def open_page(monkeypatch, store, page="overview", *, unfolded=(), **query):
    """Run the page once; keyword arguments are parameters of its URL, `unfolded` the keys of parts that stand open."""
    monkeypatch.setenv(settings.STORE_VARIABLE, str(store))
    at = AppTest.from_file(str(APP), default_timeout=60)
    at.query_params.update(query)
    at._page_hash = calc_hash("" if page == "overview" else page)
    for key in unfolded:
        at.session_state[key] = True
    return at.run()


def seen(store, page="overview", *, unfolded=(), **query):
    """Return the page as `open_page` does, drawn once for all tests that only read it."""
    return _seen(str(store), page, tuple(unfolded), tuple((name, tuple(values)) for name, values in query.items()))


@functools.cache
def _seen(store, page, unfolded, query):
    with pytest.MonkeyPatch.context() as patch:
        return open_page(patch, store, page, unfolded=unfolded, **{name: list(values) for name, values in query})


def text(at):
    """Return all words of the page."""
    elements = [*at.title, *at.subheader, *at.markdown, *at.caption, *at.info, *at.warning, *at.text]
    return "\n".join(str(element.value) for element in elements)


def copyable(at):
    """Return the texts that the page offers to copy."""
    bodies = "".join(element.proto.body for element in at.get("html"))
    blocks = re.findall(r'xl-copy"><pre[^>]*>(.*?)</pre>', bodies, re.DOTALL)
    return [html.unescape(re.sub("</?span>", "", block)) for block in blocks]


def tables(at):
    return [element.value for element in at.dataframe]


def click_twice(at, button):
    """Click as a hurried reader does: the browser sends it again before it has heard what came of the first.

    As a browser does, it names no button that was not clicked.
    """
    button.click()
    sent = at._tree.get_widget_states()
    named = [each for each in sent.widgets if each.WhichOneof("value") != "trigger_value" or each.trigger_value]
    del sent.widgets[:]
    sent.widgets.extend(named)
    at._run(sent)
    return at._run(sent)
