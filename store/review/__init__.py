"""Two sides with all that differs between them, as findings that a person can act on and speak of."""

from store.review.collect import Review, review
from store.review.finding import GOOD, Finding, Group, by_evidence, by_time_lost

__all__ = ["GOOD", "Finding", "Group", "Review", "by_evidence", "by_time_lost", "review"]
