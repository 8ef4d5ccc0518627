"""The table of change points follows the runs and the marks."""

import shutil
from datetime import UTC, datetime, timedelta

import pytest

from store import changepoints, query
from store.database import snapshot
from store.ingest import ingest
from store.state import marks
from tests.store.factory import DAY, RUN_START, make_environment, make_record, write_run

STEP = [0.01, 0.0101, 0.0099, 0.01, 0.0101, 0.0099, 0.01, 0.012, 0.0121, 0.0119, 0.012, 0.0121]
"""Seven runs, and five that are a fifth slower."""
MARKED = datetime(2026, 1, 1)  # noqa: DTZ001 (UTC, as the columns)


class DailyRuns:
    """Runs of one experiment, day after day, and what was found in them."""

    def __init__(self, folder):
        self.folder, self.store, self.state = folder, folder / "store", folder / "state.sqlite"

    def write(self, latencies, first=0, **facts):
        for day, latency in enumerate(latencies, start=first):
            start = RUN_START + day * DAY
            record = make_record(run_id=f"run-{day:02}", timestamp=start, per_iter=[latency] * 8, **facts)
            write_run(self.folder / "runs" / f"{record.model.model_name}-{day}", [record])

    def ingest(self):
        return ingest([self.folder / "runs"], self.store)

    def measure(self, latencies, first=0, **facts):
        self.write(latencies, first, **facts)
        return self.ingest()

    def update(self):
        return changepoints.update(self.store, self.state)

    def ask(self, sql):
        with query.connect(query.current_snapshot(self.store)) as con:
            return query.fetch(con, sql)

    def mark(self, day, **names):
        at = datetime.fromtimestamp(RUN_START + day * DAY, UTC).replace(tzinfo=None) - timedelta(hours=1)
        return marks.add(self.state, marks.Mark(marked_at=at, text="new driver", who="ann", created_at=MARKED, **names))


@pytest.fixture
def runs(tmp_path):
    return DailyRuns(tmp_path)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured")
    runs = DailyRuns(folder)
    runs.write(STEP)
    runs.write(STEP[:7], model="wrong")
    runs.write([0.5] * 5, first=7, model="wrong", verification_code="FAIL")
    runs.write([0.01] * 11, model="even")
    runs.ingest()
    return folder


@pytest.fixture
def stepped(measured, tmp_path):
    """A copy of the store of three models, of which the steps of one are a change; the tests change none of its runs.

    Of the second one there are wrong answers instead of slower ones, and the third one stays as it was.
    """
    shutil.copytree(measured / "store", tmp_path / "store")
    return DailyRuns(tmp_path)


def test_a_change_names_the_runs_around_it_and_wrong_answers_are_no_points(stepped):
    assert stepped.update() == 3
    [row] = stepped.ask("SELECT * FROM series_changes")
    assert (row["run_before"], row["run_after"], row["before_n"], row["after_n"]) == ("run-06", "run-07", 7, 5)
    assert row["change_ratio"] == pytest.approx(1.2)
    assert row["change_low"] < 1.2 < row["change_high"]
    assert (row["model"], row["backend"], row["epoch"]) == ("resnet18", "inductor", 0)


def test_only_touched_series_are_looked_at_and_nothing_new_publishes_nothing(stepped):
    assert stepped.update() == 3
    before = snapshot.current(stepped.store)
    assert stepped.update() == 0
    assert snapshot.current(stepped.store) == before
    published = stepped.measure([0.01], first=12, model="even").snapshot
    assert stepped.update() == 1
    assert snapshot.current(stepped.store) == published, "a run that changes no verdict publishes nothing more"
    stepped.measure([0.012], first=13)
    assert stepped.update() == 1
    assert [row["after_n"] for row in stepped.ask("SELECT after_n FROM series_changes")] == [6]


