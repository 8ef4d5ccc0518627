"""A configuration of PARAM: by operator its iterators, generators, builds, inputs; or one operator of a batch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from runner.suites.operators.errors import ConfigError, Location, of_validation
from store.record import Operator

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
