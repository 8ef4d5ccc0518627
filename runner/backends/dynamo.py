"""Compiling through dynamo, and what dynamo reports about its work in this process."""

from __future__ import annotations

import ast
import functools
import importlib
import re
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

from store.errors import UsageError, did_you_mean
from store.record import ExperimentConfig, GraphBreak

_OWN_BREAK = "Unsupported Tensor.backward() call"
"""Dynamo breaks the graph at `loss.backward()` of the train step itself; that is no break of the model."""


def compile_step(
    step: Callable[..., Any], backend: str | Callable[..., Any], config: ExperimentConfig
) -> Callable[..., Any]:
    """Compile the whole iteration, as both peer harnesses do; overrides come last, so that they win.

    In train, `fullgraph` holds for the forward and the loss: dynamo captures no backward() that a step calls, so that
    and the optimizer stay outside, and AOTAutograd makes the one graph's backward.
    """
    import torch

    # The model's source may have set it: what the backend cannot compile would run eagerly under its name.
    torch._dynamo.config.suppress_errors = False  # noqa: SLF001 - as the module is known
    apply(config.overrides)

    torch._dynamo.reset()  # noqa: SLF001 - dynamo has no public reset
    compiled = functools.partial(
        torch.compile,
        backend=backend,
        mode=config.compile_mode,
        fullgraph=config.fullgraph,
        # With the batch alone dynamic, the inputs carry marks and dynamo decides about the rest.
        dynamic=True if config.dynamic_shapes and not config.dynamic_batch_only else None,
    )
    one_graph = getattr(step, "one_graph", None) if config.fullgraph else None
    return one_graph(compiled) if one_graph else compiled(step)  # type: ignore[no-any-return]


def _utils() -> Any:
    """Return dynamo's utilities where dynamo is in use; reading counters must not import it."""
    return sys.modules.get("torch._dynamo.utils")


def forget() -> None:
    """Reset the counters, so that a process that measures several experiments keeps theirs apart.

    Dynamo's own reset, before each compilation, does this for its times, not for its counters.
    """
    utils = _utils()
    if utils:
        utils.counters.clear()


def graphs() -> int | None:
    """Return the number of graphs captured since `forget`; None where dynamo was never used."""
    utils = _utils()
    return int(utils.counters["stats"]["unique_graphs"]) if utils else None


def graph_breaks() -> list[GraphBreak]:
    """Return reasons and counts of graph breaks, the train step's own backward left out."""
    utils = _utils()
    if not utils:
        return []
    return [
        GraphBreak(reason=str(reason), count=int(count))
        for reason, count in utils.counters["graph_break"].items()
        if not str(reason).startswith(_OWN_BREAK)
    ]


def counters() -> dict[str, dict[str, int]]:
    """Return all of dynamo's counters; empty where dynamo was never used."""
    utils = _utils()
    return {str(k): {str(n): int(v) for n, v in group.items()} for k, group in utils.counters.items()} if utils else {}


def compile_time_s() -> float | None:
    """Return frame and backward compile time, seconds; nested entries are never added.

    Dynamo takes it from the clock of the day: one that was set back meanwhile leaves no time.
    """
    utils = _utils()
    if not utils:
        return None
    spent = utils.calculate_time_spent()
    parts = [spent[key] for key in ("entire_frame_compile", "entire_backward_compile") if key in spent]
    return sum(parts) if parts and min(parts) >= 0 else None


_LIMIT = re.compile(r".*limit (reached|exceeded)")
"""What counters call it: `recompile_limit reached` in torch 2.9, `Dynamo recompile limit exceeded` in later ones."""


def limits_reached() -> list[str]:
    """Say which limits of recompilation were reached: dynamo runs later calls eagerly, and keeps its graphs."""
    return [
        f"dynamo stopped compiling: {limit[0]}, so later calls of that code ran eagerly. Avoid values that change at "
        "each call, or raise the limit with --dynamo-config"
        for limit in map(_LIMIT.match, counters().get("unimplemented", {}))
        if limit
    ]


def no_graph() -> str | None:
    """Return why a run that should be compiled was eager: dynamo captured nothing, or was switched off later."""
    if not graphs():
        return "dynamo captured no graph, so the model ran eagerly and not under this backend"
    frames, config = sys.modules.get("torch._dynamo.eval_frame"), sys.modules.get("torch._dynamo.config")
    stance = getattr(getattr(frames, "_stance", None), "stance", None)
    if stance == "force_eager" or getattr(config, "disable", False):
        return "the model's code has switched dynamo off, so its last iterations ran eagerly and not under this backend"
    return None


Room = Literal["dynamo", "inductor"]
"""Which of torch's two tables a setting is in."""
_MODULES: Mapping[Room, str] = {"dynamo": "torch._dynamo.config", "inductor": "torch._inductor.config"}
_WORDS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


class BadOverride(UsageError, ValueError):
    """A setting that the compiler does not have, or a value that does not fit it."""


def apply(overrides: Mapping[str, str]) -> None:
    """Set each `dynamo.KEY` or `inductor.KEY` in this process.

    Raises:
        BadOverride: no such setting, or a value of another type.
    """
    for name, text in overrides.items():
        prefix, _, key = name.partition(".")
        room: Room = "dynamo" if prefix == "dynamo" else "inductor"
        module = importlib.import_module(_MODULES[room])
        # Its own table also knows names that are aliases of newer ones.
        refuse_unknown(room, key, module._config)  # noqa: SLF001 - there is no public list of them
        *path, last = key.split(".")
        owner = functools.reduce(getattr, path, module)
        setattr(owner, last, parsed(f"--{room}-config {key}", text, getattr(owner, last)))


def refuse_unknown(room: Room, key: str, known: Collection[str]) -> None:
    """Raise `BadOverride` where the compiler has no setting of this name."""
    if key not in known:
        hint = did_you_mean(key, known) or f" See the source of {_MODULES[room]}."
        raise BadOverride(f"--{room}-config {key}: {_MODULES[room]} has no setting {key}.{hint}")


def parsed(flag: str, text: str, present: Any) -> Any:
    """Return the text as a value of the type that the setting has; where that is None, as a literal or a text."""
    if isinstance(present, bool):
        if text.lower() not in _WORDS:
            raise BadOverride(f"{flag}={text}: the value must be True or False")
        return _WORDS[text.lower()]
    if isinstance(present, str):
        return text.strip("'\"") if text != "None" else None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = text
    if present is None or value is None:
        return value
    if isinstance(present, float) and isinstance(value, int):
        return float(value)
    if not isinstance(value, type(present)) or isinstance(value, bool):
        raise BadOverride(
            f"{flag}={text}: the value must be of type {type(present).__name__}, like the default {present!r}"
        )
    return value
