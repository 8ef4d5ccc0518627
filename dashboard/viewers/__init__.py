"""Artifacts made readable: pages of a long text, and tables from reports, counters, profiles and traces.

Pure functions over files; none keeps more in memory than its limit, however large the file.
"""
