"""The label whose runs are offered: chosen, pinned by the server, named by a link; and what the boxes say of a run."""

import pytest

from dashboard import settings
from dashboard.view import filters
from store.ingest import ingest
from tests.dashboard.opened import open_page, text

LABELS = {"first": "nightly", "second": "trial"}


@pytest.fixture(scope="module")
def store(factory, tmp_path_factory):
    """A store of a nightly run and of a newer trial, of whose plan half is measured."""
    home = tmp_path_factory.mktemp("labels")
    for day, (run, label) in enumerate(LABELS.items()):
        at = factory.RUN_START + day * factory.DAY
        records = [
            factory.make_record(backend=backend, run_id=run, timestamp=at, label=label)
            for backend in ("inductor", "eager")
        ]
        missing = [factory.make_config(model="vgg16", backend=backend) for backend in ("inductor", "eager")]
        factory.write_run(home / "runs" / run, records, missing if label == "trial" else ())
    ingest([home / "runs"], home / "store")
    return home / "store"


def offered(at):
    return [each for each in at.selectbox(key="run").options if " · " in each]


def pins(at):
    return [each.label for each in at.button if each.key in ("pin-label", "unpin-label")]


def test_without_a_label_all_runs_are_offered_with_versions_and_extent(monkeypatch, store):
    at = open_page(monkeypatch, store)
    newest, oldest = offered(at)
    assert newest == "trial · 2025-10-10 08:53 UTC · torch 2.9.1 · 2 of 4 so far · second"
    assert oldest.endswith(" · torch 2.9.1 · 2 results · first")
    assert "of run **trial** (newest)" in text(at)


def test_the_server_pins_a_label_a_reader_takes_another_and_a_link_to_a_run_needs_none(monkeypatch, store, tmp_path):
    monkeypatch.setenv(settings.STATE_VARIABLE, str(tmp_path / "state.sqlite"))
    (tmp_path / "xlabench.toml").write_text('[dashboard]\nlabel = "nightly"\n')
    at = open_page(monkeypatch, store)
    assert "of run **nightly** (newest)" in text(at)
    assert len(offered(at)) == 1
    at.selectbox(key="labelled").select("trial").run()
    assert "of run **trial** (newest)" in text(at)
    assert "of run **trial** (newest)" in text(open_page(monkeypatch, store, run="second"))
    assert "of run **trial**" in text(open_page(monkeypatch, store, labelled="trial"))


def test_what_is_pinned_in_a_session_is_taken_off_again(monkeypatch, store):
    at = open_page(monkeypatch, store)
    assert pins(at) == []
    at.selectbox(key="labelled").select("nightly").run()
    assert pins(at) == ["Pin this label"]
    at.button(key="pin-label").click().run()
    assert pins(at) == ["Unpin nightly"]
    at.selectbox(key="labelled").select("trial").run()
    assert pins(at) == ["Pin this label"]
    at.selectbox(key="labelled").select(filters.ALL_LABELS).run()
    at.button(key="unpin-label").click().run()
    assert pins(at) == []


def test_a_label_that_no_run_has_is_named(monkeypatch, store):
    assert "**labelled** = “gone”" in text(open_page(monkeypatch, store, labelled="gone")).replace("\\", "")


def test_a_broken_settings_file_pins_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv(settings.STATE_VARIABLE, str(tmp_path / "state.sqlite"))
    (tmp_path / "xlabench.toml").write_text("[dashboard")
    assert filters._pinned(["nightly"]) is None


def test_a_text_of_a_run_that_had_fewer_results_still_names_it(monkeypatch, store):
    old = "trial · 2025-10-10 08:53 UTC · torch 2.9.1 · 1 of 4 so far · second"
    at = open_page(monkeypatch, store, run=old)
    assert "of run **trial**" in text(at)
    assert "is ignored" not in text(at)
