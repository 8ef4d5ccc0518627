"""Whatever people, models and files are called, a page shows it as it is and fetches nothing for it."""

from pathlib import Path

import pandas as pd

from dashboard.formatting import escape
from dashboard.viewers.files import KINDS, _kinds
from tests.dashboard.markup import Rule
from tests.dashboard.opened import open_page, text
from tests.faults.fault_rows import add_row

ROOT = Path(__file__).resolve().parents[2]
OURS = {
    "dashboard/jobs/rerun.py": ["_groups(cells)", "label", "meaning"],
    "dashboard/ui/answers.py": [
        "change.backend.word",
        "first.get(word, f'has {escape(unknown)} against')",
        "named",
        "numbers",
        "over",
        "present",
    ],
    "dashboard/ui/downloads.py": ["sql"],
    "dashboard/ui/empty.py": ["selection.active()", "title", "what"],
    "dashboard/view/filters.py": ["help_text", "label", "word"],
    "dashboard/jobs/following.py": ["jobs.badge(job)"],
    "dashboard/ui/frame.py": [
        "FILTER_WORDS.get(name, 'Only')",
        "_origin(view, results, baseline=baseline)",
        "name(title, view, of_one_model=of_one_model, suite=suite).origin",
        "answers",
        "(view_doubts._replace(models=()) if chosen else view_doubts).line",
        "title",
    ],
    "dashboard/jobs/__init__.py": ["active.state", "help", "label"],
    "dashboard/view/links.py": ["label"],
    "dashboard/access/login.py": ["title"],
    "dashboard/jobs/planned.py": [
        "plan.lacking",
        "plan.missing_suites",
    ],
    "dashboard/jobs/recurring.py": ["badge(standing)", "label"],
    "dashboard/view/choosing.py": ["label", "options", "why_not"],
    "dashboard/screens/compare/other_findings.py": ["review.versions.rows", "title"],
    "dashboard/screens/compare/__init__.py": [
        "_compared(view, *chosen)",
        "_origin(view, review)",
        "_finding_count(word, numbers[word], sure[word])",
        "other_findings.counted(view, review, mentioned=() if bad else ('ambiguous',))",
        "name",
        "newest",
        "label",
        "_chosen_sides(view)",
    ],
    "dashboard/review/one_finding.py": [
        "_headline(finding)",
        "_numbers(finding)",
        "_ops(review, finding)",
        "finding.word",
        "verdicts",
    ],
    "dashboard/review/triage.py": [
        "label",
        "earlier_entries",
        "own_entries",
        "standings.get(finding.subject, OPEN).entries",
        "standing.entries",
    ],
    "dashboard/jobs/form.py": ["rerun.accelerators()"],
    "dashboard/jobs/one_job.py": [
        "jobs.badge(job)",
        "jobs.explained(job)",
        "jobs.next_step_for(job)",
        "Counter(((finding.word, finding.certainty) for finding in findings))",
        "_verdicts(shown, job.run_id, request)",
        "counted(outcomes, SUSPECTED)",
        "certainty",
        "verdicts_of_confirmation(shown, run, request)",
        "verdicts_of_run(shown, run)",
        "label",
        "verdicts",
        "verdicts.appearance_of(word).word",
        "word",
    ],
    "dashboard/viewers/ladder.py": ["sentences(part)"],
    "dashboard/review/attention.py": ["_named(part)"],
    "dashboard/screens/overview/__init__.py": ["_legend(board, rows)"],
    "dashboard/screens/overview/grids.py": ["shades"],
    "dashboard/screens/overview/costs.py": ["_title(moved, names, board.base_name)"],
    "dashboard/screens/trends/overall.py": ["metric(name).label"],
}
"""By file: what the rule cannot see through and somebody has looked at. A label or title is a constant of the callers,
the others are made of escaped parts. What is new here has to be looked at, too."""


def test_no_text_of_others_reaches_a_page_but_through_one_function():
    """Pass a new text through `dashboard.formatting.escape`; only what is made of constants may be added to `OURS`."""
    found = {(each.file, each.expression) for each in Rule(ROOT / "dashboard").found()}
    known = {(file, expression) for file, expressions in OURS.items() for expression in expressions}
    assert found - known == set()
    assert known - found == set(), "no longer needed"
    files_n = len(list((ROOT / "dashboard").rglob("*.py")))
    add_row("texts of users that bypass `escape`, looked for in the dashboard's files", files_n, "none")


def test_html_is_made_where_somebody_has_looked_at_its_escapes():
    """Add a file only where each text of others in its HTML goes through `html.escape`."""
    files = (ROOT / "dashboard").rglob("*.py")
    assert {str(file.relative_to(ROOT)) for file in files if ".html(" in file.read_text()} == {
        "dashboard/app.py",
        "dashboard/ui/downloads.py",
        "dashboard/ui/frame.py",
        "dashboard/review/one_finding.py",
        "dashboard/screens/overview/grids.py",
    }


def test_the_rule_finds_what_bypasses_it(tmp_path):
    package = tmp_path / "pages"
    package.mkdir()
    (package / "one.py").write_text(BAD)
    assert {each.expression for each in Rule(package).found()} == {
        "run.label",
        "row",
        "_plain(row)",
        "names",
        "view.text",
        "each.kind",
    }


BAD = """
import streamlit as st
from dashboard.formatting import count, escape

def show(run, row, view, names):
    st.subheader(f"Run {run.label}")
    st.caption(row["model"])
    st.markdown(_plain(row))
    for name in names:
        st.button(f"Open {name}")
    said = view.text
    st.info("it is " + said)
    st.title("Runs")
    st.write(f"{escape(run.label)} has {count(3, 'model')}, {run.ratio:.2f}")
    st.markdown(_escaped(row))
    st.code(run.label)
    st.pills("Which", list({each.kind: each for each in names}))
    st.selectbox("Which", names)

def _plain(row):
    return row.name

def _escaped(row):
    return f"**{escape(row.name)}**"
"""


def test_a_label_that_is_an_image_is_shown_as_text(monkeypatch, tmp_path, factory):
    from store.ingest import ingest

    record = factory.make_record(label=IMAGE, model=IMAGE)
    factory.write_run(tmp_path / "runs" / "one", [record])
    ingest([tmp_path / "runs"], tmp_path / "store")
    for page in ("overview", "runs"):
        shown = text(open_page(monkeypatch, tmp_path / "store", page))
        assert "evil" in shown, page
        assert IMAGE not in shown, page
    add_row("a label and a model name that are Markdown images, on a page", 2, "shown as text, nothing is fetched")


def test_a_kind_of_file_that_is_an_image_is_a_word_of_the_choice():
    assert _kinds(pd.DataFrame({"kind": ["hlo", IMAGE]})) == {KINDS["hlo"]: "hlo", escape(IMAGE): IMAGE}


IMAGE = "![](http://evil.example/pixel.png)"
