"""Measure again from where a doubt stands: both sides in turns from Compare, one side from any table of results."""

import shutil
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
from store.ingest import ingest
from store.record import FallbackOp
from tests.dashboard.opened import click_twice, open_page, text
from tests.packed import pack_results
from tests.tiers import first_of

GONE = "/nowhere/bin/python"
FAST, SLOW = (0.010, 0.0101, 0.0099, 0.010) * 2, (0.020, 0.0201, 0.0199, 0.020) * 2
UNSURE = (0.008, 0.014, 0.009, 0.013) * 2


def write_day(factory, home, run, speed, *, executable=sys.executable, statuses=("ok", "ok"), **environment):
    """Write a day's run of two dummy models under two backends, each in three processes.

    Its name is that of a story, on a machine of its own, and the number of the day.
    """
    story, _, number = run.partition("-")
    described = factory.make_environment(executable=executable, machine_id=story, **environment)
    records = [
        factory.make_record(
            suite="dummy",
            model=model,
            backend=backend,
            per_iter=[value * (1 + 0.001 * replica) for value in speed],
            status=status,
            replica=replica,
            run_id=run,
            label=run,
            timestamp=factory.RUN_START + int(number) * factory.DAY,
            environment=described,
            message="no memory" if status != "ok" else None,
        )
        for model, status in zip(("dummy", "dummy_nonzero"), statuses, strict=True)
        for backend in ("inductor", "openxla+dynamo")
        for replica in range(3)
    ]
    factory.write_run(home / "runs" / run, records)


GIVEN = {"args": [{"type": "tensor", "dtype": "float", "shape": [4, 4]}]}
[CASE] = expand({"torch.neg": {"input_data_generator": "PyTorch:DefaultDataGenerator", "config": [{"input": [GIVEN]}]}})


@pytest.fixture(scope="module")
def measured(factory, tmp_path_factory):
    """A home with the runs of all stories, and their index."""
    home = tmp_path_factory.mktemp("measured")
    (home / "venv" / "bin").mkdir(parents=True)
    venv = home / "venv" / "bin" / "python"
    venv.symlink_to(sys.executable)
    write_day(factory, home, "slower-1", FAST, torch="2.8.0")
    write_day(factory, home, "slower-2", SLOW, executable=str(venv))
    write_day(factory, home, "unsure-1", UNSURE, torch="2.8.0")
    write_day(factory, home, "unsure-2", FAST, executable=str(venv))
    write_day(factory, home, "gone-1", FAST, executable=GONE, name="side")
    write_day(factory, home, "gone-2", SLOW, name="side")
    write_day(factory, home, "same-1", FAST)
    write_day(factory, home, "same-2", SLOW)
    write_day(factory, home, "same-3", SLOW)
    write_day(factory, home, "failed-1", FAST, statuses=("ok", "oom"))
    operators = [
        factory.make_record(
            suite="operators", model=CASE.name, operator=CASE.operator, backend=backend, run_id="operators-1"
        )
        for backend in ("inductor", "openxla+dynamo", "eager")
    ]
    factory.write_run(home / "runs" / "operators-1", operators)
    op = FallbackOp(op="nonzero", klass="opt_in_lowering", calls_per_iteration=1.0, calls_compile=2)
    described = factory.make_environment(executable=sys.executable)
    falling = [
        factory.make_record(
            suite="dummy",
            model="dummy_nonzero",
            backend=backend,
            environment=described,
            fallback_ops=ops,
            run_id="falling-1",
        )
        for backend, ops in (("openxla+lazytensor", [op]), ("openxla+dynamo", []))
    ]
    factory.write_run(home / "runs" / "falling-1", falling)
    for folder in home.glob("runs/slower-*"):
        pack_results(folder)
    two = [
        factory.make_record(suite=suite, backend=backend, environment=factory.make_environment(name), run_id="two-1")
        for suite in ("dummy", "torchbench")
        for backend in ("inductor", "openxla+dynamo")
        for name in ("old", "new")
    ]
    factory.write_run(home / "runs" / "two-1", two)
    ingest([home / "runs"], home / "store")
    return home


