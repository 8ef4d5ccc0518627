"""Entries of people: they cannot be recomputed, so they are in one SQLite file of the home, `state.sqlite`.

They name series and runs by their own keys, never by rows of the index.
"""

FILE_NAME = "state.sqlite"
