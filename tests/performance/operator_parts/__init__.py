"""Parts of `operators_configs.py` and `operators_peer.py`: PARAM's own code in a process of its own, and ours."""
