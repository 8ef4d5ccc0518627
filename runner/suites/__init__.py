"""Where models come from: one module per suite, found through the registry. Imports no torch."""

from runner.suites.registry import SUITES, get_suite, suite_names

__all__ = ["SUITES", "get_suite", "suite_names"]
