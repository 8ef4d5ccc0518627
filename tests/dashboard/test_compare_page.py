"""Compare: what differs between two sides, the same as xlabench compare says, and what people say of it."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dashboard import settings
from dashboard.access import login
from dashboard.review import board, triage
from dashboard.ui import widths
from dashboard.view import ViewSelection
from store import query
from store.compare import compare, resolve
from store.ingest import ingest
from store.record import Graph
from store.review import review
from store.state import reviews
from tests.dashboard.opened import click_twice, copyable, open_page, tables, text
from tests.store import weekly_runs
from tests.store.weekly_runs import BETWEEN, HOSTILE, LAST, NOW
from tests.tiers import first_of

LISTED = "nightly · 2025-10-09 08:53 UTC · torch 2.8.0 · 48 results · last-run"
"""The first run as the box has it: a test that clicks on needs a value of the list."""


@pytest.fixture(scope="module")
def weeks(tmp_path_factory):
    home = tmp_path_factory.mktemp("weeks")
    weekly_runs.write_weeks(home)
    weekly_runs.confirming(home)
    ingest([home], home / "store")
    return home / "store"


@pytest.fixture
def opened(monkeypatch, weeks, tmp_path):
    """Open the page; what is typed goes to a file of the test's own."""
    monkeypatch.delenv(settings.HOME_VARIABLE, raising=False)
    monkeypatch.setenv(settings.STATE_VARIABLE, str(tmp_path / "state.sqlite"))

    def make(**params):
        at = open_page(monkeypatch, weeks, "compare", **{name: [value] for name, value in params.items()})
        assert not at.exception
        return at

    return make


