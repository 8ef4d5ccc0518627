"""One finding: its evidence, what else changed there (the why), and what people say of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import access, data, jobs, links, planned, rerun, verdicts
from dashboard.rows import each
from dashboard.screens.compare import board, other_findings, programs, sides, triage
from dashboard.words import count, escape, interval, listed, ratio, seconds, shortened, when
from runner.jobs import rerun as requests
from runner.jobs.request import ConfirmRequest
from store.compare.cells import ALIKE
from store.state.reviews import OPEN, STATES, ReviewStanding, State, Subject
from store.weekly.speed import NOT_CONFIRMED, SUSPECTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dashboard.view import View
    from store.compare import Cell, Side
    from store.review import Review, ReviewFinding
    from store.state.reviews import Entry


_NOTE = "What you found out"
_SAVED = "_saved_of"
"""Key of the session's state: token of a finding → how often the session has saved an answer to it."""


def show(view: View, found: Review, finding: ReviewFinding, said: Mapping[Subject, ReviewStanding]) -> None:
    """Draw the finding on the left, what is said of it on the right."""
    with st.container(border=True, key="finding"):
        st.markdown(f"##### {_headline(finding)}")
        left, right = st.columns([3, 2], gap="large")
        with left:
            _evidence(finding)
            _why(view, found, finding)
            board.draw_history(view, finding)
            confirm_one(view, found, finding)
            _ways(view, found, finding)
        with right:
            _speak(found, finding, said.get(finding.subject, OPEN))
            _history(finding, said)


def _headline(finding: ReviewFinding) -> str:
    sure = f" ({finding.certainty})" if finding.word in ("slower", "faster", "newly failing") else ""
    of = escape(" ".join((finding.op or finding.model, finding.test, finding.variant)))
    where = escape(" · ".join(filter(None, (finding.suite, finding.place or finding.accelerator))))
    return f"{verdicts.coloured(finding.word)}{sure} — {of} :gray[{where}]"


def _evidence(finding: ReviewFinding) -> None:
    if finding.cell is not None:
        cell, verdict = finding.cell, finding.cell.verdict
        times = f"**{seconds(cell.old_s)} → {seconds(cell.new_s)}** per iteration"
        default = "" if cell.floor.pairs else " (the default: this machine was never measured against itself)"
        parts = [
            f"{times}: A / B = **{ratio(verdict.ratio)}** ({interval(verdict.low, verdict.high)})",
            f"n = {count(verdict.processes, 'process', 'processes')} on each side",
            escape(verdict.reason),
            f"noise floor {verdict.floor:.1%} on {count(cell.floor.pairs, 'A/A pair')}{default}",
        ]
        if finding.confirming_run:
            parts.append(f"measured again, both sides in turns, in run {escape(finding.confirming_run[:8])}")
        st.markdown("\n".join(f"- {part}" for part in parts))
        return
    if finding.models:
        st.markdown(f"{escape(finding.why)}: {escape(listed(finding.models, 20))}")
        return
    st.code(finding.why, language=None, wrap_lines=True)
    if finding.state:
        st.caption(f"Last runs: {escape(finding.state)}; the newest first: P passed, F failed, R passed on a retry.")


def _why(view: View, found: Review, finding: ReviewFinding) -> None:
    """Say what else changed there: programs, graph breaks and fallback ops have no noise, so they explain a time."""
    if not finding.experiment_id:
        return
    said = [*_numbers(finding), *_ops(found, finding)]
    differing = data.rows(view.snapshot, "structure", view.selection.unfiltered(), **sides.programs_of(found))
    mine = differing[
        (differing["experiment_id"] == finding.experiment_id)
        & (differing["environment"].fillna("default") == finding.environment)
    ]
    said += [programs.words(row) for row in each(mine)]
    if said:
        st.markdown("**What else differs there**\n" + "\n".join(f"- {text}" for text in said))
        programs.offer(view, found, list(each(mine)))
    elif finding.group == "speed":
        st.caption("Graphs, breaks, fallback ops and compiled programs are the same, as far as both sides tell.")


