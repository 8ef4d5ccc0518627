"""A choice stays in the address while its part of the page is not drawn, and no other page takes it for its own."""

import pytest
from streamlit.util import calc_hash

from dashboard.screens import PAGES
from dashboard.ui.frame import restored
from dashboard.view.links import RENAMED
from store.metrics import metric
from tests.dashboard.opened import open_page, seen
from tests.tiers import first_of

EVERY = "All, one below the other"


def chosen(at, key, value):
    """Choose a value of a box or of buttons, as a reader does."""
    boxes = {box.key: box for box in (*at.selectbox, *at.get("button_group"))}
    return boxes[key].set_value(value).run()


@pytest.mark.parametrize(
    ("page", "choices", "hiding"),
    first_of(
        [
            ("fallback-ops", {"colour": "Share of time", "map": EVERY}, ("op", "nonzero")),
            (
                "speedup",
                {
                    "chart": "A against B",
                    "series_a": "eager",
                    "series_b": "openxla+lazytensor",
                    "against_by": "Speedup",
                },
                ("chart", "Models"),
            ),
            ("compile-time", {"measure": "Graphs", "compile_section": EVERY}, ("compile_chart", "Break-even")),
            ("runs", {"look": "Records"}, ("show", "Jobs")),
            ("fallback-ops", {"ranking": "Milliseconds saved"}, ("op", "nonzero")),
            ("speedup", {"section": EVERY}, ("chart", "Distribution")),
            (
                "compile-time",
                {"compile_chart": "First blocks", "blocks_of": "dcgan · train · torchbench"},
                ("compile_chart", "Models"),
            ),
        ],
        2,
    ),
)
def test_a_reload_or_a_copied_link_keeps_the_choices_of_what_is_not_drawn(monkeypatch, demo, page, choices, hiding):
    at = open_page(monkeypatch, demo, page, **choices)
    assert not at.warning
    at = chosen(at, *hiding)
    others = {name: value for name, value in choices.items() if name != hiding[0]}
    assert {name: at.query_params.get(name) for name in others} == others


def test_the_other_run_stays_in_the_address_while_something_else_of_the_run_is_shown(monkeypatch, review_store):
    at = open_page(monkeypatch, review_store, "runs", look="What differs")
    box = next(box for box in at.selectbox if box.key == "with_run")
    other = next(option for option in box.options if option != box.value)
    at = chosen(open_page(monkeypatch, review_store, "runs", look="What differs", with_run=other), "look", "Records")
    assert at.query_params["with_run"] == other
    at = chosen(open_page(monkeypatch, review_store, "runs", look="Records", with_run=other), "show", "Jobs")
    assert at.query_params["with_run"] == other


def test_no_two_pages_have_a_choice_of_the_same_name(demo):
    """Streamlit drops a parameter that another page bound, also from the address to which the reader goes back."""
    found = {}
    for spec in PAGES:
        at = seen(demo, spec.url_path or "overview")
        for widget in (*at.main.get("selectbox"), *at.main.get("button_group")):
            found.setdefault(widget.key, []).append(spec.title)
    assert {"section", "compile_section", "trend_section", "map", "look"} <= found.keys()
    assert {name: titles for name, titles in found.items() if len(titles) > 1} == {}


def test_a_part_that_was_chosen_on_one_page_is_the_first_of_others_that_have_it(monkeypatch, demo):
    part = "train · cpu · torchbench"
    at = open_page(monkeypatch, demo, "speedup", section=part)
    at._page_hash = calc_hash("compile-time")
    at.run()
    assert (at.selectbox(key="compile_section").value, at.query_params["compile_section"]) == (part, part)


@pytest.mark.parametrize(
    ("page", "old"),
    first_of(
        [
            ("compile-time", {"chart": "Break-even", "section": "train · cpu · torchbench"}),
            ("fallback-ops", {"section": EVERY}),
            ("trends", {"section": "train · cpu · torchbench"}),
            ("runs", {"section": "What differs"}),
        ],
        2,
    ),
)
def test_old_links_have_their_choices(monkeypatch, demo, page, old):
    at = open_page(monkeypatch, demo, page, **old)
    assert not at.warning
    drawn = {widget.key: widget.value for widget in (*at.selectbox, *at.get("button_group"))}
    assert {RENAMED[page][name]: value for name, value in old.items()}.items() <= drawn.items()
    assert not old.keys() & at.query_params.keys()


def test_an_old_link_may_have_the_former_label_of_a_measure(monkeypatch, demo):
    """It was called so until 28 November 2026; saved views have it, too."""
    at = open_page(monkeypatch, demo, "compile-time", measure="Compile, peer")
    [measure] = [widget.value for widget in at.get("button_group") if widget.key == "measure"]
    assert (measure, list(at.warning)) == (metric("compile_peer_s").label, [])
    assert [at.query_params["measure"]] == restored("measure=Compile%2C+peer", "compile-time")["measure"] == [measure]
