"""The weekly review of a compiler team (as pytorch/xla#5932 has it), written from the store."""

from store.weekly.report import weekly_report

__all__ = ["weekly_report"]
