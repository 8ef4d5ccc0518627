"""Ingest benchmark records into the index and publish a snapshot."""

from store.ingest.run import IngestReport, ingest

__all__ = ["IngestReport", "ingest"]