@pytest.fixture
def home(measured, monkeypatch):
    """The home, in which no job is queued and nobody has said anything."""
    monkeypatch.setenv(settings.LOOPBACK_VARIABLE, "1")
    for name in (settings.STATE_VARIABLE, settings.HOME_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    before = set(measured.iterdir())
    yield measured
    for path in set(measured.iterdir()) - before:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture
def opened_page(monkeypatch, home):
    """Open a page of the home; a run is named, as there are several stories."""

    def make(page, unfolded=(), **query):
        return open_page(monkeypatch, home / "store", page, unfolded=unfolded, **query)

    return make


def between(opened_page, old, new):
    return opened_page("compare", run=[new], a=[old], b=[new])


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


def test_one_click_asks_for_both_sides_of_the_regressions(home, opened_page):
    """Also of runs whose results somebody has packed."""
    at = between(opened_page, "slower-1", "slower-2")
    assert "4 slower] (0 confirmed)" in text(at)
    assert not enabled(at, "confirm-slower"), "nobody has said who it is"
    at = signed(at, "confirm-name")
    assert at.button(key="confirm-slower").label == "Confirm 4 regressions"
    at.button(key="confirm-slower").click().run()
    assert not at.exception
    ((job, request),) = job_requests(home)
    assert isinstance(request, ConfirmRequest)
    assert (request.old, request.new, request.cells, request.run) == ("slower-1", "slower-2", "suspected", None)
    assert len(request.experiments) == 4
    assert request.accelerator == ("cpu",)
    assert (job.who, job.verified, job.state) == ("ann", False, "queued")
    assert at.button(key="confirm-slower").disabled, "a second click is no second job"
    assert "job 1 is queued" in at.button(key="confirm-slower").label
    assert any("Queued: job 1" in toast.value.replace("\\", "") for toast in at.toast)
    assert "**Job 1**" in text(at)


def test_all_ambiguous_cells_are_asked_for_by_one_click_both_sides_of_them(home, opened_page):
    at = signed(between(opened_page, "unsure-1", "unsure-2"), "confirm-name")
    assert at.button(key="confirm-ambiguous").label == "Measure all 4 ambiguous again"
    at.multiselect(key="backend").select("inductor").run()
    assert at.button(key="confirm-ambiguous").label == "Measure both ambiguous again"
    at.multiselect(key="backend").unselect("inductor").run()
    at.button(key="confirm-ambiguous").click().run()
    assert not at.exception
    ((_, request),) = job_requests(home)
    assert (request.old, request.new, request.cells) == ("unsure-1", "unsure-2", "all")
    assert len(request.experiments) == 4


def test_where_the_old_interpreter_is_gone_the_button_says_so(opened_page):
    at = signed(between(opened_page, "gone-1", "gone-2"), "confirm-name")
    assert not enabled(at, "confirm-slower")
    assert f"its interpreter {GONE} no longer exists" in at.button(key="confirm-slower").help
    assert GONE in text(at).replace("\\", ""), "it stands on the page, too, not in a tooltip alone"


def test_one_interpreter_on_two_days_confirms_nothing_so_it_is_not_offered(opened_page):
    """Nor does the slow side again, as slow as before and in as many processes: still a suspicion."""
    for newer in ("same-3", "same-2"):
        at = signed(between(opened_page, "same-1", newer), "confirm-name")
        assert "4 slower] (0 confirmed)" in text(at).replace("▼ ", "")
    assert not enabled(at, "confirm-slower")
    assert "differ only in date" in at.button(key="confirm-slower").help


def test_a_selected_row_is_measured_again_in_its_own_environment(monkeypatch, home):
    offered = []
    monkeypatch.setattr(rerun, "_choice", lambda _view, _run, cells, at_first, _key: offered.append((cells, at_first)))
    monkeypatch.setattr(rerun.st, "popover", lambda *_words, **_how: _Open())
    rows = data.rows(str(query.current_snapshot(home / "store")), "results", ViewSelection("two-1", "inductor"))
    rerun.offer(None, rerun.of_rows(rows), key="some", selected=rows.iloc[[0]])
    ((cells, at_first),) = offered
    assert [(cell.experiment_id, cell.environment) for cell in at_first] == [
        (rows.iloc[0]["experiment_id"], rows.iloc[0]["environment"])
    ]
    assert {cell.text.split()[0] for cell in cells} == {"dummy/resnet18", "torchbench/resnet18"}


@pytest.mark.parametrize(("page", "key"), first_of([("compile-time", "compile"), ("speedup", "speedup")]))
def test_the_chosen_results_of_a_table_are_asked_for_with_their_baseline(home, opened_page, page, key):
    """One result of page Model is one click; a run whose plan is gone says why it cannot be measured again."""
    at = opened(opened_page(page, run=["same-1"]), f"{key}-again")
    at.multiselect(key=f"{key}-results").set_value(["dummy eval openxla+dynamo"]).run()
    assert "**2 experiments** to measure" in text(at)
    at = signed(at, f"{key}-name")
    at.button(key=f"{key}-queue").click().run()
    assert not at.exception
    query = {"suite": ["dummy"], "model": ["dummy_nonzero"], "test": ["eval"], "result": ["openxla+dynamo"]}
    at = signed(opened_page("model", run=["same-1"], **query), "result-name")
    click_twice(at, at.button(key="again-result"))
    asked = job_requests(home)
    configs = [each.config for _, request in asked for each in request.plan.experiments]
    assert sorted((config["model_name"], config["dynamo"]) for config in configs) == [
        (model, dynamo) for model in ("dummy", "dummy_nonzero") for dynamo in ("inductor", "openxla")
    ]
    assert len(asked) == 2
    assert "again same-1" in [job.label for job, _ in asked]
    plan = home / "runs" / "same-1" / "run.json"
    try:
        plan.rename(home / "aside.json")
        at = opened(opened_page(page, run=["same-1"]), f"{key}-again")
    finally:
        (home / "aside.json").rename(plan)
    assert any("has no plan" in warning.value for warning in at.warning)


def test_an_operator_is_measured_again_as_the_same_call(home, opened_page):
    at = opened(opened_page("operators", run=["operators-1"]), "operators-again")
    at.multiselect(key="operators-results").set_value([f"{CASE.name} eval openxla+dynamo"])
    at = opened(at, "operators-again")
    at.text_input(key="operators-name").set_value("ann")
    at = opened(at, "operators-again")
    assert "**2 experiments** to measure" in text(at)
    at.button(key="operators-queue").click()
    at = opened(at, "operators-again")
    assert not at.exception
    ((_, request),) = job_requests(home)
    assert [each.config["operator"]["name"] for each in request.plan.experiments] == ["torch.neg"] * 2


def test_all_failed_are_chosen_by_one_word(home, opened_page):
    at = opened(opened_page("overview", unfolded=["findings"], run=["failed-1"]), "attention-again")
    at.pills(key="attention-kinds").set_value(["all failed (2)"])
    at = opened(at, "attention-again")
    at.text_input(key="attention-name").set_value("ann")
    at = opened(at, "attention-again")
    at.button(key="attention-queue").click()
    at = opened(at, "attention-again")
    ((_, request),) = job_requests(home)
    assert {each.config["model_name"] for each in request.plan.experiments} == {"dummy_nonzero"}
    assert len(request.plan.experiments) == 2


def test_the_payoff_of_an_op_is_asked_for_with_both_sides(home, opened_page):
    """Of the results that call it in steady iterations, as a confirmation is measured."""
    at = opened(opened_page("fallback-ops", run=["falling-1"], op="nonzero"), "measure-payoff")
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
