"""Suites, models and devices that a new run may have, listed now and then: they may come while pages are served."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard import data
from runner.jobs import offers

KEPT: dict[str, Any] = {"persist_state": "session"}
"""Option of the form's boxes: what is typed stays while one looks at other pages."""
_LISTED_AGAIN_S = 300.0


@st.cache_resource(ttl=_LISTED_AGAIN_S, show_spinner=False)
def suites() -> tuple[offers.SuiteOffer, ...]:
    """Return all suites; nobody changes them."""
    return offers.suites()


def device_models(shown: str | None) -> tuple[str, ...]:
    """Return the models of devices that are known: this machine's first, then those that results name."""
    return tuple(dict.fromkeys((*_here(), *(data.choices(shown).devices if shown else ()))))


@st.cache_resource(ttl=_LISTED_AGAIN_S, show_spinner=False)
def _here() -> tuple[str, ...]:
    return offers.device_models()
