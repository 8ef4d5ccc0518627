"""A choice stays in the address while the part of the page that it belongs to is not drawn."""

from __future__ import annotations

import pytest

from tests.dashboard.opened import open_page

EVERY = "All, one below the other"


def chosen(at, key, value):
    """Choose a value of a box or of buttons, as a reader does."""
    boxes = {box.key: box for box in (*at.selectbox, *at.get("button_group"))}
    return boxes[key].set_value(value).run()


@pytest.mark.parametrize(
    ("page", "choices", "hiding"),
    [
        (
            "fallback-ops",
            {"colour": "Share of time", "ranking": "Milliseconds saved", "section": EVERY},
            ("op", "nonzero"),
        ),
        ("speedup", {"section": EVERY}, ("chart", "Distribution")),
        (
            "speedup",
            {"chart": "A against B", "series_a": "eager", "series_b": "openxla+lazytensor", "by": "Speedup"},
            ("chart", "Models"),
        ),
        ("compile-time", {"measure": "Graphs", "section": EVERY}, ("chart", "Break-even")),
    ],
)
def test_a_reload_or_a_copied_link_keeps_the_choices_of_what_is_not_drawn(monkeypatch, demo, page, choices, hiding):
    at = open_page(monkeypatch, demo, page, **choices)
    assert not at.warning
    at = chosen(at, *hiding)
    others = {name: value for name, value in choices.items() if name != hiding[0]}
    assert {name: at.query_params.get(name) for name in others} == others
