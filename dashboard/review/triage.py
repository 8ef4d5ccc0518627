"""What readers do about findings: they review them, and have both sides measured again to confirm them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import streamlit as st

from dashboard import access, jobs, settings
from dashboard.access import login
from dashboard.formatting import count, error_text, escape, shortened, when
from dashboard.jobs import planned, rerun
from dashboard.view import View
from runner.jobs import rerun as requests
from runner.jobs.request import ConfirmRequest
from store.compare import Cell, Side
from store.compare.cells import ALIKE
from store.errors import StateError, UsageError, all_of
from store.review import Review, ReviewFinding
from store.state import marks, reviews
from store.state.reviews import OPEN, STATES, Entry, ReviewStanding, State, Subject
from store.weekly.speed import NOT_CONFIRMED, SUSPECTED

STATE_WORDS: dict[State, str] = {
    "open": "○ open",
    "known": "● known",
    "expected": "● expected",
    "filed": "● filed as …",
    "wontfix": "● won't fix",
}
"""State of a finding → its sign and words."""


def entries() -> list[Entry]:
    """Return all reviews; where they cannot be read, return none and draw the error."""
    try:
        return reviews.listed(settings.state_path())
    except StateError as error:
        st.error(error_text(error), icon=":material/database_off:")
        return []


def word(standing: ReviewStanding) -> str:
    """Return the state as sign and words; a reference that is a URL is shortened to its last part."""
    if standing.state == "filed":
        return f"● filed as {str(standing.reference).rstrip('/').rpartition('/')[2]}"
    return STATE_WORDS[standing.state]


def reviewer() -> tuple[str, bool]:
    """Return the reviewer's name and whether a login verifies it; without a login, draw a box for the name."""
    if getattr(st.user, "is_logged_in", False):
        return login.known()
    st.text_input(
        "Your name",
        key=login.NAME,
        persist_state="session",
        max_chars=reviews.LONGEST_NAME,
        placeholder="needed once per session",
        help="There is no login, so the name is stored as unverified.",
    )
    return login.known()


def has_just_answered(standing: ReviewStanding, who: tuple[str, bool]) -> bool:
    """Tell whether this person reviewed the finding a moment ago."""
    newest = standing.entries[-1] if standing.entries else None
    return newest is not None and newest.who == who[0] and marks.now() - newest.created_at <= reviews.DOUBLE_CLICK


def save_answer(
    findings: Sequence[ReviewFinding],
    who: tuple[str, bool],
    *,
    state: State | None = None,
    reference: str | None = None,
    assignee: str | None = None,
    note: str | None = None,
) -> bool:
    """Store the same review of several findings; return whether it was stored, and draw the error if it was not."""
    decision = access.may("note")
    if not decision.allowed:
        st.error(error_text(decision.reason), icon=":material/lock:")
        return False
    name, verified = who
    now = marks.now()
    new_entries = [
        Entry(
            subject=finding.subject,
            what=finding.what,
            state=state,
            reference=reference or None,
            assignee=assignee,
            note=note or None,
            who=name,
            verified=verified,
            created_at=now,
        )
        for finding in findings
    ]
    try:
        reviews.add(settings.state_path(), new_entries)
    except (StateError, UsageError) as error:
        st.error(error_text(error), icon=":material/edit_off:")
        return False
    return True


_NOTE = "What you know about the cause"
_SAVED = "_saved_of"
"""Key of the session's state: token of a finding → how often the session has saved an answer to it."""


def show_form(review: Review, finding: ReviewFinding, standing: ReviewStanding) -> None:
    """Draw the state of the finding, and the form that changes it."""
    who = reviewer()
    alike = _same_cause(review, finding)
    # Without a key of its own, a box would keep what was typed when the next finding is shown.
    form_key = f"{finding.token}-{_saved()[finding.token]}"
    state_key = f"{form_key}-{len(standing.entries)}"  # a new review by others resets the box; a note being typed stays
    with st.form("say", border=False):
        state = st.radio(
            "State",
            STATES,
            index=STATES.index(standing.state),
            format_func=lambda state: STATE_WORDS[state],
            horizontal=True,
            key=f"say-state-{state_key}",
        )
        left, right = st.columns(2)
        filed = left.text_input(
            "Filed as", standing.reference or "", placeholder="#123 or an address", key=f"say-filed-{state_key}"
        )
        person = right.text_input(
            "Assignee", standing.assignee or "", placeholder="nobody", key=f"say-assignee-{state_key}"
        )
        note = st.text_area("Note", placeholder=standing.note or _NOTE, height=80, key=f"say-note-{form_key}")
        reach = _reach(alike, f"say-reach-{form_key}")
        if st.form_submit_button("Save", type="primary", icon=":material/edit_note:"):
            _save([finding, *(alike if reach else [])], who, standing, (state, filed, person, note))


