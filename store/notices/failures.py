"""Series that newly fail, and those that pass again after people were told that they fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from store.notices.pages import model_page
from store.query import fetch, named
from store.state.notices import Notice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from store.notices.runs import RunFacts
    from store.query import Connection


def failures(
    con: Connection, fresh: Sequence[str], runs: Mapping[str, RunFacts], known: Mapping[str, Notice], now: datetime
) -> Iterator[Notice]:
    """Yield what newly fails or has recovered where the newest answer is one of the runs `fresh`.

    A series that people know to fail is told of again only after it has passed. One that never passed is not new, nor
    one that has failed for longer than news are.
    """
    for row in fetch(con, named("notice_failures"), {"runs": list(fresh)}):
        subject = f"failure {row['series_id']}"
        told = known.get(subject)
        fails = told is not None and told.kind == "newly failing"
        if row["pattern"].startswith("F"):
            if not fails and row["before_run_id"] and runs[row["since_run_id"]].is_news(now):
                yield _newly_failing(row, subject, runs)
        elif fails:
            yield _recovered(row, subject, runs)


def _newly_failing(row: dict[str, Any], subject: str, runs: Mapping[str, RunFacts]) -> Notice:
    since = runs[row["since_run_id"]]
    return Notice(
        key=f"newly failing {row['series_id']} {since.run_id}",
        kind="newly failing",
        subject=subject,
        title=f"Newly failing: {_what(row)}",
        text=f"{_cause(row)}\nFails since {since.text()}; passed before in "
        f"{runs[row['before_run_id']].text()}.\n{_answers(row)}",
        page=model_page(since.run_id, row),
        run_id=since.run_id,
        base_run_id=row["before_run_id"],
        happened_at=since.happened_at,
    )


def _recovered(row: dict[str, Any], subject: str, runs: Mapping[str, RunFacts]) -> Notice:
    since = runs[row["since_run_id"]]
    return Notice(
        key=f"recovered failure {row['series_id']} {since.run_id}",
        kind="recovered",
        subject=subject,
        title=f"Recovered: {_what(row)} passes again",
        text=f"Passes since {since.text()}.\n{_answers(row)}",
        page=model_page(since.run_id, row),
        run_id=since.run_id,
        base_run_id=row["before_run_id"],
        happened_at=since.happened_at,
    )


def _cause(row: dict[str, Any]) -> str:
    """Return why it fails; a wrong answer of a result that ran has only its reason."""
    if row["failure_status"] == "ok":
        return str(row["failure_reason"])
    phase = f" ({row['failure_phase']})" if row["failure_phase"] else ""
    reason = f": {row['failure_reason']}" if row["failure_reason"] else ""
    return f"{row['failure_status'].replace('_', ' ')}{phase}{reason}"


def _what(row: dict[str, Any]) -> str:
    place = row["accelerator_model"] or row["accelerator"]
    return f"{row['suite']}/{row['model']} {row['test']} {row['variant']} on {place}"


def _answers(row: dict[str, Any]) -> str:
    return (
        f"Of its newest {row['answered_n']} answers {row['failed_n']} failed ({row['pattern']}, the newest first; "
        "P passed, F failed, R passed on a retry)."
    )
