"""One finding: its evidence, what else changed there (the why), and what people say of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import data, links, triage, verdicts
from dashboard.rows import each
from dashboard.screens.compare import confirm, history, programs, sources
from dashboard.words import count, escape, interval, listed, ratio, seconds, when
from store.state.reviews import OPEN, STATES, Standing, State, Subject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dashboard.view import View
    from store.review import Finding, Review
    from store.state.reviews import Entry

_NOTE = "What you found out"
_SAVED = "_saved_of"
"""Key of the session's state: token of a finding → how often the session has saved an answer to it."""


def show(view: View, found: Review, finding: Finding, said: Mapping[Subject, Standing]) -> None:
    """Draw the finding on the left, what is said of it on the right."""
    with st.container(border=True, key="finding"):
        st.markdown(f"##### {_headline(finding)}")
        left, right = st.columns([3, 2], gap="large")
        with left:
            _evidence(finding)
            _why(view, found, finding)
            history.small(view, finding)
            confirm.one(view, found, finding)
            _ways(view, found, finding)
        with right:
            _speak(found, finding, said.get(finding.subject, OPEN))
            _history(finding, said)


def _headline(finding: Finding) -> str:
    sure = f" ({finding.certainty})" if finding.word in ("slower", "faster", "newly failing") else ""
    of = escape(" ".join((finding.op or finding.model, finding.test, finding.variant)))
    where = escape(" · ".join(filter(None, (finding.suite, finding.place or finding.accelerator))))
    return f"{verdicts.coloured(finding.word)}{sure} — {of} :gray[{where}]"


def _evidence(finding: Finding) -> None:
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


def _why(view: View, found: Review, finding: Finding) -> None:
    """Say what else changed there: programs, graph breaks and fallback ops have no noise, so they explain a time."""
    if not finding.experiment_id:
        return
    said = [*_numbers(finding), *_ops(found, finding)]
    differing = data.rows(view.snapshot, "structure", view.selection.unfiltered(), **sources.structure(found))
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


def _numbers(finding: Finding) -> list[str]:
    """Return the numbers of graphs and graph breaks where they changed."""
    names = {"graphs_number": "compiled graphs", "graph_breaks_n": "graph breaks"}
    sides = {words: (finding.before.get(name), finding.now.get(name)) for name, words in names.items()}
    return [
        f"{words} {before:g} → {after:g}"
        for words, (before, after) in sides.items()
        if before is not None and after is not None and before != after
    ]


def _ops(found: Review, finding: Finding) -> list[str]:
    """Return the fallback ops that are new in the model, or gone from it."""
    return [
        f"{verdicts.coloured(each.word)}: {escape(each.op)}"
        for each in found.findings
        if finding.model in each.models and (each.test, each.variant) == (finding.test, finding.variant)
    ]


def _ways(view: View, found: Review, finding: Finding) -> None:
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


def _speak(found: Review, finding: Finding, standing: Standing) -> None:
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


def _reach(alike: Sequence[Finding], key: str) -> bool:
    if not alike:
        return False
    return st.checkbox(f"Also of the {count(len(alike), 'other finding')} with the same cause", value=False, key=key)


def _alike(found: Review, finding: Finding) -> list[Finding]:
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
    findings: Sequence[Finding], who: tuple[str, bool], before: Standing, typed: tuple[State, str, str, str]
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


def _history(finding: Finding, said: Mapping[Subject, Standing]) -> None:
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
