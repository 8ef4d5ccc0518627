"""The variants of one model and test: which backends, and which settings each of them knows. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from runner.backends import BACKENDS, triple_of, xla_of
from store.identity import backend_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.plan.local_request import LocalRequest
    from runner.plan.request import Selection
    from store.record import Accelerator, CacheState, Test

_OF_INDUCTOR = frozenset({"compile_mode", "cudagraphs", "freezing"})
_OF_DYNAMO = frozenset({"fullgraph", "dynamic_shapes", "dynamic_batch_only"})
_NOT_DYNAMO = (None, "torchscript")
"""Values of `dynamo` under which dynamo captures nothing."""
_OF_TRAIN = frozenset({"loss", "optimizer", "collect_full_output"})


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way to compile and run a step, without the settings of `torch.compile`."""

    xla: str | None
    dynamo: str | None
    torch_xla2: str | None = None
    xla_flags: tuple[str, ...] = ()
    cache: CacheState = "cold"
    without_fallback: tuple[str, ...] = ()

    @property
    def backend(self) -> str:
        return backend_name(self.xla, self.dynamo, self.torch_xla2)

    def knows(self, setting: str, test: Test) -> bool:
        """Say whether a field of `ExperimentConfig` changes what this way does; else it is planned without it."""
        if setting in _OF_INDUCTOR:
            return self.dynamo == "inductor"
        if setting in _OF_DYNAMO:
            return self.dynamo not in _NOT_DYNAMO
        if setting == "keep_model_data_on_cuda":
            return self.xla is not None and self.dynamo is not None
        return test == "train" or setting not in _OF_TRAIN

    def settings(self, asked: Mapping[str, Any], test: Test) -> dict[str, Any]:
        """Return of the asked settings those that belong here, so that a baseline stays one for all of them."""
        found = {name: value for name, value in asked.items() if self.knows(name, test)}
        overrides = {key: value for key, value in asked.get("overrides", {}).items() if self._knows_override(key)}
        found.pop("overrides", None)
        return found | ({"overrides": overrides} if overrides else {})

    def _knows_override(self, key: str) -> bool:
        return self.dynamo == "inductor" if key.startswith("inductor.") else self.dynamo not in _NOT_DYNAMO


def ways(request: LocalRequest, accelerator: Accelerator) -> Iterator[Way]:
    """Yield what the request asks for on an accelerator; invalid combinations are left out."""
    chosen = request.configuration
    caches_asked: tuple[CacheState, ...] = ("cold", "warm") if chosen.cache == "both" else (chosen.cache,)
    flags_asked, ops_asked = dict.fromkeys(chosen.xla_flags), dict.fromkeys(chosen.without_fallback)
    for xla, dynamo, torch_xla2 in _backends(request):
        # PyTorch/XLA dropped CUDA, and a TPU has no eager device: such pairs are invalid, so they are not planned.
        if (accelerator == "cuda" and xla) or (accelerator == "tpu" and not xla):
            continue
        # Only PyTorch/XLA has fallback ops; what is measured without one stands beside the same with it.
        if ops_asked and (xla is None or torch_xla2):
            continue
        uncached = xla is None and dynamo in _NOT_DYNAMO
        all_flags = tuple(flags_asked) if xla and flags_asked else ((),)
        caches: tuple[CacheState, ...] = ("cold",) if uncached else caches_asked
        replaced = ((), *ops_asked)
        for xla_flags, state, ops in product(all_flags, caches, replaced):
            yield Way(
                xla=xla,
                dynamo=dynamo,
                torch_xla2=torch_xla2,
                xla_flags=xla_flags,
                cache=state,
                without_fallback=ops,
            )


def _backends(request: LocalRequest) -> list[tuple[str | None, str | None, str | None]]:
    """Return (xla, dynamo, torch_xla2): each axis that is given narrows the plan."""
    found = list(dict.fromkeys(map(triple_of, request.selection.backend))) or _narrowed(request.selection)
    baseline = ("PJRT", None, None)
    if request.configuration.use_xla_baseline and baseline not in found:
        found.append(baseline)
    return found


def _narrowed(chosen: Selection) -> list[tuple[str | None, str | None, str | None]]:
    pairs = list(BACKENDS)
    known = {dynamo for _, dynamo in pairs}
    pairs += [(xla_of(name), name) for name in dict.fromkeys(chosen.dynamo) if name not in known]
    kinds = tuple(dict.fromkeys(chosen.torch_xla2)) or (None,)
    found = [(xla, dynamo, kind) for kind, (xla, dynamo) in product(kinds, pairs) if kind is None or _lazy(xla, dynamo)]
    return [each for each in found if _asked(each[0], each[1], chosen)]


def _lazy(xla: str | None, dynamo: str | None) -> bool:
    return xla is not None and dynamo is None


def _asked(xla: str | None, dynamo: str | None, chosen: Selection) -> bool:
    if chosen.xla and xla not in chosen.xla:
        return False
    return not chosen.dynamo or dynamo in chosen.dynamo
