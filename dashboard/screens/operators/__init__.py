"""Operators: what single calls take under each backend, with the time of an empty sync as their floor."""

from dashboard.screens.operators.page import show

__all__ = ["show"]
