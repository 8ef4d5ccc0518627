"""Compile time: several numbers side by side that are never added, where the time goes, and when it is earned back."""

from dashboard.screens.compile_time.page import show

__all__ = ["show"]
