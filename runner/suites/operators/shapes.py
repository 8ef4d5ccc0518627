"""Which tensors fit together: rules for the operators that have one in `ops.yaml`. Imports no torch.

What has no rule is checked by torch itself when the operator is called; then the record says what did not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import TYPE_CHECKING

from runner.suites.operators.arguments import Double, Float, Int, Long, Tensor
from runner.suites.operators.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runner.suites.operators.arguments import Argument, Arguments

Shape = tuple[int, ...]
Rule = Callable[["Arguments | None", "Arguments"], None]
_MATRIX, _BATCH = 2, 3


def check(rule: str, build: Arguments | None, given: Arguments) -> None:
    """Check the tensors of a call by a rule's name.

    Raises:
        FieldError: sizes do not fit together; the field is that of the later tensor.
    """
    RULES[rule](build, given)


def _tensors(args: Sequence[Argument], count: int) -> list[Shape] | None:
    """Return the shapes of the first arguments, or None where one of them is given by name or is no tensor."""
    found = [each.shape for each in args[:count] if isinstance(each, Tensor)]
    return found if len(found) == count else None


def _fit(left: int, right: int, field: str, of: str) -> None:
    if left != right:
        raise FieldError(field, f"is {right}, and {of} is {left}: they have to be equal")


def _dimensions(shape: Shape, wanted: int, field: str) -> None:
    if len(shape) != wanted:
        raise FieldError(f"{field}.shape", f"has {len(shape)} dimensions, and needs {wanted}")


def broadcast_shapes(left: Shape, right: Shape, field: str = "args[1].shape") -> Shape:
    """Return the shape that both stretch to."""
    sizes = []
    for a, b in zip_longest(reversed(left), reversed(right), fillvalue=1):
        if a != b and 1 not in (a, b):
            raise FieldError(field, f"{list(right)} does not stretch to {list(left)}")
        sizes.append(max(a, b) if 0 not in (a, b) else 0)
    return tuple(reversed(sizes))


def _broadcast(build: Arguments | None, given: Arguments) -> None:
    del build
    if shapes := _tensors(given.args, 2):
        broadcast_shapes(shapes[0], shapes[1])


def _mm(build: Arguments | None, given: Arguments) -> None:
    del build
    if shapes := _tensors(given.args, 2):
        _product(shapes, 0, _MATRIX)


def _bmm(build: Arguments | None, given: Arguments) -> None:
    del build
    if shapes := _tensors(given.args, 2):
        _product(shapes, 0, _BATCH)


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


def _added(dimensions: int) -> Rule:
    def rule(build: Arguments | None, given: Arguments) -> None:
        del build
        if shapes := _tensors(given.args, 3):
            made = _product(shapes[1:], 1, dimensions)
            if broadcast_shapes(made, shapes[0], "args[0].shape") != made:
                raise FieldError("args[0].shape", f"{list(shapes[0])} does not stretch to {list(made)}")

    return rule


def _matmul(build: Arguments | None, given: Arguments) -> None:
    del build
    shapes = _tensors(given.args, 2)
    if not shapes:
        return
    left, right = shapes
    for number, shape in enumerate(shapes):
        if not shape:
            raise FieldError(f"args[{number}].shape", "has no dimension, and needs one at least")
    inner = max(len(right) - 2, 0)
    _fit(left[-1], right[inner], f"args[1].shape[{inner}]", f"args[0].shape[{len(left) - 1}]")
    broadcast_shapes(left[:-2], right[:-2])


def _linear(build: Arguments | None, given: Arguments) -> None:
    """Set the shapes of `linear(input, weight, bias)`: the weight is (out, in), the bias (out)."""
    del build
    if shapes := _tensors(given.args, 2):
        given_shape, weight = shapes
        _dimensions(weight, _MATRIX, "args[1]")
        _fit(given_shape[-1], weight[1], "args[1].shape[1]", f"args[0].shape[{len(given_shape) - 1}]")
    if shapes := _tensors(given.args, 3):
        _fit(shapes[1][0], shapes[2][-1], "args[2].shape[0]", "args[1].shape[0]")


def _linear_module(build: Arguments | None, given: Arguments) -> None:
    _features(build, given, dimension=-1)


def _conv2d_module(build: Arguments | None, given: Arguments) -> None:
    _features(build, given, dimension=-3)


def _features(build: Arguments | None, given: Arguments, *, dimension: int) -> None:
    """Check that a module is given as many features in a dimension as it is built for."""
    wanted, shapes = build.args[:1] if build else (), _tensors(given.args, 1)
    if not wanted or not shapes or not isinstance(wanted[0], Int | Long | Float | Double) or wanted[0].value is None:
        return
    (shape,) = shapes
    if len(shape) < -dimension:
        raise FieldError("args[0].shape", f"has {len(shape)} dimensions, and needs {-dimension} or more")
    place = len(shape) + dimension
    if shape[place] != wanted[0].value:
        raise FieldError(
            f"args[0].shape[{place}]", f"is {shape[place]}, and the operator is built for {wanted[0].value}"
        )


RULES: Mapping[str, Rule] = {
    "broadcast": _broadcast,
    "mm": _mm,
    "bmm": _bmm,
    "addmm": _added(_MATRIX),
    "baddbmm": _added(_BATCH),
    "matmul": _matmul,
    "linear": _linear,
    "linear_module": _linear_module,
    "conv2d_module": _conv2d_module,
}
