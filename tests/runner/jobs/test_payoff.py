"""The request that measures results without a fallback op: both sides, as their run had them."""

from runner.jobs import check, rerun
from runner.jobs.request import encode
from runner.jobs.rerun import preview
from store.run_file import read_run_file
from tests.store.factory import make_record, write_run

BYTES = 1 << 20


def file_of(folder):
    backends = ("eager", "openxla+lazytensor", "openxla+dynamo")
    write_run(folder, [make_record(suite="dummy", model="dummy_nonzero", backend=each) for each in backends])
    return read_run_file(folder)


def cells(file):
    return [(entry.experiment_id, entry.environment) for entry in file.plan]


def test_each_result_of_an_xla_backend_is_asked_for_with_and_without_the_op(tmp_path):
    file = file_of(tmp_path)
    request = rerun.without(file, cells(file), "nonzero")
    found = [(each.config.get("dynamo"), each.config.get("without_fallback")) for each in request.plan.experiments]
    assert found == [(None, None), (None, ("nonzero",)), ("openxla", None), ("openxla", ("nonzero",))]
    assert [each.experiment_id for each in request.plan.experiments][::2] == [each for each, _ in cells(file)[1:]]


def test_a_job_takes_it(tmp_path):
    file = file_of(tmp_path)
    request = rerun.without(file, cells(file), "upsample_bicubic2d.vec")
    taken = check.read(encode(request), BYTES, ())
    assert [each.experiment_id for each in taken.plan.experiments] == [
        each.experiment_id for each in request.plan.experiments
    ]


def test_where_nothing_runs_on_xla_there_is_no_request(tmp_path):
    file = file_of(tmp_path)
    assert rerun.without(file, cells(file)[:1], "nonzero") is None
    assert rerun.without(file, [("no such", "default")], "nonzero") is None


def test_the_plan_of_the_request_stands_in_one_group(tmp_path):
    """So that both sides take turns."""
    file = file_of(tmp_path)
    found = preview(rerun.without(file, cells(file), "nonzero"), tmp_path)
    entries = [*found.runnable, *found.skipped]
    assert len(entries) == 4
    assert len({entry.group for entry in entries}) == 1


def test_it_is_measured_as_a_confirmation_is(tmp_path):
    """Whatever the run had: one process of each side tells no interval."""
    file = file_of(tmp_path)
    file.settings |= {"processes": 1, "repeat": 5, "interleave": "off", "preset": "peer", "seed": 7}
    found = rerun.without(file, cells(file), "nonzero").plan.settings
    assert found == {"seed": 7, "twins": 0}
    file.settings |= {"processes": 5, "repeat": 50}
    assert rerun.without(file, cells(file), "nonzero").plan.settings == {
        "processes": 5, "repeat": 50, "seed": 7, "twins": 0,
    }  # fmt: skip
