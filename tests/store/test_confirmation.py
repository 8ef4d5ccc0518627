"""Which cells are measured again, and what is said of them; a confirmation's records are no results."""

import json

import pytest

from store import query
from store.compare import Confirmation, compare_pairs, confirmation_report, resolve, to_confirm
from store.compare.sides import Side
from store.errors import UsageError
from store.ingest import ingest
from store.report import render
from tests.store.factory import make_environment, make_record, write_run
from tests.store.scenes import Scenes
from tests.store.test_compare import replicas

LATER = 1.8e9


@pytest.fixture(scope="module")
def suspected(ingested):
    """A store with two runs of different days: one model is slower, of the other 2 % prove nothing."""
    later = {"run_id": "b", "timestamp": LATER}
    snapshot = ingested(
        ([*replicas(run_id="a"), *replicas(run_id="a", model="alexnet")],),
        ([*replicas(1.5, **later), *replicas(1.02, model="alexnet", **later)],),
    )
    with query.connect(snapshot) as con:
        yield con, compare_pairs(con, [(Side(text="a", run_id="a"), Side(text="b", run_id="b"))])


SCENES = Scenes()
scene = SCENES.scene


def confirming_records(*factors, **changes):
    """Return the records of a confirming run: of each model (factor by name) in environments old and new."""
    return [
        record
        for model, factor in factors
        for name, by in (("old", 1.0), ("new", factor))
        for record in replicas(by, model=model, **of(name), **changes)
    ]


def of(name):
    return {"environment": make_environment(name=name), "purpose": "confirmation", "run_id": "conf"}


@pytest.fixture
def measured(scenes, run):
    """The comparison of a confirming run."""
    return compare_pairs(scenes, [named(run, "old", "new")])


def named(run, *environments):
    return tuple(Side(text=name.partition("-")[0], run_id=run, environment=name) for name in environments)


def rendered_report(found, cells, measured, form="json"):
    by_model = {cell.model: cell for cell in measured.cells} if measured else {}
    results = [
        Confirmation(before=cell, remeasured=by_model.get(cell.model), same_environment=measured is None)
        for cell in cells
    ]
    text = render(confirmation_report(found, results, measured), form)
    return json.loads(text) if form == "json" else text


def test_suspected_cells_are_measured_again_and_ambiguous_ones_where_all_are_asked_for(suspected):
    _, found = suspected
    words = {cell.model: cell.verdict.word for cell in found.cells}
    assert (words["resnet18"], words["alexnet"]) == ("slower", "ambiguous")
    assert [cell.model for cell in to_confirm(found, "suspected")] == ["resnet18"]
    assert [cell.model for cell in to_confirm(found, "all")] == ["alexnet", "resnet18"]


@scene(*replicas(environment=make_environment(name="a")), *replicas(0.5, environment=make_environment(name="b")))
def test_what_is_confirmed_already_is_left_alone(scenes, run):
    found = compare_pairs(scenes, [named(run, "a", "b")])
    assert found.of("faster")[0].verdict.confirmed
    assert to_confirm(found, "all") == ()
    told_again = rendered_report(found, (), None)
    assert told_again["title"] == "a → b: nothing is suspected (1 faster), so nothing was measured."
    assert told_again["notes"][0].startswith("1 difference was confirmed before")


@scene(*confirming_records(("resnet18", 1.5)))
def test_a_slower_side_is_confirmed_with_its_evidence(suspected, measured):
    _, found = suspected
    report = rendered_report(found, to_confirm(found, "suspected"), measured)
    assert report["title"] == "a → b: 1 suspected: 1 confirmed (slower 1), 0 not confirmed"
    titles = [column["title"] for column in report["tables"][0]["columns"]]
    (row,) = [dict(zip(titles, row, strict=True)) for row in report["tables"][0]["rows"]]
    assert (row["suspected"], row["verdict"], row["confirmed"], row["processes"]) == ("slower", "slower", "yes", 3)
    assert row["low"] < row["old / new"] < row["high"] < 1
    assert row["old / new"] == pytest.approx(1 / 1.5, rel=0.01)


@scene(*confirming_records(("resnet18", 1.0), ("alexnet", 1.0)))
def test_what_is_the_same_measured_side_by_side_is_not_confirmed(suspected, measured):
    _, found = suspected
    report = rendered_report(found, to_confirm(found, "all"), measured)
    assert report["title"] == "a → b: 1 suspected and 1 ambiguous: 0 confirmed, 2 not confirmed (same 2)"


@scene(*confirming_records(("resnet18", 0.5)))
def test_the_other_direction_confirms_no_suspicion(suspected, measured):
    _, found = suspected
    report = rendered_report(found, to_confirm(found, "suspected"), measured)
    assert report["title"] == "a → b: 1 suspected: 0 confirmed, 1 not confirmed (faster 1)"
    assert report["tables"][0]["rows"][0][-1].endswith("not in the direction that was suspected")


