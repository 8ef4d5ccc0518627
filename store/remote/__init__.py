"""Folders of other hosts, on a shared disk or in an object store: written to, and brought here as they grow."""

from store.remote.arrive import arrive, arrive_all, arrived
from store.remote.shared_folder import SharedFolder, is_url

__all__ = ["SharedFolder", "arrive", "arrive_all", "arrived", "is_url"]