def _saved() -> Counter[str]:
    counts: Counter[str] = st.session_state.setdefault(_SAVED, Counter())
    return counts


def _reach(alike: Sequence[ReviewFinding], key: str) -> bool:
    if not alike:
        return False
    return st.checkbox(
        f"Apply to the {count(len(alike), 'other finding')} with the same cause, too", value=False, key=key
    )


def _same_cause(review: Review, finding: ReviewFinding) -> list[ReviewFinding]:
    """Return the other findings of one cause: one bug often breaks many models, one op falls back in many places."""
    return [
        other
        for other in review.findings
        if other.subject != finding.subject
        and other.word == finding.word
        and (
            (finding.signature and other.signature == finding.signature)
            or (finding.op != "" and other.op == finding.op)
        )
    ]


def _save(
    findings: Sequence[ReviewFinding], who: tuple[str, bool], before: ReviewStanding, typed: tuple[State, str, str, str]
) -> None:
    state, filed, person, note = (text.strip() if isinstance(text, str) else text for text in typed)
    changed = state != before.state or (filed or None) != before.reference
    empty = not changed and not note and person == (before.assignee or "")
    if empty and has_just_answered(before, who):
        return  # the second half of a double click
    is_saved = save_answer(
        findings,
        who,
        state=state if changed else None,  # type: ignore[arg-type]
        reference=filed if state == "filed" else None,
        assignee=person if person != (before.assignee or "") else None,
        note=note,
    )
    if is_saved:
        _saved()[findings[0].token] += 1
        st.toast("Saved.", icon=":material/check:")
        st.rerun()


def show_history(finding: ReviewFinding, standings: Mapping[Subject, ReviewStanding]) -> None:
    """Draw the reviews of the finding, the newest first, and those of the same series in other runs."""
    own_entries = standings.get(finding.subject, OPEN).entries
    earlier_entries = [
        entry
        for subject, standing in standings.items()
        if (subject.series, subject.finding) == (finding.subject.series, finding.subject.finding)
        and subject.run_id != finding.subject.run_id
        for entry in standing.entries
    ]
    for title, entries in (("History", own_entries), ("Answers in other runs", earlier_entries)):
        if entries:
            lines = [f"- {_line(entry)}" for entry in sorted(entries, key=lambda answer: -answer.entry_id)]
            st.markdown(f"**{title}**\n" + "\n".join(lines))


def _line(entry: Entry) -> str:
    parts = []
    if entry.state:
        parts.append(f"filed as {escape(entry.reference)}" if entry.state == "filed" else str(entry.state))
    if entry.assignee is not None:
        parts.append(f"assigned to {escape(entry.assignee)}" if entry.assignee else "assigned to nobody")
    if entry.note:
        # Last and without quotes: the address of a link takes in what follows it.
        parts.append(f"note: {escape(entry.note)}")
    name = escape(entry.who) + ("" if entry.verified else " (unverified)")
    return f"{when(entry.created_at)}, {name}: {'; '.join(parts)}"


_ACCELERATOR = ALIKE.index("accelerator")


def confirm_bar(view: View, review: Review, findings: Sequence[ReviewFinding], ambiguous: Sequence[Cell]) -> None:
    """Draw the buttons that measure parts of the whole comparison again."""
    slower = [finding for finding in findings if finding.word == "slower" and finding.certainty == SUSPECTED]
    faster = [finding for finding in findings if finding.word == "faster" and finding.certainty == SUSPECTED]
    cells = _cells(review, findings)
    if not (slower or faster or ambiguous or cells):
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="confirm-bar"):
        if slower:
            _button(view, review, f"Confirm {count(len(slower), 'regression')}", slower, "confirm-slower", main=True)
        if faster:
            _button(view, review, f"Confirm {len(faster)} faster", faster, "confirm-faster")
        if ambiguous:
            _confirm_all(view, review, ambiguous)
        rerun.offer(view, cells, key="compare")
        access.ask_name("confirm-name")
    _why_not(view, review, _before(review, (*slower, *faster)) or ambiguous)


