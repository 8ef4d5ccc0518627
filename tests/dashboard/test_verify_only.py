"""A run that was verified and not timed: pages say so, and list wrong answers only."""

from pathlib import Path

import pytest

from tests.dashboard.test_pages import open_page, tables, text


@pytest.fixture
def verified(factory, tmp_path):
    """Inductor verified only: right, wrong, raising; nothing was timed."""
    from store.ingest import ingest

    codes = {"resnet18": "PASS", "vgg16": "FAIL", "dcgan": "EXCEPTION_RAISED"}
    records = [
        factory.make_record(model=model, status="verify_only", per_iter=(), verification_code=code)
        for model, code in codes.items()
    ]
    factory.write_run(tmp_path / "runs" / "verified", records)
    ingest([tmp_path], tmp_path / "store")
    return Path(tmp_path / "store")


def test_overview_counts_them_apart_and_lists_what_is_wrong(monkeypatch, verified):
    at = open_page(monkeypatch, verified, unfolded=["numbers", "findings"])
    assert "3 results: **1 wrong answer** (vgg16 eval under inductor)" in text(at)
    assert "0 of 3 planned experiments ran, 3 verified only" in text(at)
    found = tables(at)[-1]
    assert list(zip(found["finding"], found["model"], found["why"], strict=True)) == [
        ("wrong answer", "vgg16", "differs from eager (FAIL)"),
        ("not verified", "dcgan", "the backend raised an exception (EXCEPTION_RAISED)"),
    ]
    counts = tables(at)[0].set_index("series").loc["inductor"]
    assert (counts["ran"], counts["verified"], counts["note"].split(", ")[-1]) == ("0/3", "1/3", "3 verified only")


def test_a_first_look_is_no_longer_unverified_once_a_later_run_has_verified_it(monkeypatch, factory, tmp_path):
    """The run that only verifies is not shown in its place."""
    from store.ingest import ingest

    later = {"run_id": "check", "timestamp": factory.RUN_START + 9, "status": "verify_only", "per_iter": ()}
    for run, how in (("look", {"run_id": "look"}), ("check", later | {"verification_code": "PASS"})):
        records = [factory.make_record(backend=backend, **how) for backend in ("inductor", "eager")]
        factory.write_run(tmp_path / "runs" / run, records)
        ingest([tmp_path / "runs"], tmp_path / "store")
        at = open_page(monkeypatch, tmp_path / "store", "model", model=["resnet18"])
        assert not at.exception
        assert ("none is verified" in text(at)) == (run == "look")
        assert set(tables(at)[0]["verification_code"]) == {"VERIFIER_SKIPPED" if run == "look" else "PASS"}
