"""Retention: which runs lose their samples, and how their files are packed."""
