"""Inductor's caches: on disk, in the folder of the experiment, and never from a network; and what came from them."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from store.record import ExperimentConfig

_SETTINGS: dict[str, dict[str, bool]] = {
    "torch._inductor.config": {
        "fx_graph_cache": True,
        "fx_graph_remote_cache": False,
        "autotune_remote_cache": False,
        "bundled_autotune_remote_cache": False,
        "force_disable_caches": False,
    },
    "torch._functorch.config": {"enable_autograd_cache": True, "enable_remote_autograd_cache": False},
    "torch._dynamo.config": {"automatic_dynamic_remote_pgo": False},
}
"""The same for cold and warm, whatever the user's environment says; a torch without one of them lacks that cache."""


def on_disk_only() -> None:
    """Have inductor use the caches on disk and no others."""
    for name, values in _SETTINGS.items():
        module = importlib.import_module(name)
        for key, value in values.items():
            if hasattr(module, key):
                setattr(module, key, value)


def warnings(config: ExperimentConfig) -> list[str]:
    """Say where a warm experiment found nothing in its cache: its compile time is a cold one."""
    utils: Any = sys.modules.get("torch._dynamo.utils")
    if config.cache != "warm" or config.dynamo != "inductor" or utils is None:
        return []
    counted = utils.counters["inductor"]
    if counted["fxgraph_cache_hit"]:
        return []
    misses, bypasses = counted["fxgraph_cache_miss"], counted["fxgraph_cache_bypass"]
    return [f"cache=warm, but no graph came from inductor's cache ({misses} misses, {bypasses} not cacheable)"]
