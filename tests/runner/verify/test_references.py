"""References that one member of a group computes and the others read: the same verdicts, with fewer copies."""

import os
import types

import msgspec
import pytest
from verify_makers import Suite

from runner.verify import references

torch = pytest.importorskip("torch")


class Linear(torch.nn.Linear):
    """A layer of four numbers."""

    def __init__(self):
        super().__init__(4, 4)


class Drawing(Linear):
    """Adds random numbers to one of its results."""

    def forward(self, values):
        return super().forward(values), values + torch.rand(4, 4)


class Odd(Linear):
    """Returns a constant, a number, and an object that cannot be compared beside its result."""

    def forward(self, values):
        result = super().forward(values)
        return {"result": result, "ones": torch.ones(4), "number": 0.5, "odd": iter([1]), "code": len}


class Counting(Linear):
    """Writes into a buffer, so that each iteration gives something else."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(4))

    def forward(self, values):
        self.calls += 1
        return super().forward(values) + self.calls


class Hidden(Linear):
    """Has a weight that no result shows unless it is in float64."""

    value = 1.0

    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Parameter(torch.tensor([self.value]))

    def forward(self, values):
        result = super().forward(values)
        return result + self.hidden if values.dtype is torch.float64 else result


class Normed(torch.nn.Sequential):
    """A model with running statistics."""

    def __init__(self):
        super().__init__(Linear(), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5))


def _without_seconds(verification):
    return msgspec.structs.replace(verification, seconds=None)


def _files(folder):
    return sorted(folder.iterdir())


@pytest.mark.parametrize("make", [Linear, Drawing, Odd, Counting, Normed])
@pytest.mark.parametrize("test", ["eval", "train"])
@pytest.mark.parametrize("change", [None, lambda output: torch.utils._pytree.tree_map_only(torch.Tensor, _off, output)])
def test_a_member_that_reads_a_reference_finds_what_one_that_computes_it_finds(check, tmp_path, make, test, change):
    """Right and wrong backends alike, down to the notes and the errors."""

    def verified(shared):
        suite = Suite(make, loss=lambda output: torch.utils._pytree.tree_leaves(output)[-1].sum() ** 2)
        suite = Suite(make) if make in (Linear, Counting, Normed) or test == "eval" else suite
        return check(suite=suite, test=test, change=change, shared=shared), len(suite.requests)

    alone, builds = verified(None)
    first, first_builds = verified(str(tmp_path))
    assert len(_files(tmp_path)) == (alone.code not in ("EAGER_FAILED", "NONDETERMINISTIC_EAGER_RUN"))
    second, second_builds = verified(str(tmp_path))
    assert _without_seconds(first) == _without_seconds(second) == _without_seconds(alone)
    assert first_builds == builds
    # Eager once more and the backend, in place of eager twice, float64, other weights, and more where it draws.
    assert builds - second_builds >= (3 if _files(tmp_path) else 0)
    assert change is None or alone.code != "PASS"


def _off(tensor):
    return tensor * 1.2 + 0.1


def test_a_wrong_answer_is_noticed_by_each_member(check, tmp_path):
    assert check(Linear, shared=str(tmp_path)).code == "PASS"
    suite = Suite(Linear)
    found = check(suite=suite, change=lambda output: output + 1, shared=str(tmp_path))
    assert (found.code, found.first_failed) == ("FAIL", "output")
    stale = torch.load(_files(tmp_path)[0], weights_only=False).eager.leaves[0]["output"]
    found = check(suite=suite, change=lambda output: stale, shared=str(tmp_path))
    assert (found.code, found.decided_by) == ("FAIL", "bitwise"), "it ignores its inputs"


def test_a_wrong_gradient_is_noticed(check, tmp_path):
    assert check(Linear, test="train", shared=str(tmp_path)).code == "PASS"
    suite = Suite(Linear)

    def spoil(loss):
        suite.modules[-1].weight.grad.mul_(2)
        return loss

    found = check(suite=suite, change=spoil, test="train", shared=str(tmp_path))
    # Eager once more and the backend, then float64 four times, with roundings.
    assert (found.code, found.first_failed, len(suite.requests)) == ("FAIL", "grad.weight", 2 + 4)


def _others(size):
    return (torch.rand(size, 4) + 1,)


@pytest.mark.parametrize("inputs", [None, _others])
def test_a_reference_of_other_weights_or_inputs_is_not_used(check, tmp_path, monkeypatch, inputs):
    """The weight changes only what float64 gives."""
    check(Hidden, shared=str(tmp_path))
    monkeypatch.setattr(Hidden, "value", 1.0 if inputs else 0.0)
    suite = Suite(Hidden, inputs=inputs)
    shared = check(suite=suite, shared=str(tmp_path))
    assert len(suite.requests) == 6, "eager once more, then all copies"
    assert _without_seconds(shared) == _without_seconds(check(suite=Suite(Hidden, inputs=inputs)))


def test_eager_that_gives_something_else_in_this_process_is_computed_anew(check, tmp_path, monkeypatch):
    class Shifted(Linear):
        by = 0.0

        def forward(self, values):
            return super().forward(values) + self.by

    check(Shifted, shared=str(tmp_path))
    monkeypatch.setattr(Shifted, "by", 1e-6)
    suite = Suite(Shifted)
    assert check(suite=suite, shared=str(tmp_path)).code == "PASS"
    assert len(suite.requests) == 6


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-100], lambda data: data[:500] + b"x" + data[501:], lambda _: b""]
)
def test_a_damaged_file_is_not_used(check, tmp_path, damage):
    check(Linear, shared=str(tmp_path))
    file = _files(tmp_path)[0]
    file.write_bytes(damage(file.read_bytes()))
    suite = Suite(Linear)
    assert check(suite=suite, shared=str(tmp_path)).code == "PASS"
    assert len(suite.requests) == 5
    assert _files(tmp_path) == [file]


def test_a_file_that_holds_something_else_is_not_used(check, tmp_path):
    check(Linear, shared=str(tmp_path))
    file = _files(tmp_path)[0]
    file.write_bytes(b"no file of torch")
    file.rename(tmp_path / f"{file.name.partition('.')[0]}.{references._digest(file)}")
    suite = Suite(Linear)
    assert check(suite=suite, shared=str(tmp_path)).code == "PASS"
    assert len(suite.requests) == 5


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 7},
        {"verify_iterations": 2},
        {"batch_size": 8},
        {"dtype": "bfloat16"},
        {"test": "train"},
        {"tolerance": 0.5},
        {"disable_tf32": True},
        {"freezing": True},
    ],
)
def test_another_request_has_a_reference_of_its_own(check, tmp_path, changes):
    check(Linear, shared=str(tmp_path))
    suite = Suite(Linear)
    check(suite=suite, shared=str(tmp_path), **changes)
    assert len(suite.requests) > 2
    assert len(_files(tmp_path)) == 2


def test_another_environment_has_a_reference_of_its_own_and_variables_of_compilers_do_not_count(
    check, tmp_path, monkeypatch
):
    for variable, files in (("TORCHINDUCTOR_CACHE_DIR", 1), ("MKL_CBWR", 2)):
        check(Linear, shared=str(tmp_path))
        monkeypatch.setitem(os.environ, variable, "AVX2")
        check(Linear, shared=str(tmp_path))
        assert len(_files(tmp_path)) == files
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(threads + 1)
        check(Linear, shared=str(tmp_path))
    finally:
        torch.set_num_threads(threads)
    assert len(_files(tmp_path)) == 3


def test_what_does_not_fit_is_not_kept(check, tmp_path, monkeypatch):
    monkeypatch.setattr(references.shutil, "disk_usage", lambda _: types.SimpleNamespace(free=1000))
    assert check(Linear, shared=str(tmp_path)).code == "PASS"
    assert _files(tmp_path) == []


def test_a_full_disk_leaves_no_part_and_the_verdict(check, tmp_path, monkeypatch):
    def full(_, path):
        path.write_bytes(b"x" * 100)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(references.torch, "save", full)
    assert check(Linear, shared=str(tmp_path)).code == "PASS"
    assert _files(tmp_path) == []


def test_a_tensor_that_is_more_than_its_numbers_is_not_kept(check, tmp_path):
    class Own(torch.Tensor):
        pass

    class Wrapping(Linear):
        def forward(self, values):
            return super().forward(values).as_subclass(Own)

    check(Wrapping, shared=str(tmp_path))
    assert _files(tmp_path) == []