@pytest.fixture(scope="module")
def shown(weeks, tmp_path_factory):
    """Return the page of the first and the last run, drawn once for the tests that only read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(settings.STATE_VARIABLE, str(tmp_path_factory.mktemp("state") / "state.sqlite"))
        at = open_page(patch, weeks, "compare", a=[LAST], b=[NOW])
    assert not at.exception
    return at


NAMES = ["<script>alert(1)</script> [x](javascript:y) $a$ **b**", "\N{ROCKET} " + "long" * 50]
LABEL = "<img src=x onerror=alert(1)> `night`"


def _pairs(factory):
    """Return label → the facts of the results of its runs, a day after each other."""
    environment = factory.make_environment
    pins = (
        {"transformers": "4.56.0", "torchbench_commit": "a" * 40},
        {"transformers": "4.57.1", "torchbench_commit": "b" * 40},
    )
    outcomes = ((0.010, {}), (0.020, {"status": "crashed", "message": NAMES[0]}))
    sides = (("old", 0.010, 20), ("new", 0.020, 25))
    return {
        "pins": [[{"environment": environment(**packages)}] for packages in pins],
        "threads": [[{"environment": environment(threads=threads)}] for threads in (4, 8)],
        "of another label": [[{"model": model}] for model in ("resnet18", "resnet50")],
        "planned": [[{"model": model} for model in models] for models in (("alexnet", "vgg16"),) * 2 + (("alexnet",),)],
        "sides": [
            [
                {
                    "environment": environment(name, torch=name),
                    "replica": replica,
                    "per_iter": [seconds * (1 + 0.001 * replica)] * 8,
                    "graphs": [Graph(kind="fx", fingerprint=name, ops=ops, op_histogram={"conv": ops}, fusions=None)],
                }
                for name, seconds, ops in sides
                for replica in range(3)
            ]
        ],
        LABEL: [
            [
                *({"model": NAMES[0], "replica": replica, "per_iter": [seconds] * 8} for replica in range(3)),
                {"model": NAMES[1], **outcome},
            ]
            for seconds, outcome in outcomes
        ],
    }


@pytest.fixture
def newest_of(monkeypatch, factory, pairs):
    """Open the page at the newest run of a label."""

    def make(label, **params):
        at = open_page(monkeypatch, pairs[0], "compare", run=[pairs[1][label]], **params)
        assert not at.exception
        return at

    return make


@pytest.fixture(scope="module")
def pairs(factory, tmp_path_factory):
    """A store of pairs of runs that differ in one thing, and label → the newest run of it."""
    home, newest = tmp_path_factory.mktemp("pairs"), {}
    for place, (label, runs) in enumerate(_pairs(factory).items()):
        for day, results in enumerate(runs):
            run, at = f"run-{place}-{day}", factory.RUN_START + (10 * place + day) * factory.DAY
            records = [factory.make_record(run_id=run, label=label, timestamp=at, **facts) for facts in results]
            factory.write_run(home / "runs" / run, records)
            newest[label] = run
    ingest([home], home / "store")
    return home / "store", newest


def test_a_side_that_a_link_gives_by_id_stands_there_as_the_list_names_it(opened):
    at = opened(a=LAST, b=BETWEEN)
    assert at.selectbox(key="a").value == LISTED
    assert at.selectbox(key="b").value.startswith("nightly · 2025-10-13 08:53 UTC · torch 2.")


def test_the_answer_comes_first_with_what_is_sure(shown):
    words = text(shown)
    assert "4 newly failing](2 confirmed)" in words.replace("] (", "](")
    assert "1 slower](1 confirmed)" in words.replace("] (", "](")
    assert "4 new fallback ops" in words
    assert "2 newly passing" in words
    assert "Without a finding: " in words
    assert "47 experiments of run **nightly** (newest) of " in words


def test_where_nothing_is_worse_the_answer_has_what_became_better(opened, weeks):
    with query.connect(query.current_snapshot(weeks)) as con:
        [faster] = compare(con, resolve(con, LAST), resolve(con, NOW)).of("faster")
    at = opened(a=LAST, b=NOW, model=faster.model, backend=faster.variant, test=faster.test)
    [first] = [line.value for line in at.markdown if line.value.startswith("#### ")]
    assert re.match("#### Nothing (got|is shown to be) worse.*; :green\\[▲ 1 faster\\] \\(0 confirmed\\)", first)


def test_findings_are_those_of_the_command(shown, weeks):
    with query.connect(query.current_snapshot(weeks)) as con:
        found = compare(con, resolve(con, LAST), resolve(con, NOW))
    rows = tables(shown)[0]
    [faster] = found.of("faster")
    [row] = rows[rows["finding"] == "▲ faster"].to_dict("records")
    assert (row["model"], row["variant"]) == (faster.model, faster.variant)
    assert row["ratio"] == faster.verdict.ratio
    assert row["old_s"] == pytest.approx(faster.old_s * 1000)
    assert row["certainty"] == "suspected"


def test_a_confirming_run_makes_a_suspicion_sure_and_gives_its_numbers(shown):
    rows = tables(shown)[0].set_index("finding")
    assert rows.loc["▼ slower", "certainty"] == "confirmed"
    assert rows.loc["▼ slower", "lost_s"] == pytest.approx(2.8, rel=0.01)


def test_time_lost_orders_where_it_is_asked_for(opened, shown):
    assert tables(shown)[0]["finding"].iloc[0] == "✖ newly failing"
    assert tables(opened(a=LAST, b=NOW, by="By time lost"))[0]["finding"].iloc[0] == "▼ slower"


def test_groups_and_filters_narrow_the_findings(opened):
    rows = tables(opened(a=LAST, b=NOW, findings="Fallback ops"))[0]
    assert set(rows["finding"]) == {"✚ new fallback op", "✔ fallback op gone"}
    rows = tables(opened(a=LAST, b=NOW, model="dcgan", backend="openxla+lazytensor", test="eval"))[0]
    assert list(rows["finding"]) == ["✖ newly failing", "✚ new fallback op", "✔ fallback op gone"][: len(rows)]
    assert "1 newly failing" in text(opened(a=LAST, b=NOW, model="dcgan", test="eval"))


def test_without_a_choice_the_shown_run_is_compared_with_the_one_before(opened):
    at = opened()
    assert "against nightly of 2025-10-13 " in text(at)
    assert f"--since {BETWEEN} --home {settings.home()}" in copyable(at)[-1]


def test_the_verdict_is_before_the_boxes_of_both_sides(shown):
    drawn = list(shown.main)
    verdict = next(place for place, each in enumerate(drawn) if str(getattr(each, "value", "")).startswith("#### "))
    assert verdict < drawn.index(shown.selectbox(key="a"))


def test_the_reason_of_a_change_has_no_words_that_every_change_has():
    reason = "the interval excludes 1, and the difference is above the noise floor of 2.6% (q = 0.01)"
    assert board.worded(reason) == "the difference is above the noise floor of 2.6% (q = 0.01)"
    assert board.worded("oom (warmup): no memory") == "out of memory (warmup): no memory"


def test_versions_link_to_the_commits_between(shown):
    words = text(shown)
    assert "https://github.com/pytorch/pytorch/compare/v2.8.0...v2.9.1" in words
    assert "https://github.com/pytorch/xla/compare/aaaaaaaaaaaa...bbbbbbbbbbbb" in words


def test_versions_of_model_packages_link_to_their_commits_too(newest_of):
    words = text(newest_of("pins"))
    assert "https://github.com/huggingface/transformers/compare/v4.56.0...v4.57.1" in words
    assert f"https://github.com/pytorch/benchmark/compare/{'a' * 12}...{'b' * 12}" in words


def unfolded(at, part):
    """Open a folded part as a click does; return the tables that the page has more by it."""
    before = len(tables(at))
    at.session_state[part] = True
    found = tables(at.run())
    assert not at.exception
    assert len(found) > before, f"{part} is folded until somebody opens it"
    return found


def test_ambiguous_cells_are_counted_and_folded_away(opened, weeks):
    with query.connect(query.current_snapshot(weeks)) as con:
        cells = review(con, resolve(con, LAST), resolve(con, NOW)).cells("ambiguous")
    at = opened(a=LAST, b=NOW)
    assert f"{len(cells)} ambiguous" in text(at)
    assert f"shown ({len(cells)})" in " ".join(part.label for part in at.expander)
    listed = next(each for each in unfolded(at, "part-ambiguous") if "needed" in each or "floor" in each)
    assert sorted(listed["model"]) == sorted(cell.model for cell in cells)


def test_what_cannot_be_compared_names_the_field_that_differs(newest_of):
    at = newest_of("threads")
    assert "1 not comparable" in text(at)
    listed = next(each for each in unfolded(at, "part-not-comparable") if "differs" in each)
    assert list(listed["differs"]) == ["threads: 4 → 8"]


def test_what_the_newest_run_no_longer_plans_is_listed_as_dropped(newest_of):
    listed = next(each for each in unfolded(newest_of("planned"), "part-dropped") if "missing_n" in each)
    assert listed[["model", "missing_n"]].to_numpy().tolist() == [["vgg16", 1]]


def test_a_change_of_a_speedup_says_whose_doing_it_is(opened, weeks):
    with query.connect(query.current_snapshot(weeks)) as con:
        table = compare(con, resolve(con, LAST), resolve(con, NOW)).speedup_changes
    at = opened(a=LAST, b=NOW)
    assert f"{table.title} ({len(table.rows)})" in [part.label.replace("\\", "") for part in at.expander]
    assert len(unfolded(at, "part-table-0")[-1]) == len(table.rows)


@pytest.mark.parametrize(
    ("sides", "sentence"),
    first_of(
        [
            ({"a": "'; DROP TABLE x", "b": "<script>"}, "is not a run, environment or backend"),
            ({"b": LAST}, "nothing was measured on this machine before"),
            ({"a": "inductor", "b": NOW}, "of different kinds"),
            ({"a": NOW, "b": NOW}, "are the same"),
            ({"a": "gone"}, "is not a run, environment or backend"),
        ],
        2,
    ),
)
def test_sides_that_cannot_be_compared_are_explained(opened, sides, sentence):
    at = opened(**sides)
    assert sentence in at.info[0].value
    assert "<script>" not in text(at)
    assert [title.value for title in at.title] == ["Compare"]


def test_two_backends_of_the_shown_run_are_compared(opened):
    at = opened(a="inductor", b="openxla+dynamo")
    assert "with A inductor and B openxla\\+dynamo" in text(at)
    assert "slower" in text(at)


def test_two_environments_of_a_run_are_compared_with_their_programs(newest_of):
    words = text(newest_of("sides", a=["old"], b=["new"], review=["true"])).replace("\\", "")
    assert "1 slower" in words
    assert "fx: ops 20 → 25; ops: conv 20 → 25" in words


def test_what_else_changed_there_stands_beside_a_change_of_speed(opened):
    words = text(opened(a=LISTED, review="true", findings="Faster"))
    assert "graph breaks 0 → 2" in words
    assert "fx: ops 100 → 90" in words
    words = text(opened(a=LISTED, review="true", findings="Slower"))
    assert "new fallback op]: nonzero" in words


def test_hostile_names_stay_text(newest_of):
    """A model of two runs is slower and another fails; their names, label and message try to be markup."""
    for params in ({"review": ["true"], "findings": ["Slower"]}, {}):
        at = newest_of(LABEL, **params)
        assert [mark for mark in ("<script>", "<img", "](javascript") if mark in text(at).replace("\\<", "")] == []
    assert list(tables(at)[0]["finding"]) == ["✖ newly failing", "▼ slower"]


def test_markup_of_messages_stays_text(opened):
    at = opened(a=LISTED, review="true")
    assert "<b>room" not in text(at)
    assert any(HOSTILE.split("\n", maxsplit=1)[0] in block for block in copyable(at))


def say(at, **typed):
    """Fill the form of the finding that is shown, and save."""
    at.text_input(key="reviewer").set_value(typed.pop("who", "ann"))
    for label, value in typed.items():
        [widget] = [
            each for each in (*at.radio, *at.text_input, *at.text_area) if each.label == label.replace("_", " ")
        ]
        widget.set_value(value)
    [save] = [button for button in at.button if button.label == "Save"]
    return save.click().run()


def key_button(at, begins):
    """Return the button whose key begins so; it ends with the finding that it means."""
    [found] = [button for button in at.button if str(button.key).startswith(begins)]
    return found


def test_a_link_opens_its_finding_and_the_table_has_it_selected(opened, shown, weeks):
    row = tables(shown)[0].iloc[2]
    assert "finding" not in shown.query_params
    with query.connect(query.current_snapshot(weeks)) as con:
        found = review(con, resolve(con, LAST), resolve(con, NOW)).findings
    [token] = {
        each.token
        for each in found
        if (each.model, each.test, each.variant) == tuple(row[["model", "test", "variant"]])
    }
    at = opened(a=LAST, b=NOW, finding=token)
    [headline] = [words.value for words in at.markdown if words.value.startswith("##### ")]
    assert f"{row['model']} {row['test']}" in headline.replace("\\", "")
    assert at.query_params["finding"] == token


def test_a_link_to_a_finding_that_is_not_there_says_so(opened):
    at = opened(a=LAST, b=NOW, finding="0000000000")
    assert "does not contain the finding of the link" in at.warning[0].value
    assert "finding" not in at.query_params


def test_every_statement_behind_the_table_runs_and_gives_the_times_of_the_cells(weeks):
    with query.connect(query.current_snapshot(weeks)) as con:
        found = review(con, resolve(con, LAST), resolve(con, NOW))
        view = SimpleNamespace(selection=ViewSelection(run_id=NOW, baseline="inductor"))
        made = board.behind(view, found)
        given = {what: query.select(con, sql) for what, sql in made.items()}
    [cell] = found.comparison.of("faster")
    rounds = given["Rounds of the processes of B"]
    mine = rounds[rounds["experiment_id"] == cell.experiment_id]
    assert np.median([np.median(each) for each in mine["rounds_s"]]) == pytest.approx(cell.new_s)
    assert len(given) == 8


def test_what_is_said_is_kept_with_name_and_time(opened, tmp_path):
    at = say(opened(a=LISTED, review="true"), State="filed", Filed_as="#7", Assignee="bob", Note="<i>a</i> driver")
    assert not at.exception
    [entry] = reviews.listed(tmp_path / "state.sqlite")
    assert (entry.who, entry.verified, entry.state, entry.reference) == ("ann", False, "filed", "#7")
    assert (entry.assignee, entry.note, entry.subject.run_id) == ("bob", "<i>a</i> driver", NOW)
    assert entry.what == "newly failing: torchbench resnet50 eval openxla+dynamo on Example CPU"
    words = text(at)
    said = f"{entry.created_at:%Y-%m-%d %H:%M} UTC, ann (unverified)"
    assert f"{said}: filed as \\#7; assigned to bob; note: \\<i\\>a\\</i\\> driver" in words
    row = tables(opened(a=LAST, b=NOW))[0].iloc[0]
    assert (row["state"], row["assignee"], row["note"]) == ("● filed as #7", "bob", "<i>a</i> driver")


def test_a_table_with_notes_fits_and_cuts_neither_names_nor_notes(opened):
    say(opened(a=LISTED, review="true"), State="filed", Filed_as="#7", Assignee="bob", Note="a long word " * 30)
    table = opened(a=LAST, b=NOW).dataframe[0].proto
    px = {name: json.loads(table.columns)[name]["width"] for name in table.column_order}
    assert sum(px.values()) <= widths.PAGE_PX
    assert min(px["model"], px["note"]) >= 150
    assert "why" not in px, "the finding itself has the reason"


def test_an_address_in_a_note_ends_where_its_line_ends_and_a_saved_note_leaves_an_empty_box(opened):
    """The browser makes a link of an address up to the next blank: a quotation mark behind it would belong to it."""
    at = opened(a=LISTED, review="true")
    box = note(at).proto.id
    words = text(say(at, Note="see https://example.com/1"))
    assert words.partition("note: see https\\://example\\.com/1")[2].startswith("\n")
    assert note(at).proto.id != box
    assert not note(at).value


def test_one_cause_of_several_findings_is_settled_at_once(opened, tmp_path):
    at = opened(a=LISTED, review="true")
    [also] = at.checkbox
    assert "1 other finding" in also.label
    also.check()
    say(at, State="known")
    assert {entry.what.split()[4] for entry in reviews.listed(tmp_path / "state.sqlite")} == {"eval", "train"}
    assert len(reviews.listed(tmp_path / "state.sqlite")) == 2


def note(at):
    [found] = [each for each in at.text_area if each.label == "Note"]
    return found


def test_a_typed_note_is_of_its_finding_and_survives_what_others_say(opened):
    """A browser keeps what is typed and not yet sent by the identity of the box."""
    at = opened(a=LISTED, review="true")
    box = note(at).proto.id
    say(opened(a=LISTED, review="true"), who="bob", Note="known since May")
    at.run()
    assert note(at).placeholder == "known since May"
    assert note(at).proto.id == box
    at.button(key="review-next").click().run()
    assert note(at).proto.id != box
    at.button(key="review-back").click().run()
    assert note(at).proto.id == box


def test_a_box_that_vanished_takes_no_name_away(opened, tmp_path):
    """A browser that is slower than the pages still sends the box for the launcher's name after one was given."""
    at = opened(a=LISTED, review="true")
    vanished = at.text_input(key="confirm-name")._widget_state
    at.text_input(key="reviewer").set_value("ann").run()
    assert "confirm-name" not in {box.key for box in at.text_input}
    late = at._tree.get_widget_states()
    late.widgets.append(vanished)
    at._run(late)
    assert at.session_state["reviewer"] == "ann"
    key_button(at, "review-known").click().run()
    assert [entry.who for entry in reviews.listed(tmp_path / "state.sqlite")] == ["ann"]


