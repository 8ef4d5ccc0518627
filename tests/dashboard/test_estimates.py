"""How long a plan takes: medians of what the store measured, with n; of what it never measured nothing is guessed."""

from __future__ import annotations

import pytest

from dashboard.jobs.planned import expected_duration
from store.estimate import Estimate, estimate
from store.ingest import ingest
from store.query import connect
from tests.store import factory


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Two runs of a minute, of one model under two backends: 10.5 s and 30.5 s of their own, loading included."""
    home = tmp_path_factory.mktemp("estimates")
    for day in range(2):
        start = factory.RUN_START + day * factory.DAY
        records = [
            factory.make_record(
                suite="dummy", model="dummy", backend=backend, run_id=f"run-{day}", timestamp=start, first=first
            )
            for backend, first in (("eager", 9.908), ("inductor", 29.908))
        ]
        factory.write_run(home / "runs" / str(day), records, timestamp=start)
    return str(ingest([home], home / "store").snapshot)


def estimated(snapshot, *models, processes=3):
    with connect(snapshot) as con:
        return estimate(con, entries(*models), processes)


def entries(*models):
    return factory.plan_for([factory.make_record(suite="dummy", model=model, backend="eager") for model in models])


def test_a_block_of_a_short_operator_takes_as_long_as_all_its_repetitions(tmp_path):
    """A run of a minute, of two backends that took 10.5 s each; one repeats the iterations of its blocks ten times."""
    records = [
        factory.make_record(suite="operators", model="add", backend=name, first=first, warmup=(), per_iter=steady)
        for name, first, steady in (("eager", 0.0, [0.1] * 10), ("inductor", 10.0, []))
    ]
    records[0].measurement.blocks.inner_loops = [1, *[10] * 10]
    factory.write_run(tmp_path / "run", records)
    with connect(ingest([tmp_path], tmp_path / "store").snapshot) as con:
        found = [estimate(con, factory.plan_for([record]), 1).seconds for record in records]
    assert found == pytest.approx([30.0, 30.0]), "each half of the minute"


def test_it_adds_up_medians_of_the_same_model_and_test_over_the_processes(shown):
    found = estimated(shown, "dummy")
    assert found.seconds == pytest.approx(46.1, abs=0.1), "its part of the minute that two records share, three times"
    text = expected_duration(shown, entries("dummy"), 3)
    assert text == "About **46.1 s**, from 2 records of the same models, tests and backends"


def test_what_has_no_history_is_counted_and_not_guessed(shown):
    found = estimated(shown, "dummy", "other")
    assert found.seconds == pytest.approx(46.1, abs=0.1)
    assert (found.records_n, found.known_n, found.unknown_n) == (2, 1, 1)
    assert expected_duration(shown, entries("dummy", "other"), 3).endswith(
        "; 1 more experiment without history not included"
    )


@pytest.mark.parametrize("models", [("other",), ()])
def test_without_history_it_says_so(shown, models):
    assert estimated(shown, *models) == Estimate(unknown_n=len(models))
    assert "no history" in expected_duration(shown, entries(*models), 3)
    assert "no history" in expected_duration(None, entries(*models), 3)