def _numbers(finding: ReviewFinding) -> list[str]:
    """Return the numbers of graphs and graph breaks where they changed."""
    names = {"graphs_number": "compiled graphs", "graph_breaks_n": "graph breaks"}
    sides = {words: (finding.before.get(name), finding.now.get(name)) for name, words in names.items()}
    return [
        f"{words} {before:g} → {after:g}"
        for words, (before, after) in sides.items()
        if before is not None and after is not None and before != after
    ]


def _ops(found: Review, finding: ReviewFinding) -> list[str]:
    """Return the fallback ops that are new in the model, or gone from it."""
    return [
        f"{verdicts.coloured(each.word)}: {escape(each.op)}"
        for each in found.findings
        if finding.model in each.models and (each.test, each.variant) == (finding.test, finding.variant)
    ]


def _ways(view: View, found: Review, finding: ReviewFinding) -> None:
    """Offer the pages that know more."""
    with st.container(horizontal=True):
        if finding.op:
            links.link(view, "fallback-ops", "The op", key="to-op", icon=":material/call_split:", op=finding.op)
            return
        one = {"run": found.new.run_id, "suite": finding.suite, "model": finding.model, "test": finding.test}
        links.link(view, "model", "The model", key="to-model", icon=":material/deployed_code:", **one)
        section = f"{finding.test} · {finding.accelerator} · {finding.suite}"
        trend = {"of_model": finding.model, "section": section}
        links.link(view, "trends", "Its history", key="to-trends", icon=":material/timeline:", **one | trend)
        if reproduce := finding.now.get("reproduce"):
            with st.popover("Reproduce", icon=":material/terminal:", type="tertiary"):
                st.code(reproduce, language="bash", wrap_lines=True)


def _speak(found: Review, finding: ReviewFinding, standing: ReviewStanding) -> None:
    """Draw what is said of the finding and the form that says more."""
    who = triage.reviewer()
    alike = _alike(found, finding)
    # A box without a key is the one of every finding that looks the same: what was typed would pass on to the next.
    mine = f"{finding.token}-{_saved()[finding.token]}"
    known = f"{mine}-{len(standing.entries)}"  # others may have spoken: what they said is shown, a note goes on
    with st.form("say", border=False):
        state = st.radio(
            "State",
            STATES,
            index=STATES.index(standing.state),
            format_func=lambda state: triage.STATE_WORDS[state],
            horizontal=True,
            key=f"say-state-{known}",
        )
        left, right = st.columns(2)
        filed = left.text_input(
            "Filed as", standing.reference or "", placeholder="#123 or an address", key=f"say-filed-{known}"
        )
        person = right.text_input(
            "Assignee", standing.assignee or "", placeholder="nobody", key=f"say-assignee-{known}"
        )
        note = st.text_area("Note", placeholder=standing.note or _NOTE, height=80, key=f"say-note-{mine}")
        reach = _reach(alike, f"say-reach-{mine}")
        if st.form_submit_button("Save", type="primary", icon=":material/edit_note:"):
            _save([finding, *(alike if reach else [])], who, standing, (state, filed, person, note))


def _saved() -> Counter[str]:
    found: Counter[str] = st.session_state.setdefault(_SAVED, Counter())
    return found


def _reach(alike: Sequence[ReviewFinding], key: str) -> bool:
    if not alike:
        return False
    return st.checkbox(f"Also of the {count(len(alike), 'other finding')} with the same cause", value=False, key=key)


