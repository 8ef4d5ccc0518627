"""A page is found by being there: no list names it."""

from dashboard import screens

ANOTHER = """
from dashboard.ui.frame import PageSpec

PAGE = PageSpec(place=35, title="A page of a test", url_path="page-of-a-test", icon=":material/memory:", show=print)
"""


def test_pages_stand_in_the_order_of_their_places():
    places = [page.place for page in screens.PAGES]
    assert places == sorted(set(places))
    assert [page.title for page in screens.PAGES if not page.url_path] == [screens.PAGES[0].title] == ["Overview"]
    assert len({page.url_path for page in screens.PAGES}) == len(places)


def test_a_file_in_the_folder_is_a_page(monkeypatch, tmp_path):
    (tmp_path / "peak_memory.py").write_text(ANOTHER)
    monkeypatch.setattr(screens, "__path__", [*screens.__path__, str(tmp_path)])
    titles = [page.title for page in screens._discovered()]
    assert titles.index("Compile time") < titles.index("A page of a test") < titles.index("Fallback ops")
    assert len(titles) == len(screens.PAGES) + 1
