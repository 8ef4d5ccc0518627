"""One finding: its evidence, what else changed, programs side by side; and review mode, one finding after another."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.access import login
from dashboard.data import snapshot
from dashboard.data.frames import iter_rows
from dashboard.formatting import count, escape, interval, listed, missing, ratio, seconds
from dashboard.review import board, triage
from dashboard.ui import downloads, tables, verdicts
from dashboard.ui.tables import TableColumn
from dashboard.view import View, links
from dashboard.viewers import artifacts, text
from store.charts import axes, drawing, palette
from store.charts.drawing import layered
from store.identity import model_names
from store.review import Review, ReviewFinding
from store.state.reviews import OPEN, ReviewStanding, State, Subject


def show(view: View, review: Review, finding: ReviewFinding, standings: Mapping[Subject, ReviewStanding]) -> None:
    """Draw the finding on the left and its reviews on the right."""
    with st.container(border=True, key="finding"):
        st.markdown(f"##### {_headline(finding)}")
        left, right = st.columns([3, 2], gap="large")
        with left:
            _evidence(finding)
            _why(view, review, finding)
            board.draw_history(view, finding)
            triage.confirm_one(view, review, finding)
            _show_links(view, review, finding)
        with right:
            triage.show_form(review, finding, standings.get(finding.subject, OPEN))
            triage.show_history(finding, standings)


def _headline(finding: ReviewFinding) -> str:
    sure = f" ({finding.certainty})" if finding.word in ("slower", "faster", "newly failing") else ""
    of = escape(" ".join((finding.op or finding.model, finding.test, finding.variant)))
    where = escape(" · ".join(filter(None, (finding.suite, finding.place or finding.accelerator))))
    return f"{verdicts.coloured(finding.word)}{sure} — {of} :gray[{where}]"


def _evidence(finding: ReviewFinding) -> None:
    if finding.cell is not None:
        cell, verdict = finding.cell, finding.cell.verdict
        times = f"**{seconds(cell.old_s)} → {seconds(cell.new_s)}** per iteration"
        default = "" if cell.floor.pairs else " (the default, because this machine has not been calibrated)"
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
        st.markdown(f"{escape(finding.why)}: {escape(listed(list(model_names(finding.models).values()), 20))}")
        return
    downloads.copyable(finding.why)
    if finding.state:
        st.caption(f"Last runs: {escape(finding.state)}; the newest first: P passed, F failed, R passed on a retry.")


def _why(view: View, review: Review, finding: ReviewFinding) -> None:
    """Draw what else changed: programs, graph breaks and fallback ops have no noise, so they can explain a time."""
    if not finding.experiment_id:
        return
    sentences = [*_numbers(finding), *_ops(review, finding)]
    differing = data.rows(view.snapshot, "structure", view.selection.unfiltered(), **board.programs_of(review))
    program_rows = differing[
        (differing["experiment_id"] == finding.experiment_id)
        & (differing["environment"].fillna("default") == finding.environment)
    ]
    sentences += [_programs_text(row) for row in iter_rows(program_rows)]
    if sentences:
        st.markdown("**What else differs there**\n" + "\n".join(f"- {text}" for text in sentences))
        _offer_programs(view, review, list(iter_rows(program_rows)))
    elif finding.group == "speed":
        st.caption(
            "Graphs, breaks, fallback ops and compiled programs are the same, as far as both sides recorded them."
        )


def _numbers(finding: ReviewFinding) -> list[str]:
    """Return the numbers of graphs and graph breaks where they changed."""
    names = {"graphs_number": "compiled graphs", "graph_breaks_n": "graph breaks"}
    values = {words: (finding.before.get(name), finding.now.get(name)) for name, words in names.items()}
    return [
        f"{words} {before:g} → {after:g}"
        for words, (before, after) in values.items()
        if before is not None and after is not None and before != after
    ]


def _ops(review: Review, finding: ReviewFinding) -> list[str]:
    """Return the fallback ops that are new in the model, or gone from it."""
    return [
        f"{verdicts.coloured(other.word)}: {escape(other.op)}"
        for other in review.findings
        if (finding.suite, finding.model) in other.models
        and (other.test, other.variant, other.accelerator) == (finding.test, finding.variant, finding.accelerator)
    ]


def _show_links(view: View, review: Review, finding: ReviewFinding) -> None:
    """Draw links to the pages that show more of the finding."""
    with st.container(horizontal=True):
        if finding.op:
            links.link(view, "fallback-ops", "The op", key="to-op", icon=":material/call_split:", op=finding.op)
            return
        target = {"run": review.new.run_id, "suite": finding.suite, "model": finding.model, "test": finding.test}
        links.link(view, "model", "The model", key="to-model", icon=":material/deployed_code:", **target)
        section = f"{finding.test} · {finding.accelerator} · {finding.suite}"
        trend = {"of_model": finding.model, "trend_section": section}
        links.link(view, "trends", "Its history", key="to-trends", icon=":material/timeline:", **target | trend)
        if reproduce := finding.now.get("reproduce"):
            with st.popover("Reproduce", icon=":material/terminal:", type="tertiary"):
                downloads.command(reproduce)


_OPS = 8
_TEXTS = (".txt", ".py", ".mlir", ".hlo", ".cpp", ".ll", ".code")
_DIGITS = re.compile(r"\d+")


def show_programs(view: View, review: Review, passes: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    """Draw the table of compiled programs that differ; a selected row opens both sides."""
    params = board.programs_of(review)
    frame = passes(data.rows(view.snapshot, "structure", view.selection.unfiltered(), **params))
    if frame.empty:
        return
    with st.expander(f"Programs that differ ({len(frame)})", key="part-programs", on_change="rerun") as part:
        if not part.open:
            return
        described = frame.assign(difference=[_programs_text(row).replace("\\", "") for row in iter_rows(frame)])
        columns = {name: board.COLUMNS[name] for name in ("model", "test", "variant", "suite")} | {
            "difference": TableColumn("A → B", help="Graphs, operations and fusions, by kind of program."),
            "changed_n": TableColumn("Other fingerprints", "number", help="Programs that only B has."),
        }
        selected = tables.show(
            described,
            columns,
            data.TableSource(
                view.file_name("programs"), data.statement("structure", view.selection.unfiltered(), **params)
            ),
            key="programs",
            alt="Compiled programs that differ; select one to see both sides",
            on_select="rerun",
        )
        if selected is not None and selected < len(frame):
            _show_side_by_side(view, review, list(iter_rows(frame))[selected], "table")


def _offer_programs(view: View, review: Review, rows: Sequence[Any]) -> None:
    """Draw both sides of the programs of one finding, opened by a click."""
    for row in rows:
        with st.expander(
            f"{escape(row.kind)}: A and B side by side", key=f"abreast-{row.kind}", on_change="rerun"
        ) as part:
            if part.open:
                _show_side_by_side(view, review, row, "finding")


def _programs_text(row: object) -> str:
    """Return how the programs of one kind differ, as markdown."""
    parts = []
    for name in ("graphs", "ops", "fusions"):
        before, after = getattr(row, f"{name}_a"), getattr(row, f"{name}_b")
        if not missing(before) and not missing(after) and before != after:
            parts.append(f"{name} {before:,.0f} → {after:,.0f}")
    changes = list(getattr(row, "op_changes"))  # noqa: B009 - the columns are known to the SQL only
    ops = [f"{change['op']} {change['ops_a']:,d} → {change['ops_b']:,d}" for change in changes[:_OPS]]
    if ops:
        parts.append(f"ops: {', '.join(ops)}" + (f" and {len(changes) - _OPS} more" if len(changes) > _OPS else ""))
    if not parts:
        parts.append(f"{getattr(row, 'changed_n')} with another fingerprint")  # noqa: B009
    return f"{escape(getattr(row, 'kind'))}: {escape('; '.join(parts))}"  # noqa: B009


def _show_side_by_side(view: View, review: Review, row: Any, key: str) -> None:
    """Draw the instructions whose number changed, then the texts that both sides have."""
    changes = list(row.op_changes)
    if changes:
        frame = pd.DataFrame(changes[:_MOST])
        frame["difference"] = frame["ops_b"] - frame["ops_a"]
        frame["label"] = [f"{a:,} → {b:,}" for a, b in zip(frame["ops_a"], frame["ops_b"], strict=True)]
        st.altair_chart(instruction_bars(frame), key=f"{key}-ops", alt=f"Instructions of {row.model} in A and B")
        if len(changes) > len(frame):
            st.caption(f"The {len(frame)} that differ most of {count(len(changes), 'instruction')}.")
    of = {f"of_{name}": getattr(row, name) for name in ("suite", "model", "test", "accelerator", "variant")}
    listed = data.rows(view.snapshot, "program_files", view.selection.unfiltered(), **board.programs_of(review), **of)
    pairs = _pairs(listed)
    if not pairs:
        st.caption(
            "At least one run lacks texts of the programs. `--dump-hlo`, `--save-ir` and `--dump-inductor` write them."
        )
        return
    name = st.selectbox("Program", list(pairs), key=f"{key}-program")
    _texts(view, pairs[str(name)])


def _pairs(listed: pd.DataFrame) -> dict[str, tuple[Any, Any]]:
    """Return pairs of texts of A and B by name; numbers in file names are ignored: the compiler chooses them."""
    by_side: dict[str, dict[str, list[Any]]] = {"a": {}, "b": {}}
    seen: set[tuple[str, str]] = set()
    for row in iter_rows(listed):
        if Path(row.file).suffix in _TEXTS and (row.side, row.file) not in seen:
            seen.add((row.side, row.file))
            by_side[row.side].setdefault(_DIGITS.sub("#", row.file), []).append(row)
    return {
        f"{b.kind} · {b.file}": (a, b)
        for name, of_b in by_side["b"].items()
        for a, b in zip(by_side["a"].get(name, []), of_b, strict=False)
    }


def _texts(view: View, pair: tuple[Any, Any]) -> None:
    con = snapshot.connection(view.snapshot)
    try:
        places = [artifacts.locate(con, str(row.record_id), str(row.path)) for row in pair]
    except artifacts.NotServed as error:
        st.warning(f"{escape(error)}.", icon=":material/folder_off:")
        return
    (a, more_a), (b, more_b) = (text.first_lines(place) for place in places)
    blocks = text.differences(a, b)
    differing = [block for block in blocks if not block.same]
    of_a, of_b = sum(len(block.a) for block in differing), sum(len(block.b) for block in differing)
    changed = f"{count(of_a, 'line')} of A became {of_b:,} of B"
    sentence = changed if differing else "The texts differ only in the numbers in names"
    cut = f" Only the first {text.MOST_COMPARED:,} lines are compared." if more_a or more_b else ""
    st.caption(f"{sentence}; A on the left, B on the right.{cut}")
    st.html(text.side_by_side(blocks))


_MOST = 20
_ROW_PX = 20


def instruction_bars(frame: pd.DataFrame) -> alt.LayerChart:
    """Draw one bar per instruction, in the order of the rows.

    Args:
        frame: columns op, ops_a, ops_b, difference, label; at most `_MOST` rows.
    """
    names = axes.names_px(axes.LABEL_PX)
    down = alt.Y("op:N", sort=None, axis=alt.Axis(title=None, labelLimit=names, minExtent=names, ticks=False))
    across = alt.X("difference:Q", axis=alt.Axis(title="Instructions: B minus A", format="~s", tickMinStep=1))
    fewer, more = (verdicts.appearance_of(word).colour for word in ("slower", "faster"))
    ink = alt.ColorValue(more, condition={"test": "datum.difference < 0", "value": fewer})
    base = alt.Chart(frame).encode(y=down)
    tooltip = drawing.tooltip(op="Instruction", label="A \u2192 B")
    return layered(
        base.mark_bar(height=_ROW_PX - 6).encode(x=across, color=ink, tooltip=tooltip),
        base.mark_rule(color=palette.NEUTRAL).encode(x=alt.XDatum(0)),
        height=axes.steps(_ROW_PX),
    )


_CURRENT = "_review_at"
"""Key of the session's state: the subject of the finding in review mode. It stays when the finding's state changes."""


def is_stepwise(open_n: int) -> bool:
    """Draw the switch of review mode; return whether it is on."""
    return bool(
        st.toggle(
            f"Review mode: {count(open_n, 'open finding')} one by one",
            key="review",
            bind="query-params",
            help="J next, K back; 1 known, 2 expected, 3 won't fix. A finding is marked as filed in the form, as that "
            "needs a reference.",
        )
    )


def show_step(
    view: View, review: Review, findings: Sequence[ReviewFinding], standings: Mapping[Subject, ReviewStanding]
) -> None:
    """Draw one finding in review mode, with the buttons that lead to the others."""
    open_findings = [finding for finding in findings if standings.get(finding.subject, OPEN).state == "open"]
    position = next(
        (index for index, finding in enumerate(findings) if finding.subject == st.session_state.get(_CURRENT)), None
    )
    if position is None and _CURRENT not in st.session_state:
        position = board.position(findings, review.findings)
    if position is None:
        if not open_findings:
            board.remember(None)
            settled = f"All {count(len(findings), 'finding')} are settled. Export the report below."
            st.success(settled, icon=":material/task_alt:")
            return
        position = findings.index(open_findings[0])
        st.session_state[_CURRENT] = findings[position].subject
    current = findings[position]
    board.remember(current)
    st.progress(
        1 - len(open_findings) / len(findings), f"{len(findings) - len(open_findings)} of {len(findings)} settled"
    )
    _show_buttons(findings, open_findings, position)
    show(view, review, current, standings)


def _show_buttons(findings: Sequence[ReviewFinding], open_findings: Sequence[ReviewFinding], position: int) -> None:
    current = findings[position]
    next_open = [finding for finding in findings[position + 1 :] if finding in open_findings] or [
        finding for finding in open_findings if finding != current
    ]
    with st.container(horizontal=True, key="review-keys"):
        st.button(
            "Back",
            shortcut="K",
            on_click=_make_current,
            args=(findings[position - 1],),
            disabled=position == 0,
            key="review-back",
        )
        st.button(
            "Next open",
            shortcut="J",
            on_click=_make_current,
            args=(next_open[0] if next_open else None,),
            type="primary",
            key="review-next",
        )
        states: tuple[tuple[State, str], ...] = (("known", "1"), ("expected", "2"), ("wontfix", "3"))
        for state, shortcut in states:
            pressed = st.button(
                triage.STATE_WORDS[state].removeprefix("● ").capitalize(),
                shortcut=shortcut,
                key=f"review-{state}-{current.token}",  # so that a double click does not answer the next finding, too
            )
            if pressed and triage.save_answer([current], login.known(), state=state):
                _make_current(next_open[0] if next_open else None)
                st.rerun()


def _make_current(finding: ReviewFinding | None) -> None:
    """Make a finding the current one of review mode; None means that no open one is left."""
    st.session_state[_CURRENT] = finding.subject if finding else None
