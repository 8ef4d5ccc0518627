"""Compare two sides: runs, environments or backends; each cell gets a verdict with its evidence."""

from store.compare.cells import Cell, Comparison, compare
from store.compare.report import comparison_report
from store.compare.sides import Side, resolve

__all__ = ["Cell", "Comparison", "Side", "compare", "comparison_report", "resolve"]
