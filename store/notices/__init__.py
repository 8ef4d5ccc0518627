"""Events in the store that people are told of: what newly fails, got slower, was confirmed, or has recovered."""

from store.notices.find import Found, find

__all__ = ["Found", "find"]
