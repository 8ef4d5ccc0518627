"""Addresses of the dashboard that show one model of one run."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import msgspec

from store.errors import UsageError
from store.report.table import Column

PAGE = Column(title="page", link=True)


class Pages(msgspec.Struct, frozen=True):
    """The dashboard at `address`; without one there are no links."""

    address: str | None = None

    def __post_init__(self) -> None:
        """Refuse what a browser would not take as a page.

        Raises:
            UsageError: it is no http address.
        """
        if self.address is not None and not self.address.startswith(("http://", "https://")):
            raise UsageError(f"{self.address} is not the address of a dashboard. Pass it as http://HOST:PORT.")

    def of(self, run: str, model: Any, test: Any) -> str | None:
        """Return the page of a model in a run."""
        if self.address is None:
            return None
        chosen = urlencode({"run": run, "model": model, "test": test})
        return f"{self.address.rstrip('/')}/speedup?{chosen}"
