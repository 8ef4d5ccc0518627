"""Programs of two runs side by side: aligned but for the compiler's numbers, folded where both are the same."""

import pytest

from dashboard.viewers.text import differences, side_by_side
from store.ingest import ingest
from store.record import Artifact, Graph
from tests.dashboard.opened import open_page, text

SAME = [f"  %add.{n} = f32[2] add(a, b)" for n in range(40)]
OLD = ["HloModule jit_f.1", *SAME, "  %dot.7 = f32[2] dot(a, <b>)", "  ROOT %end.9 = tuple()"]
NEW = ["HloModule jit_f.2", *SAME[:40], "  %conv.8 = f32[2] convolution(a, b)", "  ROOT %end.11 = tuple()"]


def test_texts_are_aligned_but_for_numbers_in_names():
    found = differences(OLD, NEW)
    assert [(block.same, len(block.a), len(block.b)) for block in found] == [
        (True, 41, 41),
        (False, 1, 1),
        (True, 1, 1),
    ]


def test_what_both_have_is_folded_and_a_line_stays_text():
    shown = side_by_side(differences(OLD, NEW))
    assert "<summary>38 lines are the same</summary>" in shown
    assert "-   %dot.7 = f32[2] dot(a, &lt;b&gt;)" in shown


def store_of_programs(factory, home):
    """Return a store of two runs of a model whose program changed, each with its dump."""
    for day, (name, content, op) in enumerate((("old", OLD, "dot"), ("new", NEW, "convolution"))):
        run = home / "runs" / name
        path = f"artifacts/x/hlo/module_000{day}.after_optimizations.txt"
        (run / path).parent.mkdir(parents=True)
        (run / path).write_text("\n".join(content))
        record = factory.make_record(
            run_id=f"run-{name}",
            timestamp=factory.RUN_START + day * factory.DAY,
            graphs=[Graph(kind="hlo_optimized", fingerprint=name, ops=42, op_histogram={"add": 40, op: 1})],
        )
        record.artifacts = [Artifact(kind="hlo", path=path, bytes=1)]
        factory.write_run(run, [record])
    ingest([home], home / "store")
    return home / "store"


@pytest.fixture
def store(factory, tmp_path):
    return store_of_programs(factory, tmp_path)


def test_a_row_of_programs_that_differ_opens_both_sides(monkeypatch, store):
    at = open_page(monkeypatch, store, "compare", a=["run-old"], b=["run-new"], unfolded=("part-programs",))
    assert not at.exception
    at.session_state["programs"] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    at.run()
    assert not at.exception
    assert "1 line of A became 1 of B" in text(at)
    [html] = [each.proto.body for each in at.get("html") if 'class="xl-diff"' in each.proto.body]
    assert "dot(a, &lt;b&gt;)" in html
    assert "convolution(a, b)" in html
