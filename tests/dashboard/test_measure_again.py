"""Measure again from where a doubt stands: both sides in turns from Compare, one side from any table of results."""

from __future__ import annotations

import sys

import pytest

from dashboard import data, settings
from dashboard.jobs import rerun
from dashboard.view import ViewSelection
from runner.home.settings_file import Person
from runner.jobs.queue import JobQueue
from runner.jobs.request import ConfirmRequest, decode
from runner.suites.operators import expand
from store import query
from store.record import FallbackOp
from tests.dashboard.opened import click_twice, open_page, text
from tests.packed import pack_results
from tests.tiers import first_of

GONE = "/nowhere/bin/python"
FAST, SLOW = (0.010, 0.0101, 0.0099, 0.010) * 2, (0.020, 0.0201, 0.0199, 0.020) * 2
UNSURE = (0.008, 0.014, 0.009, 0.013) * 2


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv(settings.LOOPBACK_VARIABLE, "1")
    for name in (settings.STATE_VARIABLE, settings.HOME_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def day(factory, home):
    """Write a day's run of two dummy models under two backends, each in three processes."""

    def write(number, speed, *, executable=sys.executable, statuses=("ok", "ok"), **environment):
        described = factory.make_environment(executable=executable, **environment)
        records = [
            factory.make_record(
                suite="dummy",
                model=model,
                backend=backend,
                per_iter=[value * (1 + 0.001 * replica) for value in speed],
                status=status,
                replica=replica,
                run_id=f"day-{number}",
                label=f"day-{number}",
                timestamp=factory.RUN_START + number * factory.DAY,
                environment=described,
                message="no memory" if status != "ok" else None,
            )
            for model, status in zip(("dummy", "dummy_nonzero"), statuses, strict=True)
            for backend in ("inductor", "openxla+dynamo")
            for replica in range(3)
        ]
        factory.write_run(home / "runs" / f"day-{number}", records)

    return write


def ingested(home):
    from store.ingest import ingest

    ingest([home], home / "store")
    return home / "store"


class _Open:
    """A popover that stands open."""

    open = True

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return None


def signed(at, key):
    return at.text_input(key=key).set_value("ann").run()


def opened(at, key):
    """Run the page with a popover open: no browser is there to say that it still is."""
    at.session_state[key] = True
    return at.run()


def job_requests(home):
    return [(job, decode(job.request)) for job in JobQueue(home, Person("ann")).listed()]


def enabled(at, key):
    return not at.button(key=key).disabled


@pytest.mark.parametrize("packed", first_of([True, False]))
def test_one_click_asks_for_both_sides_of_the_regressions(monkeypatch, home, day, packed):
    """Also of runs whose results somebody has packed."""
    day(1, FAST, executable=sys.executable, torch="2.8.0")
    (home / "venv" / "bin").mkdir(parents=True)
    (home / "venv" / "bin" / "python").symlink_to(sys.executable)
    day(2, SLOW, executable=str(home / "venv" / "bin" / "python"))
    for folder in (home / "runs").iterdir() if packed else ():
        pack_results(folder)
    at = open_page(monkeypatch, ingested(home), "compare")
    assert "4 slower] (0 confirmed)" in text(at)
    assert not enabled(at, "confirm-slower"), "nobody has said who it is"
    at = signed(at, "confirm-name")
    assert at.button(key="confirm-slower").label == "Confirm 4 regressions"
    at.button(key="confirm-slower").click().run()
    assert not at.exception
    ((job, request),) = job_requests(home)
    assert isinstance(request, ConfirmRequest)
    assert (request.old, request.new, request.cells, request.run) == ("day-1", "day-2", "suspected", None)
    assert len(request.experiments) == 4
    assert request.accelerator == ("cpu",)
    assert (job.who, job.verified, job.state) == ("ann", False, "queued")
    assert at.button(key="confirm-slower").disabled, "a second click is no second job"
    assert "job 1 is queued" in at.button(key="confirm-slower").label
    assert any("Queued: job 1" in toast.value.replace("\\", "") for toast in at.toast)
    assert "**Job 1**" in text(at)


def test_all_ambiguous_cells_are_asked_for_by_one_click_both_sides_of_them(monkeypatch, home, day):
    day(1, UNSURE, torch="2.8.0")
    (home / "venv" / "bin").mkdir(parents=True)
    (home / "venv" / "bin" / "python").symlink_to(sys.executable)
    day(2, FAST, executable=str(home / "venv" / "bin" / "python"))
    at = signed(open_page(monkeypatch, ingested(home), "compare"), "confirm-name")
    assert at.button(key="confirm-ambiguous").label == "Measure all 4 ambiguous again"
    at.multiselect(key="backend").select("inductor").run()
    assert at.button(key="confirm-ambiguous").label == "Measure all 2 ambiguous again"
    at.multiselect(key="backend").unselect("inductor").run()
    at.button(key="confirm-ambiguous").click().run()
    assert not at.exception
    ((_, request),) = job_requests(home)
    assert (request.old, request.new, request.cells) == ("day-1", "day-2", "all")
    assert len(request.experiments) == 4


def test_where_the_old_interpreter_is_gone_the_button_says_so(monkeypatch, home, day):
    day(1, FAST, executable=GONE, name="side")
    day(2, SLOW, name="side")
    at = signed(open_page(monkeypatch, ingested(home), "compare"), "confirm-name")
    assert not enabled(at, "confirm-slower")
    assert f"its interpreter {GONE} is gone" in at.button(key="confirm-slower").help
    assert GONE in text(at).replace("\\", ""), "it stands on the page, too, not in a tooltip alone"


def test_one_interpreter_on_two_days_confirms_nothing_so_it_is_not_offered(monkeypatch, home, day):
    """Nor does the slow side again, as slow as before and in as many processes: still a suspicion."""
    day(1, FAST)
    day(2, SLOW)
    day(3, SLOW)
    store = ingested(home)
    for newer in ("day-3", "day-2"):
        at = signed(open_page(monkeypatch, store, "compare", a=["day-1"], b=[newer]), "confirm-name")
        assert "4 slower] (0 confirmed)" in text(at).replace("▼ ", "")
    assert not enabled(at, "confirm-slower")
    assert "differ only in date" in at.button(key="confirm-slower").help


def test_a_selected_row_is_measured_again_in_its_own_environment(monkeypatch, home, factory):
    records = [
        factory.make_record(suite=suite, backend=backend, environment=factory.make_environment(name))
        for suite in ("dummy", "torchbench")
        for backend in ("inductor", "openxla+dynamo")
        for name in ("old", "new")
    ]
    factory.write_run(home / "runs" / "two", records)
    offered = []
    monkeypatch.setattr(rerun, "_choice", lambda _view, _run, cells, at_first, _key: offered.append((cells, at_first)))
    monkeypatch.setattr(rerun.st, "popover", lambda *_words, **_how: _Open())
    rows = data.rows(str(query.current_snapshot(ingested(home))), "results", ViewSelection("run-1", "inductor"))
    rerun.offer(None, rerun.of_rows(rows), key="some", selected=rows.iloc[[0]])
    ((cells, at_first),) = offered
    assert [(cell.experiment_id, cell.environment) for cell in at_first] == [
        (rows.iloc[0]["experiment_id"], rows.iloc[0]["environment"])
    ]
    assert {cell.text.split()[0] for cell in cells} == {"dummy/resnet18", "torchbench/resnet18"}


@pytest.mark.parametrize(("page", "key"), first_of([("compile-time", "compile"), ("speedup", "speedup")]))
def test_the_chosen_results_of_a_table_are_asked_for_with_their_baseline(monkeypatch, home, day, page, key):
    """One result of page Model is one click; a run whose plan is gone says why it cannot be measured again."""
    day(1, FAST)
    store = ingested(home)
    at = opened(open_page(monkeypatch, store, page), f"{key}-again")
    at.multiselect(key=f"{key}-results").set_value(["dummy eval openxla+dynamo"]).run()
    assert "**2 experiments** to measure" in text(at)
    at = signed(at, f"{key}-name")
    at.button(key=f"{key}-queue").click().run()
    assert not at.exception
    query = {"suite": ["dummy"], "model": ["dummy_nonzero"], "test": ["eval"], "result": ["openxla+dynamo"]}
    at = signed(open_page(monkeypatch, store, "model", **query), "result-name")
    click_twice(at, at.button(key="again-result"))
    asked = job_requests(home)
    configs = [each.config for _, request in asked for each in request.plan.experiments]
    assert sorted((config["model_name"], config["dynamo"]) for config in configs) == [
        (model, dynamo) for model in ("dummy", "dummy_nonzero") for dynamo in ("inductor", "openxla")
    ]
    assert len(asked) == 2
    assert "again day-1" in [job.label for job, _ in asked]
    (home / "runs" / "day-1" / "run.json").unlink()
    at = opened(open_page(monkeypatch, store, page), f"{key}-again")
    assert any("has no plan" in warning.value for warning in at.warning)


def test_an_operator_is_measured_again_as_the_same_call(monkeypatch, home, factory):
    given = {"args": [{"type": "tensor", "dtype": "float", "shape": [4, 4]}]}
    content = {"input_data_generator": "PyTorch:DefaultDataGenerator", "config": [{"input": [given]}]}
    [case] = expand({"torch.neg": content})
    records = [
        factory.make_record(suite="operators", model=case.name, operator=case.operator, backend=backend)
        for backend in ("inductor", "openxla+dynamo", "eager")
    ]
    factory.write_run(home / "runs" / "day-1", records)
    at = opened(open_page(monkeypatch, ingested(home), "operators"), "operators-again")
    at.multiselect(key="operators-results").set_value([f"{case.name} eval openxla+dynamo"])
    at = opened(at, "operators-again")
    at.text_input(key="operators-name").set_value("ann")
    at = opened(at, "operators-again")
    assert "**2 experiments** to measure" in text(at)
    at.button(key="operators-queue").click()
    at = opened(at, "operators-again")
    assert not at.exception
    ((_, request),) = job_requests(home)
    assert [each.config["operator"]["name"] for each in request.plan.experiments] == ["torch.neg"] * 2


def test_all_failed_are_chosen_by_one_word(monkeypatch, home, day):
    day(1, FAST, statuses=("ok", "oom"))
    at = opened(open_page(monkeypatch, ingested(home), "overview", unfolded=["findings"]), "attention-again")
    at.pills(key="attention-kinds").set_value(["all failed (2)"])
    at = opened(at, "attention-again")
    at.text_input(key="attention-name").set_value("ann")
    at = opened(at, "attention-again")
    at.button(key="attention-queue").click()
    at = opened(at, "attention-again")
    ((_, request),) = job_requests(home)
    assert {each.config["model_name"] for each in request.plan.experiments} == {"dummy_nonzero"}
    assert len(request.plan.experiments) == 2


def test_the_payoff_of_an_op_is_asked_for_with_both_sides(monkeypatch, home, factory):
    """Of the results that call it in steady iterations, as a confirmation is measured."""
    op = FallbackOp(op="nonzero", klass="opt_in_lowering", calls_per_iteration=1.0, calls_compile=2)
    described = factory.make_environment(executable=sys.executable)
    records = [
        factory.make_record(
            suite="dummy", model="dummy_nonzero", backend=backend, environment=described, fallback_ops=ops, run_id="day"
        )
        for backend, ops in (("openxla+lazytensor", [op]), ("openxla+dynamo", []))
    ]
    factory.write_run(home / "runs" / "day", records)
    at = open_page(monkeypatch, ingested(home), "fallback-ops", op="nonzero")
    at = opened(at, "measure-payoff")
    assert at.multiselect(key="payoff-results").value == ["dummy_nonzero eval openxla+lazytensor · default"]
    assert "1 result as they are and without **nonzero**" in text(at)
    at = signed(opened(at, "measure-payoff"), "payoff-name")
    at = opened(at, "measure-payoff")
    at.button(key="payoff-queue").click().run()
    assert not at.exception
    ((job, request),) = job_requests(home)
    assert (job.label, job.state) == ("payoff nonzero", "queued")
    configs = [each.config for each in request.plan.experiments]
    assert [config.get("without_fallback") for config in configs] == [None, ["nonzero"]]
    assert {config["xla"] for config in configs} == {"PJRT"}
