"""The record contract: the content of a line of `results.jsonl` and of a `run.json`.

A record is a superset of what PyTorch/XLA's `experiment_runner.py` writes, so its readers keep working.
Times are seconds, sizes are bytes; names contain their unit, unless the peer's key has none.
`None` means unknown or not measurable, never zero.
"""

from store.record.experiment import *  # noqa: F403 (the two are chapters of one module)
from store.record.measurement import *  # noqa: F403
