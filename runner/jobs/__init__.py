"""Requests to measure: the queue of them, who may add to it, and the worker that carries them out. Imports no torch.

For pages and commands: `queue` (submit, cancel, retry, look), `request` (what can be asked for), `roles` (who may).
For the worker: `worker` over an `executor`, which is this machine or a cluster.
"""
