"""Files of records: which of them may be shown (`artifacts`), pages of a text, and tables from counters and traces.

Viewers are pure functions of files; the memory of each is limited, however large the file is.
"""
