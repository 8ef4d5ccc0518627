"""The arguments that a configuration may give to an operator, by `type`, as PARAM's files write them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from runner.suites.operators.errors import of_validation

Size = Annotated[int, msgspec.Meta(ge=0)]
Dtype = Literal["uint8", "int8", "int16", "int", "long", "float", "double", "float16", "bfloat16", "bool"]
FLOATING: frozenset[str] = frozenset({"float", "double", "float16", "bfloat16"})


class _Argument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Base of all: `type` tells them apart, and other keys, such as `name`, are comments."""


class Tensor(_Argument, frozen=True, tag="tensor"):
    """Drawn again by the data generator, the same values for all backends."""

    dtype: Dtype
    shape: tuple[Size, ...]
    requires_grad: bool = True
    """Whether a floating tensor requires a gradient in train; integers never do."""
    value_range: tuple[float, float] | None = None
    """Our extension: inclusive bounds of the values, for indices that the generator's own range would exceed."""

    def __post_init__(self) -> None:
        _check_range(self.value_range)

    @property
    def differentiable(self) -> bool:
        return self.requires_grad and self.dtype in FLOATING


class _Number(_Argument, frozen=True):
    # PARAM accepts any number here, even 2.5 for an `int`.
    value: int | float | None = None
    value_range: tuple[float, float] | None = None
    """Bounds of a value that is drawn once for all backends."""

    def __post_init__(self) -> None:
        if (self.value is None) == (self.value_range is None):
            raise ValueError("needs either value or value_range")
        _check_range(self.value_range)

    @property
    def whole(self) -> bool:
        return isinstance(self, Int | Long)


class Int(_Number, frozen=True, tag="int"):
    """A whole number."""


class Long(_Number, frozen=True, tag="long"):
    """A whole number."""


class Float(_Number, frozen=True, tag="float"):
    """A number."""


class Double(_Number, frozen=True, tag="double"):
    """A number."""


class Bool(_Argument, frozen=True, tag="bool"):
    """A truth value."""

    value: bool


class Str(_Argument, frozen=True, tag="str"):
    """A text."""

    value: str = ""


class DeviceArgument(_Argument, frozen=True, tag="device"):
    """A `torch.device`; the backend's own where it names the host."""

    value: str


class Nothing(_Argument, frozen=True, tag="none"):
    """`None`."""


class DtypeValue(_Argument, frozen=True, tag="dtype"):
    """Ours: a `torch.dtype`, as recorded calls have them."""

    value: Dtype


class GenericList(_Argument, frozen=True, tag="genericlist"):
    """A list of arguments."""

    value: tuple[Argument, ...]


class Tuple(_Argument, frozen=True, tag="tuple"):
    """A tuple of arguments."""

    value: tuple[Argument, ...]


Number = Int | Long | Float | Double
Argument = (
    Tensor | Int | Long | Float | Double | Bool | Str | DeviceArgument | Nothing | DtypeValue | GenericList | Tuple
)


class Arguments(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a build or a call is given."""

    args: tuple[Argument, ...] = ()
    kwargs: dict[str, Argument] = {}

    def builtins(self) -> dict[str, Any]:
        """Return it as a file has it, comments left out."""
        content: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return content

    def tensors(self) -> list[Tensor]:
        return [tensor for argument in (*self.args, *self.kwargs.values()) for tensor in _tensors(argument)]


def arguments_of(value: Any) -> Arguments:
    """Read a build or an input.

    Raises:
        FieldError: a type, data type or value is unknown; the error names its field.
    """
    if value in ([], None):
        return Arguments()
    try:
        return msgspec.convert(value, Arguments)
    except msgspec.ValidationError as error:
        raise of_validation(error) from None


def _tensors(argument: Argument) -> list[Tensor]:
    if isinstance(argument, GenericList | Tuple):
        return [tensor for item in argument.value for tensor in _tensors(item)]
    return [argument] if isinstance(argument, Tensor) else []


def _check_range(bounds: tuple[float, float] | None) -> None:
    if bounds is not None and bounds[0] > bounds[1]:
        raise ValueError(f"value_range: {bounds[0]:g} is above {bounds[1]:g}")
