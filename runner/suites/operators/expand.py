"""From a configuration to its cases: every operator with every build and every input, checked. Imports no torch."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, zip_longest
from typing import Any

import msgspec

from runner.suites.operators import ranges, registry
from runner.suites.operators.document import (
    DEFAULT_GENERATOR,
    Argument,
    Arguments,
    Config,
    Document,
    Double,
    FieldError,
    Float,
    Int,
    Location,
    Long,
    OpInfo,
    Tensor,
    arguments_of,
    join,
    of_validation,
)
from runner.suites.operators.generate import find_generator
from runner.suites.operators.ranges import MOST_CHOICES
from store.operators import operator_name
from store.record import Operator, UsedBy

Shape = tuple[int, ...]
_MATRIX, _BATCH = 2, 3


def _tensors(args: Sequence[Argument], count: int) -> list[Shape] | None:
    """Return the shapes of the first arguments, or None where one of them is given by name or is no tensor."""
    shapes = [argument.shape for argument in args[:count] if isinstance(argument, Tensor)]
    return shapes if len(shapes) == count else None


def _fit(left: int, right: int, field: str, of: str) -> None:
    if left != right:
        raise FieldError(field, f"is {right}, and {of} is {left}: they must be equal")


def _dimensions(shape: Shape, wanted: int, field: str) -> None:
    if len(shape) != wanted:
        raise FieldError(f"{field}.shape", f"has {len(shape)} dimensions, but needs {wanted}")


def broadcast_shapes(left: Shape, right: Shape, field: str = "args[1].shape") -> Shape:
    """Return the shape that both stretch to."""
    sizes = []
    for a, b in zip_longest(reversed(left), reversed(right), fillvalue=1):
        if a != b and 1 not in (a, b):
            raise FieldError(field, f"{list(right)} cannot be broadcast to {list(left)}")
        sizes.append(max(a, b) if 0 not in (a, b) else 0)
    return tuple(reversed(sizes))


def _broadcast(call: Arguments) -> None:
    if shapes := _tensors(call.args, 2):
        broadcast_shapes(shapes[0], shapes[1])


def _multiplied(call: Arguments, dimensions: int) -> None:
    if shapes := _tensors(call.args, 2):
        _product(shapes, 0, dimensions)


def _product(shapes: Sequence[Shape], first: int, dimensions: int) -> Shape:
    """Check a product of matrices, or of batches of them; return its shape."""
    left, right = shapes
    for number, shape in enumerate(shapes, first):
        _dimensions(shape, dimensions, f"args[{number}]")
    if dimensions == _BATCH:
        _fit(left[0], right[0], f"args[{first + 1}].shape[0]", f"args[{first}].shape[0]")
    inner = dimensions - 2
    _fit(left[-1], right[-2], f"args[{first + 1}].shape[{inner}]", f"args[{first}].shape[{inner + 1}]")
    return (*left[:-1], right[-1])


def _added(call: Arguments, dimensions: int) -> None:
    if shapes := _tensors(call.args, 3):
        product = _product(shapes[1:], 1, dimensions)
        if broadcast_shapes(product, shapes[0], "args[0].shape") != product:
            raise FieldError("args[0].shape", f"{list(shapes[0])} cannot be broadcast to {list(product)}")


def _matmul(call: Arguments) -> None:
    shapes = _tensors(call.args, 2)
    if not shapes:
        return
    left, right = shapes
    for number, shape in enumerate(shapes):
        if not shape:
            raise FieldError(f"args[{number}].shape", "has no dimension, but needs at least one")
    inner = max(len(right) - 2, 0)
    _fit(left[-1], right[inner], f"args[1].shape[{inner}]", f"args[0].shape[{len(left) - 1}]")
    broadcast_shapes(left[:-2], right[:-2])


def _linear(call: Arguments) -> None:
    """Set the shapes of `linear(input, weight, bias)`: the weight is (out, in), the bias (out)."""
    if shapes := _tensors(call.args, 2):
        given_shape, weight = shapes
        _dimensions(weight, _MATRIX, "args[1]")
        _fit(given_shape[-1], weight[1], "args[1].shape[1]", f"args[0].shape[{len(given_shape) - 1}]")
    if shapes := _tensors(call.args, 3):
        _fit(shapes[1][0], shapes[2][-1], "args[2].shape[0]", "args[1].shape[0]")


def _features(build: Arguments | None, call: Arguments, dimension: int) -> None:
    """Check that a module is given as many features in a dimension as it is built for."""
    wanted, shapes = build.args[:1] if build else (), _tensors(call.args, 1)
    if not wanted or not shapes or not isinstance(wanted[0], Int | Long | Float | Double) or wanted[0].value is None:
        return
    (shape,) = shapes
    if len(shape) < -dimension:
        raise FieldError("args[0].shape", f"has {len(shape)} dimensions, but needs {-dimension} or more")
    place = len(shape) + dimension
    if shape[place] != wanted[0].value:
        raise FieldError(
            f"args[0].shape[{place}]", f"is {shape[place]}, but the operator is built for {wanted[0].value}"
        )


RULES: Mapping[str, Callable[[Arguments], None]] = {
    "broadcast": _broadcast,
    "mm": partial(_multiplied, dimensions=_MATRIX),
    "bmm": partial(_multiplied, dimensions=_BATCH),
    "addmm": partial(_added, dimensions=_MATRIX),
    "baddbmm": partial(_added, dimensions=_BATCH),
    "matmul": _matmul,
    "linear": _linear,
}
_FEATURES = {"linear_module": -1, "conv2d_module": -3}
"""Rule of a module → the dimension of its features."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One call of an operator, with what it is built from."""

    operator: Operator
    name: str
    """Name made of operator and arguments; a second equal case gets ` #2`."""
    param_id: str
    """PARAM's id, `operator|config|build|input`, which `--resume-id` and `--stop_id` name."""
    file: str
    no_backward: str | None
    """Reason why train cannot be measured."""
    missing: str | None
    """What must be installed first, as a sentence."""
    used_by: UsedBy | None = None

    @property
    def run_id(self) -> str:
        """Return the id as PARAM's output has it, without the operator."""
        return self.param_id.removeprefix(f"{self.operator.name}|")

    def timed(self, *, discrete: bool = False, clear_cache: bool = False) -> Case:
        """Return the case as it is timed: call by call, or with a cold cache, it has a name of its own."""
        words = [word for word, wanted in (("discrete", discrete), ("cold L2", clear_cache)) if wanted]
        operator = msgspec.structs.replace(self.operator, discrete=discrete, clear_cache=clear_cache)
        return replace(self, operator=operator, name=" ".join([self.name, *words])) if words else self


