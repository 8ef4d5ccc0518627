"""An op of aten by name or by schema, called as PARAM calls it: positional arguments go on to those by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_PREFIX = "aten::"


class SchemaError(ValueError):
    """The schema of a build is no op of this torch."""


def aten(name: str, schema: str | None = None) -> Callable[..., Any]:
    """Return an op of aten.

    Args:
        name: as `aten::add`, or with its overload as `aten::add.Tensor`.
        schema: the whole schema; its overload is taken. None: torch chooses the overload by the arguments.

    Raises:
        SchemaError: this torch has no such op.
    """
    import torch

    full = (schema or name).partition("(")[0].strip()
    if not full.startswith(_PREFIX) or full.partition(".")[0] != name.partition(".")[0]:
        raise SchemaError(f"{name} is built from a schema of its own, not from {full!r}")
    base, _, overload = full.removeprefix(_PREFIX).partition(".")
    try:
        packet = getattr(torch.ops.aten, base)
        if not overload and (schema is None or "default" not in packet.overloads()):
            return packet  # type: ignore[no-any-return]
        op = getattr(packet, overload or "default")
    except AttributeError:
        raise SchemaError(f"this torch ({torch.__version__}) has no {full}") from None
    return _positional(op)


def _positional(op: Any) -> Callable[..., Any]:
    """Return the op with its arguments by name taken as positional ones, too, as TorchScript's graphs have them."""
    declared = op._schema.arguments  # noqa: SLF001 - torch shows schemas nowhere else
    positional = sum(not each.kwarg_only for each in declared)
    names = [each.name for each in declared]

    def call(*args: Any, **kwargs: Any) -> Any:
        further = {names[place]: args[place] for place in range(positional, len(args))}
        return op(*args[:positional], **further, **kwargs)

    return call
