"""The finding that is looked at, in the address: a link opens it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard.words import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from store.review import Finding

KEY = "finding"
"""URL parameter; its value is a finding's token."""
_LONGEST_SHOWN = 60


def position(shown: Sequence[Finding], every: Sequence[Finding]) -> int | None:
    """Return where the finding of the address stands among those shown; say so where this comparison has none such."""
    token = st.query_params.get(KEY)
    if token and token not in {finding.token for finding in every}:
        said = escape(token[:_LONGEST_SHOWN])
        st.warning(f"Ignored, because this comparison has no such finding: “{said}”.", icon=":material/link_off:")
        remember(None)
    return next((index for index, finding in enumerate(shown) if finding.token == token), None)


def remember(finding: Finding | None) -> None:
    """Put a finding into the address, or take it out."""
    if finding is not None:
        if st.query_params.get(KEY) != finding.token:
            st.query_params[KEY] = finding.token
    elif KEY in st.query_params:
        del st.query_params[KEY]