def confirm_one(view: View, review: Review, finding: ReviewFinding) -> None:
    """Draw the buttons that measure a finding again: both sides where its speed is unconfirmed, and side B alone."""
    if not finding.experiment_id or not finding.now:
        return
    with st.container(horizontal=True, key="confirm-it"):
        if finding.cell is not None and finding.certainty in (SUSPECTED, NOT_CONFIRMED):
            what = "Confirm it" if finding.certainty == SUSPECTED else "Confirm it again"
            _button(view, review, what, [finding], "confirm-one")
        rerun.one(view, _cell(review.new.run_id, finding), "Measure B again", key="again-one")


def _confirm_all(view: View, review: Review, ambiguous: Sequence[Cell]) -> None:
    """Draw the button that measures both sides of the ambiguous cells again, in turns."""
    label = f"Measure {all_of(len(ambiguous), 'ambiguous', 'ambiguous')} again"
    request = _request(review, "all", ambiguous)
    _confirm_button(view, review, label, request, ambiguous, "confirm-ambiguous", main=False)


def _button(
    view: View, review: Review, label: str, findings: Sequence[ReviewFinding], key: str, *, main: bool = False
) -> None:
    before = _before(review, findings)
    _confirm_button(view, review, label, _request(review, "suspected", before), before, key, main=main)


def _confirm_button(
    view: View, review: Review, label: str, request: ConfirmRequest, cells: Sequence[Cell], key: str, *, main: bool
) -> None:
    """Draw the button; where the sides cannot be measured that way, it is disabled and gives the reason."""
    why_not = obstacle(view, review, cells)
    if why_not is not None:
        st.button(label, key=key, icon=":material/compare_arrows:", disabled=True, help=escape(why_not))
        return
    name = f"confirm {shortened(review.old.text)} {shortened(review.new.text)}"
    jobs.button(label, request, name, key=key, icon=":material/compare_arrows:", main=main)


def _why_not(view: View, review: Review, cells: Sequence[Cell]) -> None:
    """Draw the reason why the buttons are disabled, once, below them."""
    decision = access.may_launch()
    reason = (obstacle(view, review, cells) if cells else None) or (None if decision.allowed else decision.reason)
    if reason and reason != access.NAMELESS:
        st.caption(f":material/lock: {error_text(reason)}")


def obstacle(view: View, review: Review, cells: Iterable[Cell]) -> str | None:
    """Return why both sides of these cells cannot be measured again as they were, or None."""
    files = [planned.run_file(view.snapshot, side.run_id) for side in (review.old, review.new)]
    for file in files:
        if isinstance(file, str):
            return file
    old, new = (file for file in files if not isinstance(file, str))
    pairs = [(cell.old_environment, cell.environment) for cell in cells]
    return requests.cannot_confirm((old, new), pairs, access.job_queue().home, same_code=not review.new.variant)


def _request(review: Review, which: str, cells: Sequence[Cell]) -> ConfirmRequest:
    old, new = review.old, review.new
    inside = None if review.across_runs else new.run_id
    both = (old.run_id, new.run_id) if inside is None else (_axis(old), _axis(new))
    return ConfirmRequest(
        old=both[0],
        new=both[1],
        run=inside,
        cells="all" if which == "all" else "suspected",
        experiments=tuple(dict.fromkeys(cell.experiment_id for cell in cells)),
        accelerator=tuple(dict.fromkeys(cell.alike[_ACCELERATOR] for cell in cells)),
    )


def _axis(side: Side) -> str:
    return side.environment or side.variant or side.text


def _before(review: Review, findings: Iterable[ReviewFinding]) -> list[Cell]:
    """Return the cells of the comparison that findings are about: a finding itself may show another run's evidence."""
    cells = {(cell.experiment_id, cell.environment): cell for cell in review.comparison.cells}
    keys = [(finding.experiment_id, finding.environment) for finding in findings]
    return [cells[key] for key in keys if key in cells]


def _cell(run: str, finding: ReviewFinding) -> rerun.RerunCell:
    kind = finding.word if finding.group == "speed" else rerun.FAILED
    text = f"{finding.model} {finding.test} {finding.variant}"
    return rerun.RerunCell(run, finding.experiment_id, finding.environment, text, frozenset({kind}))


def _cells(review: Review, findings: Sequence[ReviewFinding]) -> list[rerun.RerunCell]:
    """Return the cells of side B that may be worth another measurement."""
    run = review.new.run_id
    cells = [
        _cell(run, finding)
        for finding in (*findings, *review.still)
        if finding.experiment_id and finding.now and finding.group in ("speed", "failure") and not finding.good
    ]
    cells += [
        rerun.RerunCell(
            run,
            cell.experiment_id,
            cell.environment,
            f"{cell.model} {cell.test} {cell.variant}",
            frozenset({"ambiguous"}),
        )
        for cell in review.cells("ambiguous")
    ]
    return cells
