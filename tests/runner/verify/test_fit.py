"""Where float64 or eager cannot be had at the timed batch: in parts, with fewer iterations, else a smaller batch."""

import weakref
from types import SimpleNamespace

import pytest
from verify_makers import Suite

from runner.verify import copies, fit, preparation, tables

torch = pytest.importorskip("torch")


def limited(most, dtypes=(torch.float64,), *, mixes=False):
    """Return a model that runs out of memory above so many samples in these dtypes."""

    class Limited(torch.nn.Linear):
        def __init__(self):
            super().__init__(4, 4)

        def forward(self, values):
            if values.dtype in dtypes and len(values) > most:
                raise MemoryError("can't allocate memory")
            found = super().forward(values)
            return found - found.mean(0) if mixes else found

    return Limited


def test_float64_in_parts_is_as_good(check):
    """Each output is of its own sample."""
    found = check(suite=Suite(limited(16), size=64))
    assert (found.code, found.batch_size, found.reference) == ("PASS", 64, "float64")
    assert any("computed in 4 parts; eager gives the same" in note for note in found.notes)
    failed = check(suite=Suite(limited(16), size=64), change=lambda output: output * 1.05)
    assert failed.code == "FAIL"
    assert not any("rounded weights" in note for note in failed.notes), "the whole batch in float64 does not fit"


def test_samples_that_see_each_other_are_not_taken_apart(check):
    found = check(suite=Suite(limited(16, mixes=True), size=64))
    assert (found.code, found.batch_size, found.timed_batch_size) == ("PASS (batch 16)", 16, 64)
    assert "float64 does not fit into memory: 16 samples are compared instead" in found.notes


def test_a_copy_that_did_not_fit_is_gone_before_parts_are_tried(check):
    """The exception's traceback held its inputs and results, so that on a full GPU the parts did not fit either."""
    made, beside = [], []

    class Watched(limited(16)):
        def forward(self, values):
            beside.append(sum(other() is not None for other in made))
            kept = values.clone()
            made.append(weakref.ref(kept))
            return super().forward(kept)

    found = check(suite=Suite(Watched, size=64))
    assert any("parts; eager" in note for note in found.notes)
    assert set(beside) == {0}


def test_a_loss_over_samples_is_not_taken_apart(check):
    found = check(suite=Suite(limited(16), size=64), test="train")
    assert (found.code, found.batch_size) == ("PASS (batch 16)", 16)


def test_below_the_tables_batch_it_is_halved(check):
    found = check(suite=Suite(limited(5, mixes=True), size=64))
    assert (found.code, found.batch_size) == ("PASS (batch 4)", 4)


def test_eager_that_does_not_fit_is_compared_at_a_smaller_batch(check):
    """The backend may need less."""
    found = check(suite=Suite(limited(8, (torch.float32, torch.float64)), size=64))
    assert (found.code, found.batch_size) == ("PASS (batch 8)", 8)


def test_eager_that_never_fits_has_failed(check):
    found = check(suite=Suite(limited(0, (torch.float32,)), size=64))
    assert (found.code, found.decided_by, found.error.type) == ("EAGER_FAILED", "oom", "MemoryError")


def test_a_wrong_answer_at_a_smaller_batch_is_wrong(check):
    assert check(suite=Suite(limited(16, mixes=True), size=64), change=lambda output: output + 1).code == "FAIL"


def test_too_little_memory_is_known_before(check, monkeypatch):
    """A process that the kernel kills gives no answer at all."""
    monkeypatch.setattr(fit.FitLimits, "bytes_left", lambda self: -1)
    found = check(suite=Suite(limited(1000), size=64))
    assert found.code == "PASS"
    assert any("parts; eager" in note for note in found.notes)


def limits(seconds):
    import time

    return fit.FitLimits(began=time.perf_counter(), seconds=seconds, memory_bytes=None)


@pytest.mark.parametrize(("seconds", "expected"), [(1e6, 3), (200, 3), (140, 2), (80, 1), (50, 0)])
def test_iterations_that_fit_into_the_time(seconds, expected):
    assert limits(seconds).iterations([10.0, 10.0, 12.0]) == expected


def test_too_slow_iterations_are_left_out_and_said(check, monkeypatch):
    monkeypatch.setattr(fit.FitLimits, "iterations", lambda self, seconds: 1)
    found = check()
    assert (found.code, found.iterations) == ("PASS", 1)
    assert "1 of 3 iterations are compared: all would take too long" in found.notes


def test_too_slow_at_all_is_compared_at_a_smaller_batch(check, monkeypatch):
    monkeypatch.setattr(fit.FitLimits, "iterations", lambda self, seconds: 3 if len(suite.requests) > 1 else 0)
    suite = Suite(lambda: torch.nn.Linear(4, 4), size=64)
    assert check(suite=suite).code == "PASS (batch 16)"


@pytest.mark.parametrize(("least", "sizes"), [(1, [8, 4, 2, 1]), (2, [8, 4, 2])])
def test_batches_become_smaller_until_the_fewest_samples_of_the_table(least, sizes):
    """A model with BatchNorm refuses one sample in train, whatever the backend."""
    of = SimpleNamespace(
        criteria=tables.Criteria(tolerance=1.0, most_samples=8, least_samples=least),
        timed_batch_size=64,
        load=SimpleNamespace(settings=SimpleNamespace(verify_iterations=3)),
        size=copies.ComparedSize(batch_size=None, iterations=3),
    )
    found, batch = [], None
    while (size := fit.smaller(of, batch)) is not None:
        found.append(batch := size.batch_size)
    assert found == sizes


def test_inputs_without_samples_are_handed_to_each_piece():
    batch, table = torch.arange(4.0), torch.ones(7)
    first, second = preparation.split_batch(((batch, table), {"flag": True}), 4, 2)
    assert first[0][0].tolist() == [0, 1]
    assert second[0][0].tolist() == [2, 3]
    assert second[0][1] is table
    assert second[1] == {"flag": True}
    with pytest.raises(preparation.NotSplittable):
        preparation.split_batch(((table,), {}), 4, 2)


def test_results_without_samples_are_not_of_parts():
    with pytest.raises(preparation.NotSplittable):
        preparation.joined([{"output": torch.tensor(1.0)}, {"output": torch.tensor(2.0)}], 2)
    with pytest.raises(preparation.NotSplittable):
        preparation.joined([{"output": torch.ones(7)}, {"output": torch.ones(7)}], 2)
    assert preparation.joined([{"output": torch.ones(1)}, {"output": torch.zeros(1)}], 2)["output"].tolist() == [1, 0]
