"""Changes of a series' latency from run to run: found, confirmed, and kept in table `change_points`."""

from store.changepoints.update import update

__all__ = ["update"]
