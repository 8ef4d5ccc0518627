"""One more iteration with other inputs: a program that ignores its inputs after the first call is wrong."""

import pytest
from verify_makers import Suite

from runner.backends.host import Eager
from runner.verify.preparation import others
from tests.tiers import first_of

torch = pytest.importorskip("torch")


class Two(torch.nn.Module):
    """Two outputs of one input."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, values):
        return self.layer(values), values * 2


class Fixed(Two):
    """The second output is the same for any input."""

    def forward(self, values):
        return self.layer(values), self.layer.weight * 1


class Particular(Two):
    """It accepts the inputs of the suite alone."""

    def forward(self, values):
        if not torch.equal(values[0], self.first):
            raise ValueError("never seen")
        return super().forward(values)

    @property
    def first(self):
        torch.manual_seed(3)
        return torch.rand(4)


def seen(size):
    torch.manual_seed(3)
    return (torch.rand(size, 4),)


class Keeping(Eager):
    """Eager with the inputs of the first call at every call."""

    def compile(self, step, config):
        kept = []

        def run(args, kwargs):
            kept.append([tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in args])
            return step(tuple(kept[0]), kwargs)

        return run


class Again(Eager):
    """Eager whose second output is that of the first call."""

    def compile(self, step, config):
        first = []

        def run(args, kwargs):
            output = step(args, kwargs)
            first.append(output[1].clone())
            return output[0], first[0]

        return run


def loss(output):
    return sum(part.square().mean() for part in output)


@pytest.mark.parametrize("size", [4, 1])
@pytest.mark.parametrize("test", ["eval", "train"])
def test_a_program_that_keeps_the_inputs_of_its_first_call_is_wrong(check, test, size):
    found = check(suite=Suite(Two, size, loss=loss), backend=Keeping(), test=test)
    assert (found.code, found.decided_by) == ("FAIL", "bitwise")
    assert f"{found.first_failed}: with other inputs, the backend gives the same, eager does not" in found.notes


def test_the_output_that_stays_is_named(check):
    found = check(suite=Suite(Two), backend=Again())
    assert (found.code, found.first_failed) == ("FAIL", "output[1]")


@pytest.mark.parametrize("size", first_of([4, 1]))
@pytest.mark.parametrize("test", ["eval", "train"])
@pytest.mark.parametrize("make", [Two, Fixed])
def test_what_follows_its_inputs_as_eager_does_passes(check, make, test, size):
    found = check(suite=Suite(make, size, loss=loss), backend=Eager(), test=test)
    assert found.code == "PASS"
    assert not any("other inputs" in note for note in found.notes)


def test_a_model_that_refuses_other_inputs_is_judged_without_them(check):
    assert check(suite=Suite(Particular, inputs=seen), backend=Keeping()).code == "PASS"


class Refusing(Eager):
    """Eager that raises for any input but that of the first call."""

    def compile(self, step, config):
        kept = []

        def run(args, kwargs):
            kept.append(args[0].detach().clone())
            if not torch.equal(kept[0], kept[-1]):
                raise ValueError("never seen")
            return step(args, kwargs)

        return run


def test_a_backend_that_raises_for_other_inputs_has_no_pass(check):
    """It may know the usual inputs and the results of these alone."""
    found = check(suite=Suite(Two), backend=Refusing())
    assert (found.code, found.decided_by, found.control) == ("VERIFIER_SKIPPED", "unjudged", None)
    assert "no PASS, because the backend raised an exception with other inputs and eager did not" in found.notes


def test_other_inputs_have_the_shape_type_and_values_of_the_usual_ones():
    values, single, mask = torch.rand(4, 3, requires_grad=True), torch.arange(6).reshape(1, 6), torch.ones(4, 3) > 0
    usual = ((values, single, mask, 7), {"nothing": None, "scalar": torch.tensor(2.0)})
    (other, moved, same, number), keywords = others(usual, 4)
    assert torch.equal(other, torch.cat([values[2:], values[2:]]))
    assert other.requires_grad
    assert other.is_leaf
    assert moved.tolist() == [[5, 0, 1, 2, 3, 4]]
    assert torch.equal(same, mask)
    assert (number, keywords["nothing"], float(keywords["scalar"])) == (7, None, 2.0)
    assert values.detach()[0].tolist() != other.detach()[0].tolist()


class Remembering(torch.nn.Module):
    """It computes its output once."""

    kept = None

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, values):
        if self.kept is None:
            self.kept = self.layer(values)
        return self.kept


def test_an_output_that_eager_itself_keeps_is_no_evidence(check):
    """What is timed computes nothing, under any backend; a fixed output is compared as any other."""
    found = check(suite=Suite(Remembering), backend=Eager())
    assert (found.code, found.unjudged) == (
        "VERIFIER_SKIPPED",
        ["output: eager gives the same as for other inputs"],
    )
    assert check(suite=Suite(Remembering), change=lambda output: output + 1).code == "FAIL"