def _alike(found: Review, finding: ReviewFinding) -> list[ReviewFinding]:
    """Return the other findings of one cause: one bug often breaks many models, one op falls back in many places."""
    return [
        other
        for other in found.findings
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
    state, filed, person, note = (each.strip() if isinstance(each, str) else each for each in typed)
    changed = state != before.state or (filed or None) != before.reference
    empty = not changed and not note and person == (before.assignee or "")
    if empty and triage.just_spoke(before, who):
        return  # the second half of a double click
    said = triage.say(
        findings,
        who,
        state=state if changed else None,  # type: ignore[arg-type]
        reference=filed if state == "filed" else None,
        assignee=person if person != (before.assignee or "") else None,
        note=note,
    )
    if said:
        _saved()[findings[0].token] += 1
        st.toast("Saved.", icon=":material/check:")
        st.rerun()


def _history(finding: ReviewFinding, said: Mapping[Subject, ReviewStanding]) -> None:
    """Draw all that was said of it, the newest first; and what was said of the same series in other runs."""
    mine = said.get(finding.subject, OPEN).entries
    earlier = [
        entry
        for subject, standing in said.items()
        if (subject.series, subject.finding) == (finding.subject.series, finding.subject.finding)
        and subject.run_id != finding.subject.run_id
        for entry in standing.entries
    ]
    for title, entries in (("History", mine), ("Answers in other runs", earlier)):
        if entries:
            lines = [f"- {_line(entry)}" for entry in sorted(entries, key=lambda each: -each.entry_id)]
            st.markdown(f"**{title}**\n" + "\n".join(lines))


def _line(entry: Entry) -> str:
    said = []
    if entry.state:
        said.append(f"filed as {escape(entry.reference)}" if entry.state == "filed" else str(entry.state))
    if entry.assignee is not None:
        said.append(f"assigned to {escape(entry.assignee)}" if entry.assignee else "assigned to nobody")
    if entry.note:
        # Last and without quotes: the address of a link takes in what follows it.
        said.append(f"note: {escape(entry.note)}")
    name = escape(entry.who) + ("" if entry.verified else " (unverified)")
    return f"{when(entry.created_at)}, {name}: {'; '.join(said)}"


_ACCELERATOR = ALIKE.index("accelerator")


def confirm_bar(view: View, found: Review, findings: Sequence[ReviewFinding]) -> None:
    """Draw what can be measured again of the whole comparison."""
    slower = [each for each in findings if each.word == "slower" and each.certainty == SUSPECTED]
    faster = [each for each in findings if each.word == "faster" and each.certainty == SUSPECTED]
    ambiguous = other_findings.kept(view, found, "ambiguous")
    cells = _cells(found, findings)
    if not (slower or faster or ambiguous or cells):
        return
    with st.container(horizontal=True, vertical_alignment="center", key="confirm-bar"):
        if slower:
            _button(view, found, f"Confirm {count(len(slower), 'regression')}", slower, "confirm-slower", main=True)
        if faster:
            _button(view, found, f"Confirm {len(faster)} faster", faster, "confirm-faster")
        if ambiguous:
            _confirm_all(view, found, ambiguous)
        rerun.offer(view, cells, key="compare")
        access.ask_name("confirm-name")
    _why_not(view, found, _before(found, (*slower, *faster)) or ambiguous)


def confirm_one(view: View, found: Review, finding: ReviewFinding) -> None:
    """Draw what can be measured again of one finding: both sides where it is of speed and not sure, side B alone."""
    if not finding.experiment_id or not finding.now:
        return
    with st.container(horizontal=True, key="confirm-it"):
        if finding.cell is not None and finding.certainty in (SUSPECTED, NOT_CONFIRMED):
            what = "Confirm it" if finding.certainty == SUSPECTED else "Confirm it again"
            _button(view, found, what, [finding], "confirm-one")
        rerun.one(view, _cell(found.new.run_id, finding), "Measure B again", key="again-one")


def _confirm_all(view: View, found: Review, ambiguous: Sequence[Cell]) -> None:
    """Offer the ambiguous cells; both sides of them, in turns."""
    label = f"Measure all {len(ambiguous)} ambiguous again"
    request = _request(found, "all", ambiguous)
    _confirm_button(view, found, label, request, ambiguous, "confirm-ambiguous", main=False)


def _button(
    view: View, found: Review, label: str, findings: Sequence[ReviewFinding], key: str, *, main: bool = False
) -> None:
    before = _before(found, findings)
    _confirm_button(view, found, label, _request(found, "suspected", before), before, key, main=main)


def _confirm_button(
    view: View, found: Review, label: str, request: ConfirmRequest, cells: Sequence[Cell], key: str, *, main: bool
) -> None:
    """Draw the button, or where the sides cannot be measured so, the button switched off with the reason."""
    why_not = obstacle(view, found, cells)
    if why_not is not None:
        st.button(label, key=key, icon=":material/compare_arrows:", disabled=True, help=escape(why_not))
        return
    name = f"confirm {shortened(found.old.text)} {shortened(found.new.text)}"
    jobs.button(label, request, name, key=key, icon=":material/compare_arrows:", main=main)


def _why_not(view: View, found: Review, cells: Sequence[Cell]) -> None:
    """Say once, below the buttons, why they are off."""
    decision = access.may_launch()
    said = (obstacle(view, found, cells) if cells else None) or (None if decision.allowed else decision.reason)
    if said and said != access.NAMELESS:
        st.caption(f":material/lock: {escape(said)}")


def obstacle(view: View, found: Review, cells: Iterable[Cell]) -> str | None:
    """Say why both sides of these cells cannot be measured again as they were, or None."""
    files = [planned.run_file(view.snapshot, side.run_id) for side in (found.old, found.new)]
    for file in files:
        if isinstance(file, str):
            return file
    old, new = (file for file in files if not isinstance(file, str))
    pairs = [(cell.old_environment, cell.environment) for cell in cells]
    return requests.cannot_confirm((old, new), pairs, access.job_queue().home, same_code=not found.new.variant)


def _request(found: Review, which: str, cells: Sequence[Cell]) -> ConfirmRequest:
    old, new = found.old, found.new
    inside = None if found.across_runs else new.run_id
    sides = (old.run_id, new.run_id) if inside is None else (_axis(old), _axis(new))
    return ConfirmRequest(
        old=sides[0],
        new=sides[1],
        run=inside,
        cells="all" if which == "all" else "suspected",
        experiments=tuple(dict.fromkeys(cell.experiment_id for cell in cells)),
        accelerator=tuple(dict.fromkeys(cell.alike[_ACCELERATOR] for cell in cells)),
    )


def _axis(side: Side) -> str:
    return side.environment or side.variant or side.text


def _before(found: Review, findings: Iterable[ReviewFinding]) -> list[Cell]:
    """Return the cells of the comparison behind findings: a finding may show the better evidence of another run."""
    known = {(cell.experiment_id, cell.environment): cell for cell in found.comparison.cells}
    keys = [(each.experiment_id, each.environment) for each in findings]
    return [known[key] for key in keys if key in known]


def _cell(run: str, finding: ReviewFinding) -> rerun.RerunCell:
    kind = finding.word if finding.group == "speed" else rerun.FAILED
    text = f"{finding.model} {finding.test} {finding.variant}"
    return rerun.RerunCell(run, finding.experiment_id, finding.environment, text, frozenset({kind}))


def _cells(found: Review, findings: Sequence[ReviewFinding]) -> list[rerun.RerunCell]:
    """Return what side B measured and somebody may doubt."""
    run = found.new.run_id
    cells = [
        _cell(run, each)
        for each in (*findings, *found.still)
        if each.experiment_id and each.now and each.group in ("speed", "failure") and not each.good
    ]
    cells += [
        rerun.RerunCell(
            run,
            cell.experiment_id,
            cell.environment,
            f"{cell.model} {cell.test} {cell.variant}",
            frozenset({"ambiguous"}),
        )
        for cell in found.cells("ambiguous")
    ]
    return cells
