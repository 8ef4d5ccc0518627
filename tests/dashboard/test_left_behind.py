"""What a page leaves in the process that drew it, no later test meets."""

import sys

import pytest

from tests.dashboard.opened import APP, open_page


@pytest.mark.parametrize("turn", [1, 2])
def test_a_page_is_not_the_main_module_of_the_next_test(monkeypatch, empty, turn):
    """Whichever turn comes second would see it, and a process that it spawns would run the dashboard's script."""
    assert getattr(sys.modules["__main__"], "__file__", None) != str(APP)
    open_page(monkeypatch, empty)
    assert sys.modules["__main__"].__file__ == str(APP)
