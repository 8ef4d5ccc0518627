"""The SQL that turns lines of records into rows of the base tables: one file a table, by `store.ingest.load`."""
