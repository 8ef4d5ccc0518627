"""The report under the paired rule: who is fastest in one line per model and test, then the tables that it rests on."""

from store.paired.report import baseline_of, paired_report

__all__ = ["baseline_of", "paired_report"]
