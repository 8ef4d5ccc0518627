"""Files of other tools, and our own Parquet, as records: one module per format."""

from store.importers.base import HEAD_BYTES, Imported, Importer, Unreadable
from store.importers.registry import IMPORTERS, importer_of

__all__ = ["HEAD_BYTES", "IMPORTERS", "Imported", "Importer", "Unreadable", "importer_of"]
