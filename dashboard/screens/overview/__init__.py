"""Overview: what the last run says, what moved since the run before it, and what needs attention."""

from dashboard.screens.overview.page import show, show_empty

__all__ = ["show", "show_empty"]
