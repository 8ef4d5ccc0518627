"""Files of records: which of them may be shown (`artifacts`), how a page shows them (`files`), and their readers.

Readers are pure functions of files: pages of a text, and tables from counters and traces. The memory of each is
limited, however large the file is.
"""
