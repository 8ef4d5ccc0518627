"""Operators in a request: no more and no larger than a job may have, and no text in them that could name a file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from runner.jobs.request import LONGEST_CONFIG
from runner.suites.operators import document
from runner.suites.operators.arguments import Tensor, arguments_of
from runner.suites.operators.errors import FieldError
from runner.suites.operators.expand import expand
from store.errors import UsageError
from store.operators import operator_name
from store.record import ExperimentConfig, Operator, UsedBy

SUITE = "operators"
MOST_CASES = 2_500
"""Maximum number of cases: in four backends and both tests, they make as many experiments as a job may have."""
_MOST_S = 3.0
"""Maximum CPU seconds for listing the cases, because a page waits for them."""
_DEEPEST = 30
_MOST_BYTES = 1 << 36
"""Maximum number of bytes of the tensors of one call."""
_TEXT = re.compile(r"[\w ,.<>()*=!|?:;\[\]+-]{0,4000}", re.ASCII)
"""Modes, equations and schemas; none has a slash."""
_NAME = re.compile(r"[A-Za-z][\w.:+-]{0,199}", re.ASCII)
_SOURCE = re.compile(r"[\w./+-]{1,200}", re.ASCII)
_OF_FILES = re.compile(r"\b(from_file|save)\b")
"""The ops of aten that take the name of a file."""
_SIZES = {"double": 8, "long": 8, "float": 4, "int": 4, "float16": 2, "bfloat16": 2, "int16": 2}
"""Bytes of an element by data type; all other types have one byte."""


def check_configurations(texts: Iterable[str]) -> None:
    """Check configurations before anybody expands them without a bound.

    Raises:
        UsageError: one cannot be used, or asks for more than a job may have.
    """
    texts = tuple(texts)
    if any(len(text.encode()) > LONGEST_CONFIG for text in texts):
        raise UsageError(
            f"A job's configuration may have at most {LONGEST_CONFIG} bytes; reduce the number of operators."
        )
    read = [document.of_text(document.Text("the configuration", text)) for text in texts]
    for configuration in read:
        _check_depth(configuration.ops)
    for case in expand(*read, most=MOST_CASES, most_s=_MOST_S):
        check_operator(case.operator, case.name)
        check_source(case.used_by, case.name)


def _check_depth(ops: dict[str, document.OpInfo]) -> None:
    level: list[Any] = [
        part for info in ops.values() for config in info.config for part in (config.build, config.input)
    ]
    for _ in range(_DEEPEST):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return
    raise UsageError(f"A job's configuration may be nested at most {_DEEPEST} levels deep.")


def _children(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def check_planned(config: ExperimentConfig, where: str) -> None:
    """Check the operator of a plan's experiment, and that it is called what it is.

    Raises:
        UsageError: it holds none, has another's name, or more than a job may have.
    """
    operator = config.operator
    if operator is None or config.suite_name != SUITE:
        raise UsageError(f"{where}: only experiments of suite operators have an operator, and they need one.")
    check_operator(operator, where)
    named = operator_name(operator.name, {"build": operator.build, "input": operator.input})
    timed = " discrete" * operator.discrete + " cold L2" * operator.clear_cache
    if not re.fullmatch(re.escape(named) + r"( #[0-9]{1,6})?" + re.escape(timed), config.model_name):
        raise UsageError(f"{where}: {config.model_name!r} is not the name of its operator, which is {named!r}.")


def check_operator(operator: Operator, where: str) -> None:
    """Check one call.

    Raises:
        UsageError: as above.
    """
    if not _NAME.fullmatch(operator.name) or _OF_FILES.search(operator.name):
        raise UsageError(f"{where}: a job does not support the operator {operator.name!r}.")
    for generator in (operator.build_data_generator, operator.input_data_generator):
        if generator is not None and not _NAME.fullmatch(generator):
            raise UsageError(f"{where}: {generator!r} is not a data generator.")
    try:
        tensors = [tensor for part in (operator.build, operator.input) for tensor in arguments_of(part).tensors()]
    except FieldError as error:
        raise UsageError(f"{where}: {error.field}: {error.text}.") from None
    for text in _texts([operator.build, operator.input]):
        if not _TEXT.fullmatch(text) or _OF_FILES.search(text):
            raise UsageError(f"{where}: a job does not accept the text {text[:80]!r}.")
    size = sum(map(_bytes, tensors))
    if size > _MOST_BYTES:
        raise UsageError(f"{where}: its tensors have more than the {_MOST_BYTES} bytes that a job allows per call.")


def check_source(used_by: UsedBy | None, where: str) -> None:
    """Check the name of the model that an operator was recorded from.

    Raises:
        UsageError: it is none.
    """
    if used_by is not None and not _SOURCE.fullmatch(used_by.model):
        raise UsageError(f"{where}: {used_by.model[:80]!r} in used_by is not a model.")


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in arguments, the names of those by name, too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _bytes(tensor: Tensor) -> int:
    return math.prod(tensor.shape) * _SIZES.get(tensor.dtype, 1)
