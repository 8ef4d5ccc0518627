"""The SQL that makes rows of the base tables of lines of records: one file a table, for `store.ingest`."""
