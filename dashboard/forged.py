"""Clicks on buttons that are off: no browser sends them, Streamlit drops them, and here they are kept.

Streamlit says nothing of what it drops, so this looks at it where it is dropped.
"""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

from dashboard import access
from dashboard.routes.read_only import LOG
from runner.jobs.plain import plain
from store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_CLICK = "trigger_value"
_OFF = "The button was off, and a click on it came all the same."
_MOST_KEPT = 3
"""Most clicks that are kept of one message: a forged one may contain thousands."""


def keep() -> None:
    """Have forged clicks kept from now on, in this process."""
    from streamlit.runtime.state.session_state import SessionState  # noqa: PLC0415 - of the server

    call = SessionState._call_callbacks  # noqa: SLF001 - nothing public says it

    def looking(state: Any, **given: Any) -> None:
        for key in list(_forged(state))[:_MOST_KEPT]:
            _keep(key)
        call(state, **given)

    setattr(SessionState, "_call_callbacks", looking)  # noqa: B010 - typed


def _forged(state: Any) -> Iterator[str]:
    """Yield the keys of buttons that are off and were clicked."""
    new = state._new_widget_state  # noqa: SLF001 - as above
    for widget in list(new):
        metadata = new.widget_metadata.get(widget)
        off = metadata is not None and metadata.disabled and metadata.value_type == _CLICK
        if off and state._widget_changed(widget):  # noqa: SLF001 - as above
            yield widget.split("-", 2)[-1]


def _keep(key: str) -> None:
    decision = access.may_launch()
    reason = _OFF if decision.allowed else decision.reason
    logging.getLogger(LOG).warning("refused a forged click on %s: %s", plain(key), plain(reason))
    with contextlib.suppress(StoreError):
        access.job_queue().refuse(f"click {key}"[:100], None, reason)
