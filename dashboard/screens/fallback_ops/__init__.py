"""Fallback ops: which ops XLA did not lower, in which models, how often and for how long; graph breaks beside them."""

from dashboard.screens.fallback_ops.page import show

__all__ = ["show"]
