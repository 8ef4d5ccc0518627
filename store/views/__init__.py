"""Views and macros of a snapshot, one a file."""
