"""Graph facts of the timed process, taken after its last timed block."""

from __future__ import annotations

import contextlib
from typing import Any

from runner.graphs import dynamo, hlo, lazy
from store.record import ExperimentConfig, Graph

MOST = 64
"""Graphs kept per experiment: a program that compiles for ever must not fill the record."""


def watch(config: ExperimentConfig) -> None:
    """Look over the shoulder of the compilers; called before the first compilation.

    A process may have measured another experiment before: its graphs are forgotten.
    """
    dynamo.forget()
    lazy.forget()
    # Another version may have no such place to look from: then there are fewer facts, and the same times.
    with contextlib.suppress(ImportError, AttributeError):
        if config.dynamo:
            dynamo.watch()
        if config.dynamo and config.xla:
            lazy.watch_bridge()


def graphs(config: ExperimentConfig, output: Any, module: Any) -> list[Graph]:
    """Return the experiment's graphs; under lazy XLA that pending on `output`, which nobody has synchronised.

    Where an iteration reads from the device on its way, what it recorded before has run by then: this is the last.
    """
    collected: list[Graph] = []
    if config.dynamo:
        collected += dynamo.captured()
    if config.dynamo == "inductor":
        collected += dynamo.generated()
    if lazy.bridged():
        collected += [hlo.graph(text, "hlo") for text in lazy.bridge_texts()]
    elif output is not None:
        collected += [hlo.graph(text, "hlo") for text in lazy.text_of(lazy.roots(output, module))]
    return collected[:MOST]
