"""What a picked row sets in another widget is not undone by an older value that the browser sends after it."""

import streamlit as st

from dashboard.view import choosing


def test_a_value_that_was_left_wins_over_the_one_that_the_browser_sends_later(monkeypatch):
    monkeypatch.setattr(st, "session_state", {"op": None})
    choosing.leave_value("op", "nonzero")  # the callback, in the run of a fragment
    st.session_state["op"] = None  # the page's own message, which knows the old value
    choosing.take_value("op")
    assert st.session_state == {"op": "nonzero"}


def test_it_is_taken_once_and_nothing_is_set_where_nothing_was_left(monkeypatch):
    monkeypatch.setattr(st, "session_state", {})
    choosing.take_value("op")
    assert st.session_state == {}
    choosing.leave_value("op", "nonzero")
    choosing.take_value("op")
    st.session_state["op"] = "item"  # chosen by the reader afterwards
    choosing.take_value("op")
    assert st.session_state == {"op": "item"}
