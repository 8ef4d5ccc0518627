"""From a configuration to its cases: every operator with every build and every input, checked. Imports no torch."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from runner.suites.operators import iterators, lookup, registry, shapes
from runner.suites.operators.arguments import arguments_of
from runner.suites.operators.document import DEFAULT_GENERATOR
from runner.suites.operators.errors import FieldError, Location, join, of_validation
from runner.suites.operators.ranges import MOST_CHOICES
from store.operators import operator_name
from store.record import Operator, UsedBy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.suites.operators.arguments import Arguments
    from runner.suites.operators.document import Config, Document, OpInfo


@dataclass(frozen=True, kw_only=True)
class Case:
    """One call of an operator, with what it is built from."""

    operator: Operator
    name: str
    """Made of operator and arguments; a second case that is just the same gets ` #2`."""
    param_id: str
    """PARAM's own, `operator|config|build|input`: what `--resume-id` and `--stop_id` name."""
    file: str
    no_backward: str | None
    """Why train cannot be measured."""
    missing: str | None
    """What has to be installed first."""
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

    Args:
        documents: as they were read.
        most: cases that they may stand for.
        most_s: seconds of a core that it may take.

    Raises:
        ConfigError: something cannot be used; the sentence names file, operator, configuration and field.
    """
    every = (case for each in documents for name, info in each.ops.items() for case in _of_operator(each, name, info))
    found = list(islice(_in_time(every, most_s), most + 1))
    if len(found) > most:
        last = found[-1]
        raise Location(file=last.file, op=last.operator.name).error(f"with it there are more than {most} cases")
    return _distinct(found)


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
        if wanted and lookup.find_generator(wanted) is None:
            raise place.error(f"there is no data generator {wanted!r}; ours is {DEFAULT_GENERATOR}", key)
    for number, config in enumerate(info.config):
        where = replace(place, config=number)
        if not config.input:
            raise where.error("it is empty: no case comes of it", "input")
        for build_id, found, given_id, given, used_by in _calls(document, info, config, where, number):
            # PARAM builds nothing for what is called as it is, whatever the file says.
            build = None if op is not None and op.kind in ("callable", "method") else found
            _check_shapes(op, build, given, where, given_id)
            operator = Operator(
                name=name,
                build=None if build is None else build.builtins(),
                input=given.builtins(),
                build_data_generator=_other(info.build_data_generator) if build is not None else None,
                input_data_generator=_other(info.input_data_generator),
            )
            yield Case(
                operator=operator,
                name=operator_name(name, {"build": operator.build, "input": operator.input}),
                param_id=f"{name}|{build_id}|{given_id}",
                file=document.file,
                no_backward=_no_backward(op, build, given),
                missing=missing or (op.missing if op else None),
                used_by=used_by,
            )


def _why_unknown(place: Location, name: str) -> str:
    """Return why an operator cannot be had, where a user's module might have registered it; else it is an error."""
    if failed := registry.load_users():
        return f"{name} is not registered: " + "; ".join(f"{each}: {why}" for each, why in failed.items())
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
        for given_id, field, given in _iterated(info.input_iterator, "input", config.input, raw, place):
            own = given.get("id") if document.batch is not None and isinstance(given, dict) else None
            shown_id = str(given_id if own is None else own)
            yield shown, build, shown_id, _read(given, field, place), _used_by(given, field, place)


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
    iterate = lookup.find_iterator(name or iterators.DEFAULT)
    if iterate is None:
        raise place.error(f"there is no iterator {name!r}", f"{key}_iterator")
    try:
        for given_id, found in iterate(configs, build or None):
            yield str(given_id), f"{key}[{str(given_id).partition('_')[0]}]", found
    except FieldError as error:
        raise place.of_field(error, key) from None


def _used_by(given: Any, field: str, place: Location) -> UsedBy | None:
    """Return what a recorded input says of its model; PARAM reads over it."""
    if not isinstance(given, dict) or "used_by" not in given:
        return None
    try:
        return msgspec.convert(given["used_by"], UsedBy)
    except msgspec.ValidationError as error:
        raise place.of_field(of_validation(error), join(field, "used_by")) from None


def _read(value: Any, field: str, place: Location) -> Arguments:
    try:
        return arguments_of(value)
    except FieldError as error:
        raise place.of_field(error, field) from None


def _check_shapes(
    op: registry.Op | None, build: Arguments | None, given: Arguments, place: Location, given_id: str
) -> None:
    if op is None or op.shape is None:
        return
    try:
        shapes.check(op.shape, build, given)
    except FieldError as error:
        number, _, expanded = given_id.partition("_")
        which = f"input[{number}]" + (f" ({given_id})" if expanded else "")
        raise place.error(f"shapes do not fit: {error.text}", join(which, error.field)) from None


def _other(generator: str | None) -> str | None:
    return None if generator == DEFAULT_GENERATOR else generator


def _no_backward(op: registry.Op | None, build: Arguments | None, given: Arguments) -> str | None:
    """Say why the call has no backward: no tensor of it needs a gradient, and none is built."""
    if op is not None and op.no_backward:
        return op.no_backward
    built = op is not None and op.kind == "module"
    if built or any(tensor.differentiable for tensor in given.tensors()):
        return None
    del build
    return "no input of it requires a gradient: there is no backward"
