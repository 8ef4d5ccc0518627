"""Whatever a model returns is taken apart into named tensors and values on the CPU."""

import collections
import dataclasses

import numpy as np
import pytest

from runner.verify.leaves import Opaque, leaves

torch = pytest.importorskip("torch")
ONE = torch.ones(1)
Pair = collections.namedtuple("Pair", "left right")  # noqa: PYI024 - models return plain ones


class Boxes:
    def __init__(self):
        self.tensor, self.size = ONE, 3


class Distribution(Boxes):
    def __call__(self):
        return self.tensor


@dataclasses.dataclass
class QuestionAnsweringModelOutput:
    loss: object
    start_logits: object


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (ONE, ["out"]),
        ((ONE, [ONE, 2.0]), ["out[0]", "out[1][0]", "out[1][1]"]),
        ({"b": ONE, "a": None}, ["out.a", "out.b"]),
        (Pair(ONE, ONE), ["out.left", "out.right"]),
        (torch.Size([2, 3]), ["out[0]", "out[1]"]),
        (collections.deque([ONE]), ["out[0]"]),
        (Boxes(), ["out.tensor", "out.size"]),
        (Distribution(), ["out.tensor", "out.size"]),
        (QuestionAnsweringModelOutput(ONE, ONE), ["out.loss"]),
        ([], []),
    ],
)
def test_names_say_where_a_leaf_was_found(value, names):
    assert list(leaves(value, "out")) == names


def test_a_huggingface_output_is_named_by_its_fields():
    outputs = pytest.importorskip("transformers.modeling_outputs")
    assert list(leaves(outputs.MaskedLMOutput(loss=ONE, logits=ONE), "output")) == ["output.logits", "output.loss"]


def test_tensors_are_copies():
    """A model may change a buffer after it has returned it."""
    buffer = torch.nn.Parameter(torch.ones(2))
    found = leaves(buffer, "out")["out"]
    with torch.no_grad():
        buffer.zero_()
    assert found.tolist() == [1.0, 1.0]
    assert not found.requires_grad


def test_double_widens_floating_tensors_only():
    found = leaves((ONE, torch.ones(1, dtype=torch.int64)), "out", double=True)
    assert [each.dtype for each in found.values()] == [torch.float64, torch.int64]


def test_a_sparse_tensor_becomes_dense():
    assert leaves(torch.eye(2).to_sparse(), "out")["out"].tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_numpy_arrays_are_tensors():
    numpy = pytest.importorskip("numpy")
    assert leaves(numpy.ones(2), "out")["out"].tolist() == [1.0, 1.0]


def test_what_cannot_be_compared_keeps_its_type_name():
    assert leaves([len], "out") == {"out[0]": Opaque("builtin_function_or_method", code=True)}
    assert leaves(torch.nn.ReLU(), "out") == {"out": Opaque("ReLU", code=True)}


def test_an_object_that_holds_itself_ends():
    box = Boxes()
    box.inner = box
    assert list(leaves(box, "out")) == ["out.tensor", "out.size"]


@dataclasses.dataclass(slots=True)
class Slotted:
    first: object
    second: object


def test_what_slots_hold_is_compared():
    assert leaves(Slotted(1, Slotted(2, 3)), "out") == {"out.first": 1, "out.second.first": 2, "out.second.second": 3}


@pytest.mark.parametrize("value", [{0: 1, "0": 2}, {"a": {"b": 1}, "a.b": 2}, {"a.b": 1, "a": {"b": 2}}])
def test_two_leaves_of_one_name_are_both_compared(value):
    assert sorted(leaves(value, "out").values()) == [1, 2]


def test_numbers_of_numpy_and_complex_ones_are_judged_as_tensors():
    found = leaves([np.float32(1.5), 1 + 2j], "out")
    assert (found["out[0]"].item(), found["out[1]"].item()) == (1.5, 1 + 2j)


def test_a_set_of_tensors_has_no_order_and_a_generator_gives_its_values_once():
    found = leaves([{torch.ones(1)}, frozenset({1}), (number for number in (1, 2))], "out")
    assert found == {"out[0]": Opaque("set"), "out[1]": frozenset({1}), "out[2]": Opaque("generator")}


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
def test_the_parts_of_a_nested_tensor_are_compared(layout):
    nested = torch.nested.nested_tensor([torch.ones(2), torch.zeros(3)], layout=layout)
    found = leaves(nested, "out")
    assert [found[name].tolist() for name in ("out[0]", "out[1]")] == [[1, 1], [0, 0, 0]]