def test_without_a_name_nothing_is_kept_and_a_form_sent_twice_says_it_once(opened, tmp_path):
    at = say(opened(a=LISTED, review="true"), who=" ", State="known")
    assert "name is missing" in at.error[0].value
    assert reviews.listed(tmp_path / "state.sqlite") == []
    for _ in range(2):
        say(at, State="known")
        assert not at.error
        assert len(reviews.listed(tmp_path / "state.sqlite")) == 1


def test_review_mode_steps_through_what_is_open(opened, shown, tmp_path):
    at = opened(a=LISTED, review="true")
    total = len(tables(shown)[0])
    headline = [words.value for words in at.markdown if words.value.startswith("##### ")]
    assert "resnet50 eval" in headline[0]
    at.text_input(key="reviewer").set_value("ann").run()
    click_twice(at, key_button(at, "review-known"))
    headline = [words.value for words in at.markdown if words.value.startswith("##### ")]
    assert "resnet50 train" in headline[0]
    at.button(key="review-next").click().run()
    at.button(key="review-back").click().run()
    headline = [words.value for words in at.markdown if words.value.startswith("##### ")]
    assert "resnet50 train" in headline[0]
    assert len(reviews.listed(tmp_path / "state.sqlite")) == 1
    assert len(tables(opened(a=LAST, b=NOW, open="true"))[0]) == total - 1


def test_a_login_gives_the_name(monkeypatch):
    class User(dict):
        is_logged_in = True

    monkeypatch.setattr(triage.st, "user", User(email="ann@example.org"))
    assert login.known() == triage.reviewer() == ("ann@example.org", True)


def test_the_end_of_a_review_is_said(opened):
    at = opened(a=LISTED, review="true", findings="Faster")
    at.text_input(key="reviewer").set_value("ann").run()
    key_button(at, "review-wontfix").click().run()
    assert "All 1 finding are settled" in at.success[0].value


def test_a_broken_state_file_is_said_and_the_page_stands(opened, tmp_path):
    (tmp_path / "state.sqlite").write_text("no database " * 1000)
    at = opened(a=LAST, b=NOW)
    assert "cannot be used" in at.error[0].value
    assert len(tables(at)[0])


def test_the_suite_is_shown_where_two_models_have_one_name():
    def hidden(models):
        rows = [dict.fromkeys(board.COLUMNS) | {"model": model, "suite": suite} for model, suite in models]
        return board._columns(pd.DataFrame(rows))["suite"].hidden

    assert hidden([("alexnet", "torchbench"), ("vgg16", "timm_models")])
    assert not hidden([("alexnet", "torchbench"), ("alexnet", "timm_models")])
