"""The working database of the owner, and the snapshots that readers see."""
