"""The store: record contract, statistics, ingest, views, comparisons and reports."""
