"""The store's content as files of other tools, and as our own: one module per format."""

from store.exporters.base import FORMATS, export
from store.exporters.target import Exported

__all__ = ["FORMATS", "Exported", "export"]
