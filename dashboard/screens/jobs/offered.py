"""Suites and models that a new run may have, listed now and then: a checkout may come while pages are served."""

from __future__ import annotations

import streamlit as st

from runner.jobs import offers

_LISTED_AGAIN_S = 300.0


@st.cache_resource(ttl=_LISTED_AGAIN_S, show_spinner=False)
def suites() -> tuple[offers.SuiteOffer, ...]:
    """Return all suites; nobody changes them."""
    return offers.suites()