def test_a_mark_resets_a_series_and_is_part_of_its_key_until_it_is_removed(stepped):
    stepped.update()
    mark = stepped.mark(7)
    stepped.update()
    assert stepped.ask("SELECT * FROM series_changes") == []
    of_model = "WHERE model = 'resnet18'"
    found = stepped.ask(f"SELECT epoch, count(*) AS runs_n FROM history {of_model} GROUP BY epoch ORDER BY epoch")
    assert [tuple(row.values()) for row in found] == [(0, 7), (1, 5)]
    assert [row["epoch"] for row in stepped.ask(f"SELECT epoch FROM latest_results {of_model}")] == [1]
    stepped.measure([0.01], first=8, model="later")
    stepped.update()
    later = stepped.ask("SELECT epoch FROM latest_results WHERE model = 'later'")
    assert later == [{"epoch": 1}], "a series that comes later is marked, too"
    marks.remove(stepped.state, mark.mark_id)
    assert stepped.update() == 4
    assert len(stepped.ask("SELECT * FROM series_changes")) == 1
    assert stepped.ask("SELECT max(epoch) AS epoch FROM history") == [{"epoch": 0}]


OF_OTHERS = ({"model": "vgg16"}, {"machine_id": "another"}, {"variant": "eager"})
OF_ITS_OWN = {
    "model": "resnet18",
    "backend": "inductor",
    "suite": "torchbench",
    "test": "eval",
    "accelerator_model": "Example CPU",
    "accelerator": "cpu",
    "environment": "default",
}


def test_a_mark_takes_only_the_series_that_fit_its_names(stepped):
    for names in OF_OTHERS:
        stepped.mark(7, **names)
    stepped.update()
    assert len(stepped.ask("SELECT * FROM series_changes")) == 1
    stepped.mark(7, **OF_ITS_OWN)
    stepped.update()
    assert stepped.ask("SELECT * FROM series_changes") == []


def test_a_rebuild_has_the_marks_and_changes_of_before_and_a_replaced_file_takes_its_own_back(runs):
    runs.write(STEP)
    runs.measure(STEP, model="vgg16")
    runs.mark(7, model="vgg16")
    runs.update()
    before = runs.ask("SELECT * FROM series_changes")
    ingest([runs.folder / "runs"], runs.store, rebuild=True)
    runs.update()
    assert runs.ask("SELECT * FROM series_changes") == before
    assert len(before) == 1
    runs.measure([0.010] * 5, first=7)
    runs.update()
    assert runs.ask("SELECT * FROM series_changes") == []


def test_without_an_index_there_is_nothing_to_do(runs):
    assert runs.update() == 0
    assert not runs.store.exists()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"environment": make_environment(threads=8)}, {"environment": make_environment(threads=4)}),
        ({"batch_size": 8}, {"batch_size": 16}),
        ({"iterations_per_run": 1}, {"iterations_per_run": 20}),
        ({"start": "fork"}, {"start": "interpreter"}),
    ],
    ids=["threads", "batch size", "iterations per block", "start"],
)
def test_a_step_at_another_way_to_measure_is_no_change(runs, before, after):
    """`xlabench compare` calls the runs around it not comparable."""
    runs.write(STEP[:7], **before)
    runs.measure(STEP[7:], first=7, **after)
    runs.update()
    assert runs.ask("SELECT * FROM series_changes") == []


def test_runs_that_were_measured_alike_have_their_changes_though_others_lie_between(runs):
    runs.write(STEP)
    odd = make_environment(threads=1)
    start = RUN_START + 3.5 * DAY
    record = make_record(run_id="single", timestamp=start, per_iter=[0.05] * 8, environment=odd)
    write_run(runs.folder / "runs" / "single", [record])
    runs.measure([])
    runs.update()
    [row] = runs.ask("SELECT * FROM series_changes")
    assert (row["run_before"], row["run_after"], row["before_n"], row["after_n"]) == ("run-06", "run-07", 7, 5)