@scene(*confirming_records(("alexnet", 1.2)))
def test_an_ambiguous_cell_may_turn_out_to_differ(suspected, measured):
    _, found = suspected
    (cell,) = [cell for cell in to_confirm(found, "all") if cell.model == "alexnet"]
    assert (
        rendered_report(found, [cell], measured)["title"]
        == "a → b: 0 suspected and 1 ambiguous: 1 confirmed (slower 1), 0 not confirmed"
    )


@scene(*confirming_records(("resnet18", 1.5), processes=2))
def test_too_few_processes_confirm_nothing(suspected, measured):
    _, found = suspected
    report = rendered_report(found, to_confirm(found, "suspected"), measured)
    assert report["title"] == "a → b: 1 suspected: 0 confirmed, 1 not confirmed (slower 1)"


def test_equal_environments_are_said_to_be_not_reproducible(suspected):
    _, found = suspected
    text = rendered_report(found, to_confirm(found, "suspected"), None, "text")
    assert text.startswith("a → b: 1 suspected: 0 confirmed, 1 not confirmed (not reproducible 1)")
    assert "only the day differs" in text
    assert "1 ambiguous cell was not measured again" in text


@scene(*confirming_records(("resnet18", 1.5)))
def test_every_format_holds_the_verdict(suspected, measured):
    _, found = suspected
    for form in ("text", "csv", "json", "markdown"):
        text = rendered_report(found, to_confirm(found, "suspected"), measured, form)
        assert "resnet18" in str(text), form
        assert "above the noise floor" in str(text), form


def test_a_confirmation_is_no_result_and_no_newest_run(tmp_path):
    """Nor after a rebuild; but it can be named and looked at again."""
    confirming = [
        record
        for name in ("old", "new")
        for record in replicas(
            environment=make_environment(name=name),
            purpose="confirmation",
            run_id="conf",
            label="confirm",
            timestamp=2e9,
        )
    ]
    write_run(tmp_path / "a", replicas(run_id="run-a"))
    folder = write_run(tmp_path / "c", confirming)
    file = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**file, "settings": {"purpose": "confirmation"}}))
    for rebuild in (False, True):
        report = ingest([tmp_path], tmp_path / "store", rebuild=rebuild)
        with query.connect(report.snapshot) as con:
            assert [row["run_id"] for row in query.fetch(con, "SELECT run_id FROM runs")] == ["run-a"]
            assert {row["run_id"] for row in query.fetch(con, "SELECT run_id FROM results")} == {"run-a"}
            assert resolve(con, "latest").run_id == "run-a"
            named = resolve(con, "confirm")
            assert named.run_id == "conf"
            found = sides_of(con, named.run_id)
            assert [cell.verdict.word for cell in found.cells] == ["same"]
            assert found.cells[0].verdict.processes == 3
            with pytest.raises(UsageError, match="There is no previous run"):
                resolve(con, "previous")


def sides_of(con, run):
    return compare_pairs(con, [(resolve(con, "old", run), resolve(con, "new", run))])


@scene(*replicas(3.0, **of("old")), *replicas(**of("new")), *confirming_records(("resnet18", 1.0), attempt=2))
def test_of_a_confirmations_attempts_the_newest_counts(measured):
    (cell,) = measured.cells
    assert cell.verdict.word == "same"


@scene(*replicas(**of("old")), make_record(status="crashed", message="killed by signal 11", **of("new")))
def test_a_confirmation_that_failed_says_why(measured):
    (cell,) = measured.cells
    assert cell.verdict.word == "not comparable"
    assert cell.verdict.reason.startswith("new side: ")


@scene(
    *(
        record
        for name, by in (("old-a", 1.0), ("new-a", 1.0), ("old-b", 1.0), ("new-b", 2.0))
        for record in replicas(by, **of(name))
    )
)
def test_several_pairs_of_environments_are_judged_together(scenes, run):
    """Each cell keeps to its own pair: the second one's new side is slower, the first one's is not."""
    pairs = [named(run, f"old-{name}", f"new-{name}") for name in "ab"]
    found = compare_pairs(scenes, pairs)
    assert {cell.environment: cell.verdict.word for cell in found.cells} == {"new-a": "same", "new-b": "slower"}
    assert {cell.old_environment for cell in found.cells} == {"old-a", "old-b"}
    slower = next(cell for cell in found.cells if cell.verdict.word == "slower")
    alone = compare_pairs(scenes, pairs[1:]).cells[0]
    assert slower.verdict.q == pytest.approx(min(1.0, 2 * alone.verdict.q), rel=1e-6)
