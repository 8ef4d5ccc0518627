"""Compare two sides: runs, environments or backends; each cell gets a verdict with its evidence."""

from store.compare.cell import Cell, Comparison, row_names
from store.compare.cells import compare, compare_pairs
from store.compare.report import Confirmation, comparison_report, confirmation_report, still_slower, to_confirm
from store.compare.sides import Side, resolve

__all__ = [
    "Cell",
    "Comparison",
    "Confirmation",
    "Side",
    "compare",
    "compare_pairs",
    "comparison_report",
    "confirmation_report",
    "resolve",
    "row_names",
    "still_slower",
    "to_confirm",
]