def expand(*documents: Document, most: int = MOST_CHOICES, most_s: float = math.inf) -> list[Case]:
    """Return all cases in the order of the files, each under a name of its own.

    They may stand for `most` cases, and take `most_s` seconds of a core.

    Raises:
        ConfigError: something cannot be used; the sentence names file, operator, configuration and field.
    """
    every = (
        case
        for document in documents
        for name, info in document.ops.items()
        for case in _of_operator(document, name, info)
    )
    cases = list(islice(_in_time(every, most_s), most + 1))
    if len(cases) > most:
        last = cases[-1]
        raise Location(file=last.file, op=last.operator.name).error(f"with it there are more than {most} cases")
    return _distinct(cases)


def _in_time(cases: Iterator[Case], most_s: float) -> Iterator[Case]:
    begun = time.thread_time()
    for case in cases:
        if time.thread_time() - begun > most_s:
            raise Location(file=case.file, op=case.operator.name).error(
                f"its cases take longer than {most_s:g} s to list"
            )
        yield case


def _distinct(cases: Sequence[Case]) -> list[Case]:
    """Return the cases with a name each: files do ask for the same call more than once."""
    seen: Counter[str] = Counter()
    named = []
    for case in cases:
        seen[case.name] += 1
        count = seen[case.name]
        named.append(case if count == 1 else replace(case, name=f"{case.name} #{count}"))
    return named


def _of_operator(document: Document, name: str, info: OpInfo) -> Iterator[Case]:
    place = Location(file=document.file, op=name)
    op, missing = registry.find_operator(name), None
    if op is None:
        missing = _why_unknown(replace(place, config=0), name)
    for key in ("build_data_generator", "input_data_generator"):
        wanted = getattr(info, key)
        if wanted and find_generator(wanted) is None:
            raise place.error(f"there is no data generator {wanted!r}; use {DEFAULT_GENERATOR}", key)
    for number, config in enumerate(info.config):
        where = replace(place, config=number)
        if not config.input:
            raise where.error("it is empty, so it has no case", "input")
        for build_id, built, given_id, call, used_by in _calls(document, info, config, where, number):
            # PARAM ignores the build of a plain function or method, whatever the file says.
            build = None if op is not None and op.kind in ("callable", "method") else built
            _check_shapes(op, build, call, where, given_id)
            operator = Operator(
                name=name,
                build=None if build is None else build.builtins(),
                input=call.builtins(),
                build_data_generator=_other(info.build_data_generator) if build is not None else None,
                input_data_generator=_other(info.input_data_generator),
            )
            yield Case(
                operator=operator,
                name=operator_name(name, {"build": operator.build, "input": operator.input}),
                param_id=f"{name}|{build_id}|{given_id}",
                file=document.file,
                no_backward=_no_backward(op, call),
                missing=missing or (op.missing if op else None),
                used_by=used_by,
            )


