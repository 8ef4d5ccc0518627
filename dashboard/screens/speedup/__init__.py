"""Speedup: each model's ratio over the baseline, its distribution, one backend against another."""

from dashboard.screens.speedup.page import show

__all__ = ["show"]
