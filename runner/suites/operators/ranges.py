"""The macros `__range__`, `__list__` and `__copy__`: from one input to all that it stands for."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, product
from typing import Any

from runner.suites.operators.document import FieldError
from runner.suites.operators.registry import REGISTERED, iterator, load_users

RANGE, LIST, COPY = "__range__", "__list__", "__copy__"
_MACROS = frozenset({RANGE, LIST, COPY})
_WHOLE = frozenset({"int", "long"})
_WORDS = frozenset({"str", "bool", "device", "dtype"})
_MANY = frozenset({"genericlist", "tuple"})
_BOUNDS = (2, 3)
MOST_CHOICES = 100_000
"""Maximum number of choices of one macro, argument or input: a typing error in a range would fill the memory."""
_MOST_VALUES = 1_000_000
"""Maximum number of values of all choices of one macro or argument together."""


def inclusive(bounds: Any, field: str) -> list[int]:
    """Return `[first, last, step]` as its values, the last included; without a step, 1."""
    if not (isinstance(bounds, list) and len(bounds) in _BOUNDS and all(type(bound) is int for bound in bounds)):
        raise FieldError(field, f"{bounds!r} is not a range; write [first, last, step] in whole numbers")
    first, last, step = (*bounds, 1)[:3]
    if step < 1 or last < first:
        raise FieldError(field, f"the range {bounds} is empty; the last must be at least the first, the step above 0")
    require((last - first) // step + 1, field)
    return list(range(first, last + 1, step))


def expanded(config: Any, field: str) -> Iterator[dict[str, Any]]:
    """Yield all that an input stands for: the product of its ranges, the last one running fastest, copies applied."""
    if not isinstance(config, dict):
        raise FieldError(field, f"{config!r} is not an object with args and kwargs")
    args = _of_type(config.get("args") or [], list, f"{field}.args")
    named = _of_type(config.get("kwargs") or {}, dict, f"{field}.kwargs")
    of_args = (variants(argument, f"{field}.args[{number}]") for number, argument in enumerate(args))
    of_named = (variants(argument, f"{field}.kwargs.{name}") for name, argument in named.items())
    for chosen in product(*_bounded(chain(of_args, of_named), field)):
        # Many products share one argument's dictionary, and `__copy__` changes it.
        values = copy.deepcopy(list(chosen))
        positional = values[: len(args)]
        _apply_copies(positional, field)
        by_name = dict(zip(named, values[len(args) :], strict=True))
        yield {
            "args": list(map(_plain, positional)),
            "kwargs": {name: _plain(argument) for name, argument in by_name.items()},
        }


def variants(argument: Any, field: str) -> list[dict[str, Any]]:
    """Return all that an argument stands for; without a macro, itself."""
    if not isinstance(argument, dict):
        raise FieldError(field, f"{argument!r} is not an object with a type")
    ranged, listed = _names(argument, RANGE, field), _names(argument, LIST, field)

    def choices(key: str, value: Any) -> list[Any]:
        if key in ranged:
            return _in_range(argument.get("type"), key, value, f"{field}.{key}")
        return _listed(value, f"{field}.{key}") if key in listed else [value]

    every = _every((choices(*item) for item in argument.items()), field)
    return [dict(zip(argument, values, strict=True)) for values in every]


def _names(argument: dict[str, Any], macro: str, field: str) -> list[str]:
    """Return the fields that a macro names."""
    names = argument.get(macro, [])
    if not isinstance(names, list):
        raise FieldError(f"{field}.{macro}", f"{names!r} is not a list of fields")
    for name in names:
        if name not in argument:
            raise FieldError(f"{field}.{macro}", f"names {name!r}, which the argument does not have")
    return names


def _in_range(kind: Any, key: str, value: Any, field: str) -> list[Any]:
    """Return what a field named by `__range__` stands for; numbers have bounds, words are listed."""
    if kind == "tensor" and key == "shape" and isinstance(value, list):
        sizes = (inclusive(size, f"{field}[{n}]") if isinstance(size, list) else [size] for n, size in enumerate(value))
        return list(map(list, _every(sizes, field)))
    if kind in _WHOLE and key == "value":
        return inclusive(value, field)
    if (kind in _WORDS and key == "value") or (kind == "tensor" and key == "dtype"):
        return _listed(value, field)
    if kind in _MANY and key == "value" and isinstance(value, list):
        items = (variants(item, f"{field}[{number}]") for number, item in enumerate(value))
        return list(map(list, _every(items, field)))
    raise FieldError(field, f"{kind!r} has no __range__ of this field; list its values and name it in __list__")


def _of_type(value: Any, kind: type[Any], field: str) -> Any:
    if not isinstance(value, kind):
        raise FieldError(field, f"{value!r} is not {'a list' if kind is list else 'an object'}")
    return value


def _every(lists: Iterable[list[Any]], field: str) -> Iterator[tuple[Any, ...]]:
    """Return the product of lists, of which all may be kept: it holds a bounded number of values."""
    choices = _bounded(lists, field)
    values_n = math.prod(map(len, choices)) * len(choices)
    if values_n > _MOST_VALUES:
        raise FieldError(field, f"it expands to {values_n} values in all; at most {_MOST_VALUES} are allowed")
    return product(*choices)


def _bounded(lists: Iterable[list[Any]], field: str) -> list[list[Any]]:
    """Return the lists; as soon as their product is too large, no more of them is made."""
    bounded, count = [], 1
    for choices in lists:
        bounded.append(choices)
        count *= len(choices)
        require(count, field)
    return bounded


def require(count: int, field: str) -> None:
    """Make sure that something stands for no more choices than are taken.

    Raises:
        FieldError: it does.
    """
    if count > MOST_CHOICES:
        raise FieldError(field, f"it expands to {count} choices; at most {MOST_CHOICES} are allowed")


def _listed(value: Any, field: str) -> list[Any]:
    if not (isinstance(value, list) and value):
        raise FieldError(field, f"{value!r} is not a list of values")
    return value


def _plain(argument: Any) -> Any:
    """Return the argument without macros."""
    if isinstance(argument, dict):
        return {key: _plain(value) for key, value in argument.items() if key not in _MACROS}
    return [_plain(item) for item in argument] if isinstance(argument, list) else argument


def _apply_copies(args: list[dict[str, Any]], field: str) -> None:
    """Give tensors the sizes that they copy from others, in the order of the file.

    Raises:
        FieldError: a copy is of another form, names what is not there, or contradicts another one or the shape itself.
    """
    written: set[tuple[int, str, int]] = set()
    for target, argument in enumerate(args):
        copies = argument.get(COPY, [])
        place = f"{field}.args[{target}].{COPY}"
        if not isinstance(copies, list) or not all(isinstance(mapping, dict) for mapping in copies):
            raise FieldError(place, 'it is a list of {"shape": [to, [argument, from]]}')
        for number, (name, mapping) in enumerate(pair for fields in copies for pair in fields.items()):
            at, value = _copied(args, target, name, mapping, f"{place}[{number}]")
            old = argument[name][at]
            if old != value and (old > 0 or (target, name, at) in written):
                raise FieldError(
                    f"{place}[{number}]", f"contradicts {name}[{at}], which is {old}; the copy would make it {value}"
                )
            argument[name][at] = value
            written.add((target, name, at))


def _copied(args: list[dict[str, Any]], target: int, name: str, mapping: Any, place: str) -> tuple[int, int]:
    """Return the element that a copy writes, and what."""
    try:
        at, (source, element) = mapping
        places = (target, at), (source, element)
        lists = [args[argument][name] for argument, _ in places]
        sizes = [values[index] for values, (_, index) in zip(lists, places, strict=True)]
    except (TypeError, ValueError, KeyError, IndexError):
        raise FieldError(place, f"{name}: {mapping!r} names no element of two tensors; {len(args)} arguments") from None
    if not all(isinstance(values, list) for values in lists) or not all(type(size) is int for size in sizes):
        raise FieldError(place, f"{name}: only whole numbers of lists are copied")
    if sizes[1] < 0:
        raise FieldError(place, f"contradicts itself: {name}[{element}] of args[{source}] is a placeholder")
    return at, sizes[1]


DEFAULT = "DefaultConfigIterator"


def find_iterator(name: str) -> Callable[..., Any] | None:
    """Return the iterator of a name: ours, or one that a user registers."""
    load_users()
    return REGISTERED.iterators.get(name)


@iterator(DEFAULT)
def default(configs: Sequence[Any], build: dict[str, Any] | None) -> Iterator[tuple[str, Any]]:  # noqa: ARG001 - the form of all
    """Yield each as it stands."""
    for number, config in enumerate(configs):
        yield str(number), config


@iterator("RangeConfigIterator")
def ranges(configs: Sequence[Any], build: dict[str, Any] | None) -> Iterator[tuple[str, Any]]:  # noqa: ARG001 - the form of all
    """Yield every combination that the macros of each stand for."""
    for number, config in enumerate(configs):
        for count, arguments in enumerate(expanded(config, f"[{number}]")):
            yield f"{number}_{count}", arguments


@iterator("SplitTableBatchedEmbeddingBagsCodegenInputIterator")
def embedding_bags(configs: Sequence[Any], build: dict[str, Any] | None) -> Iterator[tuple[str, Any]]:
    """Yield, for each batch size and pooling factor, what FBGEMM's embedding bags need of their build beside them."""
    built = (build or {}).get("args") or []
    if len(built) < 6:  # noqa: PLR2004 - tables, rows, dimension, pooling, weighted, precision
        raise FieldError("", "the build has six arguments: tables, rows, dimension, pooling, weighted, precision")
    tables, rows, dimension, _, weighted, precision = built[:6]
    for number, config in enumerate(configs):
        arguments = config.get("args") if isinstance(config, dict) else None
        if not isinstance(arguments, list) or len(arguments) < 2:  # noqa: PLR2004 - as the sentence says
            raise FieldError(f"[{number}].args", "needs a batch size and a pooling factor")
        sizes = variants(arguments[0], f"[{number}].args[0]")
        factors = variants(arguments[1], f"[{number}].args[1]")
        require(len(sizes) * len(factors), f"[{number}].args")
        for count, (size, factor) in enumerate(product(sizes, factors)):
            yield f"{number}_{count}", {"args": [tables, rows, dimension, size, factor, weighted, precision]}