def _why_unknown(place: Location, name: str) -> str:
    """Return why an operator cannot be had, where a user's module might have registered it; else it is an error."""
    if failed := registry.load_users():
        return f"{name} is not registered: " + "; ".join(f"{module}: {why}" for module, why in failed.items())
    close = registry.close_names(name)
    hint = f"; close: {', '.join(close)}" if close else f"; register it in a module of ${registry.VARIABLE}"
    raise place.error(f"there is no operator {name!r}{hint}")


def _calls(
    document: Document, info: OpInfo, config: Config, place: Location, number: int
) -> Iterator[tuple[str, Arguments | None, str, Arguments, UsedBy | None]]:
    """Yield (id of configuration and build, build, id of the input, input, the model that it was recorded from)."""
    run_id = str(number)
    for build_id, raw, build in _builds(info, config, place):
        # PARAM appends the id of every build to that of the one before.
        run_id = f"{run_id}|{build_id}"
        shown = run_id
        if document.batch is not None:
            shown = document.batch.config_build_id or document.batch.build_id or run_id
        for given_id, field, raw_input in _iterated(info.input_iterator, "input", config.input, raw, place):
            own = raw_input.get("id") if document.batch is not None and isinstance(raw_input, dict) else None
            shown_id = str(given_id if own is None else own)
            yield shown, build, shown_id, _read(raw_input, field, place), _used_by(raw_input, field, place)


def _builds(info: OpInfo, config: Config, place: Location) -> Iterator[tuple[str, Any, Arguments | None]]:
    """Yield (id, build as in the file, build); one of None where there is nothing to build."""
    if config.build is None:
        yield "0", None, None
    elif isinstance(config.build, dict) or not config.build:
        yield "0", config.build, _read(config.build, "build", place)
    else:
        for build_id, field, raw in _iterated(info.build_iterator, "build", config.build, None, place):
            yield build_id, raw, _read(raw, field, place)


def _iterated(
    name: str | None, key: str, configs: list[Any], build: Any, place: Location
) -> Iterator[tuple[str, str, Any]]:
    """Yield (id, field, arguments) as an iterator makes them."""
    iterate = ranges.find_iterator(name or ranges.DEFAULT)
    if iterate is None:
        raise place.error(f"there is no iterator {name!r}", f"{key}_iterator")
    try:
        for given_id, arguments in iterate(configs, build or None):
            yield str(given_id), f"{key}[{str(given_id).partition('_')[0]}]", arguments
    except FieldError as error:
        raise place.of_field(error, key) from None


def _used_by(raw_input: Any, field: str, place: Location) -> UsedBy | None:
    """Return what a recorded input says of its model; PARAM reads over it."""
    if not isinstance(raw_input, dict) or "used_by" not in raw_input:
        return None
    try:
        return msgspec.convert(raw_input["used_by"], UsedBy)
    except msgspec.ValidationError as error:
        raise place.of_field(of_validation(error), join(field, "used_by")) from None


def _read(value: Any, field: str, place: Location) -> Arguments:
    try:
        return arguments_of(value)
    except FieldError as error:
        raise place.of_field(error, field) from None


def _check_shapes(
    op: registry.Op | None, build: Arguments | None, call: Arguments, place: Location, given_id: str
) -> None:
    if op is None or op.shape is None:
        return
    try:
        if op.shape in _FEATURES:
            _features(build, call, _FEATURES[op.shape])
        else:
            RULES[op.shape](call)
    except FieldError as error:
        number, _, expanded = given_id.partition("_")
        which = f"input[{number}]" + (f" ({given_id})" if expanded else "")
        raise place.error(f"shapes do not fit: {error.text}", join(which, error.field)) from None


def _other(generator: str | None) -> str | None:
    return None if generator == DEFAULT_GENERATOR else generator


def _no_backward(op: registry.Op | None, call: Arguments) -> str | None:
    """Say why the call has no backward: no tensor of it needs a gradient, and none is built."""
    if op is not None and op.no_backward:
        return op.no_backward
    built = op is not None and op.kind == "module"
    if built or any(tensor.differentiable for tensor in call.tensors()):
        return None
    return "no input of it requires a gradient: there is no backward"
