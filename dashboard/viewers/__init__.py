"""What was recorded about models: files of records, samples of a result (`samples`) and the overhead ladder (`ladder`).

`artifacts` says which files may be shown, and `files` shows them with their readers. Readers are pure functions of
files: pages of a text, and tables from counters and traces. The memory of each is limited, however large the file is.
"""
