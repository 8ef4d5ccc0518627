"""Let models that would download pretrained weights start from random ones.

A step costs the same with either, so a run depends on no network and gives the same weights for a seed everywhere.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class RandomWeightsWarning(UserWarning):
    """A model was built with random weights in place of a pretrained download."""


@contextlib.contextmanager
def random_weights() -> Iterator[None]:
    """Make torchvision's and timm's builders ignore requests for pretrained weights, with a `RandomWeightsWarning`.

    Every torchvision builder passes its `weights` argument through `WeightsEnum.verify`; None means random there.
    Models that get weights in another way, or only know their shape from a download, still fail to load.
    """
    with contextlib.ExitStack() as undo:
        _replace_torchvision(undo)
        _replace_timm(undo)
        yield


def _replace_torchvision(undo: contextlib.ExitStack) -> None:
    try:
        from torchvision.models._api import WeightsEnum
    except ImportError:
        return
    original = WeightsEnum.__dict__["verify"]

    def verify(cls: type, obj: Any) -> None:
        checked = original.__get__(None, cls)(obj)
        if checked is not None:
            _warn(str(checked))

    WeightsEnum.verify = classmethod(verify)
    undo.callback(setattr, WeightsEnum, "verify", original)


def _replace_timm(undo: contextlib.ExitStack) -> None:
    try:
        import timm
    except ImportError:
        return
    original = timm.create_model

    def create_model(name: str, pretrained: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002 - timm's own signature
        if pretrained:
            _warn(name)
        return original(name, pretrained=False, **kwargs)

    timm.create_model = create_model
    undo.callback(setattr, timm, "create_model", original)


def _warn(name: str) -> None:
    warnings.warn(f"{name}: random weights in place of a pretrained download", RandomWeightsWarning, stacklevel=3)
