"""Notices on their way to people: by webhook, by mail and as a feed; never the same event twice."""
