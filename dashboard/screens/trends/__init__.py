"""Trends: how speedups, pass rates and single models went over the runs, where they changed, and what people marked."""

from dashboard.screens.trends.page import show

__all__ = ["show"]
