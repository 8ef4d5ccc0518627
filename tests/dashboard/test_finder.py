"""What has a name is found, and a view that was saved is shown as it was."""

import pytest

from dashboard import settings
from dashboard.ui import frame
from store.errors import UsageError
from store.state import views
from tests.dashboard.opened import open_page

QUERY = "test=eval&backend=eager&backend=inductor&baseline=eager"


def saved(name="Monday", query=QUERY):
    return views.SavedView(name=name, page="", query=query, who="ann", created_at="2026-11-23 09:00:00")


def test_a_name_has_one_view_the_newest(tmp_path):
    state = tmp_path / "state.sqlite"
    assert views.listed(state) == []
    for query in ("test=train", QUERY):
        views.save(state, saved(query=query))
    views.save(state, saved("other"))
    assert [(view.name, view.query) for view in views.listed(state)] == [("Monday", QUERY), ("other", QUERY)]
    views.remove(state, "other")
    assert [view.name for view in views.listed(state)] == ["Monday"]


@pytest.mark.parametrize("name", ["", "  ", "n" * 61])
def test_a_view_needs_a_name_of_some_length(tmp_path, name):
    with pytest.raises(UsageError):
        views.save(tmp_path / "state.sqlite", saved(name))


def test_a_saved_view_sets_its_parameters_and_takes_all_others_off():
    params = frame.restored(QUERY)
    assert (params["backend"], params["test"], params["baseline"]) == (["eager", "inductor"], ["eval"], ["eager"])
    assert {name for name, value in params.items() if value is None} >= {"suite", "model", "only", "run", "rule"}


def test_a_saved_view_of_an_older_address_has_its_choices():
    params = frame.restored("section=train&chart=Break-even", "compile-time")
    assert (params["compile_section"], params["compile_chart"]) == (["train"], ["Break-even"])
    assert (params["section"], params["chart"]) == (None, None)


def test_the_box_finds_pages_views_models_ops_and_runs(monkeypatch, demo, tmp_path):
    monkeypatch.setenv(settings.STATE_VARIABLE, str(tmp_path / "state.sqlite"))
    views.save(tmp_path / "state.sqlite", saved())
    at = open_page(monkeypatch, demo, "overview", suite=["torchbench"])
    at.button(key="find-open").click().run()
    kinds = {option.partition(" · ")[0] for option in at.selectbox(key="find-what").options}
    assert kinds == {"Page", "View", "Model", "Op", "Run"}
    assert not at.exception


def test_the_box_finds_a_model_that_only_another_run_measured(monkeypatch, factory, ingested, tmp_path):
    models = {"older": "alexnet", "old": "alexnet", "new": "vgg16"}
    runs = {run: [factory.make_record(model=model, run_id=run)] for run, model in models.items()}
    at = open_page(monkeypatch, ingested(tmp_path, runs), "overview")
    at.button(key="find-open").click().run()
    found = [option for option in at.selectbox(key="find-what").options if option.startswith("Model")]
    assert found[0] == "Model · vgg16 · eval · torchbench"
    [elsewhere] = found[1:]
    assert elsewhere.startswith("Model · alexnet · eval · torchbench · in run nightly")
    assert elsewhere.endswith(" · old")
