"""Compare / Review: two runs, environments or backends; what differs, how surely, why, and what is said of it."""

from dashboard.screens.compare.page import show

__all__ = ["show"]
