"""How long a plan takes: medians of what the store measured, with n; of what it never measured nothing is guessed."""

import pytest

from dashboard.jobs.planned import estimate


@pytest.fixture(scope="module")
def shown(factory, tmp_path_factory):
    """Two runs of a minute, of one model under two backends: 10.5 s and 30.5 s of their own, loading included."""
    from store.ingest import ingest

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


@pytest.fixture(scope="module")
def short_operators(factory, tmp_path_factory):
    """A run of a minute, of two backends that took 10.5 s each; one repeats the iterations of its blocks ten times."""
    from store.ingest import ingest

    folder = tmp_path_factory.mktemp("operators")
    records = [
        factory.make_record(suite="operators", model="add", backend=name, first=first, warmup=(), per_iter=steady)
        for name, first, steady in (("eager", 0.0, [0.1] * 10), ("inductor", 10.0, []))
    ]
    records[0].measurement.blocks.inner_loops = [1, *[10] * 10]
    factory.write_run(folder / "run", records)
    return str(ingest([folder], folder / "store").snapshot)


def test_a_block_of_a_short_operator_takes_as_long_as_all_its_repetitions(factory, short_operators):
    records = [factory.make_record(suite="operators", model="add", backend=name) for name in ("eager", "inductor")]
    found = [estimate(short_operators, factory.plan_for([each]), 1).seconds for each in records]
    assert found == pytest.approx([30.0, 30.0]), "each half of the minute"


def entries(factory, *models):
    records = [factory.make_record(suite="dummy", model=model, backend="eager") for model in models]
    return factory.plan_for(records)


def test_it_adds_up_medians_of_the_same_model_and_test_over_the_processes(factory, shown):
    found = estimate(shown, entries(factory, "dummy"), processes=3)
    assert found.seconds == pytest.approx(46.1, abs=0.1), "its part of the minute that two records share, three times"
    assert found.sentence() == "About **46.1 s**, from 2 records of the same models, tests and backends"


def test_what_has_no_history_is_counted_and_not_guessed(factory, shown):
    found = estimate(shown, entries(factory, "dummy", "other"), processes=3)
    assert found.seconds == pytest.approx(46.1, abs=0.1)
    assert "1 more experiment without history not included" in found.sentence()


@pytest.mark.parametrize("models", [("other",), ()])
def test_without_history_it_says_so(factory, shown, models):
    assert "no history" in estimate(shown, entries(factory, *models), 3).sentence()
    assert "no history" in estimate(None, entries(factory, *models), 3).sentence()
