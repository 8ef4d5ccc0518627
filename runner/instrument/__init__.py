"""Dumps and profiles, each in an extra process that is not timed."""
