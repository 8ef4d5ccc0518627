"""Ingest benchmark records into the index and publish a snapshot."""

from store.ingest.report import IngestReport, Rejected
from store.ingest.run import ingest

__all__ = ["IngestReport", "Rejected", "ingest"]
