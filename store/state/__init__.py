"""What people type: it cannot be made again, so it lives in one SQLite file of the home, `state.sqlite`.

It names series and runs by their own words, never a row of the index.
"""

FILE_NAME = "state.sqlite"
