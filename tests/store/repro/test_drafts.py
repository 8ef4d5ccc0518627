"""Drafts: one per fault, true about their script, and never at the cost of what a person wrote."""

import re
from datetime import UTC, datetime

import pytest

from store.repro.fault import ScriptOutcome, draft, fenced, title, write_draft
from store.repro.find import drafts, faults


@pytest.fixture(scope="module")
def nonzero(con):
    return faults(con, op="nonzero")[0]


def proof(outcome="shown", minute=0, script="print('SHOWN: it')\n"):
    return ScriptOutcome(
        outcome=outcome,
        what="one call",
        script=script,
        output=f"{outcome} in minute {minute}",
        seconds=2.0,
        at=datetime(2026, 11, 21, 9, minute, tzinfo=UTC),
        versions="torch 2.9.1",
    )


def test_every_fault_has_a_draft_with_its_models_counts_and_first_run(found):
    for fault in found:
        text = draft(fault, None)
        assert text.startswith(f"# {title(fault)}\n")
        assert all(f"- `{model}`" in text for model in fault.models)
        assert f"First seen {fault.first_started:%Y-%m-%d %H:%M} UTC" in text
        assert fault.first_run_id in text
        assert f"xlabench repro --signature {fault.fault_id}" in text
        assert fault.record["reproduce"] in text


def test_a_wrong_answer_says_which_tensor_and_by_how_much(found):
    fault = next(each for each in found if each.model == "timm_models/resnet10t")
    text = draft(fault, None)
    assert "| first_failed | grad.conv1.6.weight |" in text
    assert f"| tolerance | {fault.record['verification']['tolerance']} |" in text


def test_a_failure_of_eager_too_puts_the_compiler_in_doubt(found):
    fault = next(each for each in found if each.signature == "a change of this week broke <model>")
    assert "Eager ends in the same way" in draft(fault, None)


def test_a_script_that_shows_the_fault_stands_in_the_draft(nonzero):
    text = draft(nonzero, proof())
    assert "shows the fault" in text
    assert "```python\nprint('SHOWN: it')\n```" in text


@pytest.mark.parametrize(("outcome", "words"), [("not shown", "did not show it"), ("could not run", "could not run")])
def test_one_that_does_not_is_never_presented(nonzero, tmp_path, outcome, words):
    place, script = write_draft(tmp_path, nonzero, proof(outcome))
    text = place.read_text()
    assert words in text
    assert "No script shows the fault" in text
    assert "print('SHOWN: it')" not in text
    assert script.name.endswith(".attempt.py")


def test_a_fault_has_one_draft_that_is_brought_up(nonzero, tmp_path):
    first, _ = write_draft(tmp_path, nonzero, proof("not shown", 1))
    second, script = write_draft(tmp_path, nonzero, proof("shown", 2))
    assert first == second
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([first.name, script.name])
    runs = re.findall(r"^- 2026-.*$", first.read_text(), re.MULTILINE)
    assert ["09:02" in runs[0], "09:01" in runs[1]] == [True, True]
    assert "in minute 1" not in first.read_text()


def test_what_people_wrote_under_links_stays(nonzero, tmp_path):
    place, _ = write_draft(tmp_path, nonzero, proof())
    links = "- Issue: https://example.org/1\n- Fix: pending\n\n## A heading of ours\n\nwith words"
    place.write_text(place.read_text().replace("- Issue:\n- Fix:\n- Notes:", links))
    for minute in (1, 2):
        write_draft(tmp_path, nonzero, proof("shown", minute))
    assert place.read_text().count(links) == 1


def test_a_draft_is_found_by_its_id_when_its_words_change(nonzero, tmp_path):
    place, _ = write_draft(tmp_path, nonzero, proof())
    renamed = place.rename(tmp_path / f"my-words-{nonzero.fault_id}.md")
    again, script = write_draft(tmp_path, nonzero, proof())
    assert again == renamed
    assert script == renamed.with_suffix(".py")


def test_no_line_of_a_text_ends_its_block():
    text = "a\n```\nb\n`````\nc"
    assert fenced(text).splitlines()[0] == "``````"
    assert fenced(text).splitlines()[-1] == "``````"


def test_asking_without_running_gives_what_lies_in_the_folder(con, nonzero, tmp_path):
    assert "No script has been run for this draft" in drafts(con, tmp_path, op="nonzero")
    write_draft(tmp_path, nonzero, proof())
    assert "print('SHOWN: it')" in drafts(con, tmp_path, op="nonzero")
    both = drafts(con, tmp_path, record=nonzero.record_id)
    assert "# [PyTorch/XLA] `aten::nonzero` is not lowered" in both
