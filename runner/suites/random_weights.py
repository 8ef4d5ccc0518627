"""Stand between a torchbench model and the downloads that its constructor asks for.

A step costs the same with random weights, so by default a run depends on no network and gives the same weights for
a seed everywhere. Under `--weights pretrained` everything passes, and what was asked for is noted.
"""

from __future__ import annotations

import contextlib
import socket
import urllib.request
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import msgspec

from runner.suites import data
from store.record import Weights

_PATIENCE_S = 3.0
_HTTPS = 443


@contextlib.contextmanager
def hub_or_cache() -> Iterator[None]:
    """Let the hub's client answer from its cache at once where the hub cannot be reached; it would retry otherwise."""
    try:
        from huggingface_hub import constants
    except ImportError:
        yield
        return
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not _reachable(constants.ENDPOINT)
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _reachable(address: str) -> bool:
    if urllib.request.getproxies():
        return True  # only the proxy knows
    place = urlsplit(address)
    try:
        socket.create_connection((place.hostname or "", place.port or _HTTPS), timeout=_PATIENCE_S).close()
    except OSError:
        return False
    return True


_CONFIGURATIONS_FILE = "checkpoint_configs.yaml"


class CheckpointConfiguration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A checkpoint's configuration, as transformers would read it from the hub."""

    config: str
    fields: dict[str, Any] = {}


def could_not(name: str, error: Exception) -> str:
    """Say that weights could not be had; a hub's message may be a page, its first line says enough."""
    reason = next(iter(str(error).splitlines()), "")
    return f"{name}: pretrained weights could not be loaded ({type(error).__name__}: {reason}): they are random"


@contextlib.contextmanager
def record_requested_weights(weights: Weights) -> Iterator[list[str]]:
    """Note the pretrained weights that torchvision's and timm's builders ask for; under `random` they get none.

    Every torchvision builder passes its `weights` argument through `WeightsEnum.verify`; None means random there.
    Models that get weights in another way, or only know their shape from a download, still fail to load.
    """
    requested: list[str] = []
    with contextlib.ExitStack() as undo:
        _note_torchvision(undo, requested, weights)
        _note_timm(undo, requested, weights)
        yield requested


@contextlib.contextmanager
def local_configurations() -> Iterator[list[str]]:
    """Give transformers the configurations of well-known checkpoints from our data file; note which were asked for."""
    import transformers

    requested: list[str] = []
    with contextlib.ExitStack() as undo:
        for owner in (transformers.AutoConfig, transformers.PretrainedConfig):
            _configuration_of(owner, undo, requested)
        yield requested


def _note_torchvision(undo: contextlib.ExitStack, requested: list[str], weights: Weights) -> None:
    try:
        from torchvision.models._api import WeightsEnum
    except ImportError:
        return
    original = WeightsEnum.__dict__["verify"]

    def verify(cls: type, obj: Any) -> Any:
        checked = original.__get__(None, cls)(obj)
        if checked is not None:
            requested.append(str(checked))
        return checked if weights == "pretrained" else None

    WeightsEnum.verify = classmethod(verify)
    undo.callback(setattr, WeightsEnum, "verify", original)


def _note_timm(undo: contextlib.ExitStack, requested: list[str], weights: Weights) -> None:
    try:
        import timm
    except ImportError:
        return
    original = timm.create_model

    def create_model(name: str, pretrained: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002 - timm's own signature
        if pretrained:
            requested.append(name)
        return original(name, pretrained=pretrained and weights == "pretrained", **kwargs)

    timm.create_model = create_model
    undo.callback(setattr, timm, "create_model", original)


def _configuration_of(owner: Any, undo: contextlib.ExitStack, requested: list[str]) -> None:
    original = owner.__dict__["from_pretrained"]

    def from_pretrained(cls: type, name: Any, *args: Any, **kwargs: Any) -> Any:
        known = _configurations().get(str(name))
        if known is None:
            return original.__get__(None, cls)(name, *args, **kwargs)
        import transformers

        requested.append(str(name))
        return getattr(transformers, known.config)(**known.fields)

    owner.from_pretrained = classmethod(from_pretrained)
    undo.callback(setattr, owner, "from_pretrained", original)


@cache
def _configurations() -> dict[str, CheckpointConfiguration]:
    return data.load(_CONFIGURATIONS_FILE, dict[str, CheckpointConfiguration])
