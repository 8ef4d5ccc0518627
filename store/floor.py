"""The floor of an operator's time: what cutting the graph and waiting for the device cost with nothing to compute."""

FLOOR = "empty_sync_s"
"""The metric that holds it, seconds per iteration."""
NEAR_FLOOR = 3.0
"""Below as many times the floor a time says more of the synchronisation than of the operator: it gets no verdict."""
