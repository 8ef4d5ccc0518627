"""A configuration of PARAM: by operator its iterators, generators, builds, inputs; or one operator of a batch.

Arguments of builds and inputs are told apart by their `type`. Each error names its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from store.errors import Signal, UsageError
from store.operators import FLOATING
from store.record import Operator

Size = Annotated[int, msgspec.Meta(ge=0)]
Dtype = Literal["uint8", "int8", "int16", "int", "long", "float", "double", "float16", "bfloat16", "bool"]


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


_PLACE = re.compile(r" - at `\$\.?(?P<place>[^`]*)`$")


class ConfigError(UsageError):
    """A configuration cannot be used."""


class FieldError(Signal, ValueError):
    """One field of a build or an input cannot be used."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field
        self.text = text


class RegistrationError(UsageError, ValueError):
    """An operator, iterator or generator of this name is registered already."""


@dataclass(frozen=True, kw_only=True)
class Location:
    """Where in which file something stands."""

    file: str
    op: str | None = None
    config: int | None = None

    def error(self, text: str, field: str = "") -> ConfigError:
        """Return the error whose sentence names the place."""
        words = [self.file]
        words += [self.op] if self.op is not None else []
        words += [f"config {self.config}"] if self.config is not None else []
        words += [field] if field else []
        return ConfigError(f"{': '.join(words)}: {text}. Correct the configuration.")

    def of_field(self, error: FieldError, field: str) -> ConfigError:
        """Return the error of a field inside of `field`."""
        return self.error(error.text, join(field, error.field))


def join(outer: str, inner: str) -> str:
    """Return the path of a field inside of another: `input[0]` and `args[1]` are `input[0].args[1]`."""
    return f"{outer}{'' if not outer or not inner or inner.startswith('[') else '.'}{inner}"


def of_validation(error: msgspec.ValidationError) -> FieldError:
    """Return what a check of types says, with the field apart."""
    text = str(error)
    place = _PLACE.search(text)
    return FieldError(place["place"] if place else "", _PLACE.sub("", text))


DEFAULT_GENERATOR = "PyTorch:DefaultDataGenerator"


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """One list of inputs, and the builds that each of them is given to."""

    build: list[Any] | dict[str, Any] | None = None
    """None: the operator is called as it is; empty: it is built without arguments; an object: one build."""
    input: list[Any]


class OpInfo(msgspec.Struct, frozen=True, kw_only=True):
    """All that a file says of one operator."""

    build_iterator: str | None = None
    input_iterator: str | None = None
    build_data_generator: str | None = None
    input_data_generator: str
    config: list[Config]


class OperatorBatch(msgspec.Struct, frozen=True, kw_only=True):
    """One operator with one build, as PARAM hands it to its profiled processes; its inputs bring their ids."""

    op_name: str
    config_build_id: str | None = None
    build_id: str | None = None
    """Another spelling of `config_build_id`, which PARAM's own example uses."""
    op_info: OpInfo
    run_options: dict[str, Any] = {}


@dataclass(frozen=True, kw_only=True)
class Document:
    """A file as it was read."""

    file: str
    ops: dict[str, OpInfo]
    batch: OperatorBatch | None = None
    """The content of a file in the batch form."""


@dataclass(frozen=True)
class Text:
    """A configuration before it is read, and what errors call it."""

    file: str
    text: str


def text_of(config: str) -> Text:
    """Return the text of a file, or the JSON that is given in its place.

    Raises:
        ConfigError: there is no such file.
    """
    if config.lstrip().startswith("{"):
        return Text("<command line>", config)
    try:
        return Text(config, Path(config).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"--config {config}: {error.strerror}; pass a configuration file of operators.") from None
    except UnicodeDecodeError:
        raise Location(file=config).error("it is not UTF-8 text") from None


def of_text(text: Text) -> Document:
    """Read a configuration.

    Raises:
        ConfigError: it is no JSON, or not of the form.
    """
    try:
        content = json.loads(text.text)
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Location(file=text.file).error(
            "a text in it contains half of a surrogate pair, which is not valid"
        ) from None
    except ValueError as error:  # an integer of thousands of digits is no JSONDecodeError
        raise Location(file=text.file).error(f"it is not valid JSON ({str(error).partition(';')[0]})") from None
    except RecursionError:
        raise Location(file=text.file).error("it is nested too deeply") from None
    return parse(content, text.file)


def parse(content: Any, file: str = "<memory>") -> Document:
    """Read a configuration that lies in memory; `file` is what errors call it.

    Raises:
        ConfigError: it is not of the form.
    """
    place = Location(file=file)
    if not isinstance(content, dict):
        raise place.error("it is not a JSON object of operators")
    if "op_name" in content or "op_info" in content:
        if isinstance(name := content.get("op_name"), str) and "op_info" in content:
            # Errors inside of it then name the operator, as in a file of several operators.
            _info(name, content["op_info"], place)
        try:
            batch = msgspec.convert(content, OperatorBatch)
        except msgspec.ValidationError as error:
            raise place.of_field(of_validation(error), "") from None
        return Document(file=file, ops={batch.op_name: batch.op_info}, batch=batch)
    return Document(file=file, ops={name: _info(name, value, place) for name, value in content.items()})


def _info(name: str, value: Any, place: Location) -> OpInfo:
    try:
        return msgspec.convert(value, OpInfo)
    except msgspec.ValidationError as error:
        field_error = of_validation(error)
        head, _, rest = field_error.field.partition("]")
        if head.startswith("config[") and head.removeprefix("config[").isdigit():
            number = int(head.removeprefix("config["))
            raise Location(file=place.file, op=name, config=number).error(field_error.text, rest.lstrip(".")) from None
        raise Location(file=place.file, op=name).of_field(field_error, "") from None


_REPEATED = re.compile(r" #(\d+)( discrete)?( cold L2)?$")


def configuration_content(operators: Iterable[Operator]) -> dict[str, Any]:
    """Return the content of a file that holds these operators; each case is a `config` of its own operator."""
    content: dict[str, Any] = {}
    for operator in operators:
        info = content.setdefault(
            operator.name,
            {
                "build_data_generator": operator.build_data_generator or DEFAULT_GENERATOR,
                "input_data_generator": operator.input_data_generator or DEFAULT_GENERATOR,
                "config": [],
            },
        )
        build = {} if operator.build is None else {"build": [operator.build] if operator.build else []}
        info["config"].append({**build, "input": [operator.input]})
    return content


def configuration_text(operator: Operator, name: str) -> str:
    """Return the JSON of a configuration whose last case is this operator under this name.

    A file that asks for the same call again gives it the name `… #2`: so does this one.
    """
    repeated = _REPEATED.search(name)
    return json.dumps(configuration_content([operator] * (int(repeated[1]) if repeated else 1)), separators=(",", ":"))
