"""Viewers of artifacts: pages of a long text, and tables from reports, counters, profiles and traces.

They are pure functions of files; the memory of each is limited, however large the file is.
"""
