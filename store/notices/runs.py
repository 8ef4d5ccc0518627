"""The runs of the store as notices need them, and the series that newly fail or pass again in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import msgspec

from store.query import Connection, fetch, named
from store.state.notices import Kind, Notice


def model_page(run_id: str, row: Mapping[str, Any]) -> str:
    """Return the page of a result: `row` names suite, model and test."""
    return f"model?{urlencode({'run': run_id, **{name: row[name] for name in ('suite', 'model', 'test')}})}"


def compare_page(old: str, new: str) -> str:
    """Return the page that compares two runs."""
    return f"compare?{urlencode({'run': new, 'a': old, 'b': new})}"


NEWS = timedelta(days=3)
"""Runs that began earlier, as those of an archive that is ingested now, are no news."""
QUIET = timedelta(hours=1)
"""A run whose plan is not done is over all the same when nothing of it came for so long."""


class NoticedRun(msgspec.Struct, frozen=True):
    """A run; times are UTC without a zone."""

    run_id: str
    label: str
    started: datetime
    complete: bool
    ingested_at: datetime | None
    torch: str | None
    torch_xla: str | None

    def is_over(self, now: datetime) -> bool:
        """Say whether nothing more is to be expected of it."""
        return self.complete or self.ingested_at is None or now - self.ingested_at > QUIET

    def is_news(self, now: datetime) -> bool:
        """Say whether it is new enough to tell people of it."""
        return now - self.started <= NEWS

    @property
    def state(self) -> str:
        """Return a text that changes when more of it has come."""
        return f"{self.ingested_at} {self.complete}"

    @property
    def happened_at(self) -> float:
        return self.started.replace(tzinfo=UTC).timestamp()

    def text(self) -> str:
        """Return it as people name it, with its versions."""
        versions = f"torch {self.torch or 'unknown'}, torch_xla {self.torch_xla or 'none'}"
        return f"{self.label} of {self.started:%Y-%m-%d %H:%M} UTC ({self.run_id}), {versions}"


def runs_of(con: Connection) -> dict[str, NoticedRun]:
    """Return all runs by their id, the oldest first."""
    return {row["run_id"]: NoticedRun(**row) for row in fetch(con, named("notice_runs"))}


def failures(
    con: Connection, fresh: Sequence[str], runs: Mapping[str, NoticedRun], known: Mapping[str, Notice], now: datetime
) -> Iterator[Notice]:
    """Yield what newly fails or has recovered where the newest answer is one of the runs `fresh`.

    A series that people know to fail is told of again only after it has passed. One that never passed is not new, nor
    one that has failed for longer than news are.
    """
    for row in fetch(con, named("notice_failures"), {"runs": list(fresh)}):
        notice = known.get(f"failure {row['series_id']}")
        fails = notice is not None and notice.kind == "newly failing"
        since = runs[row["since_run_id"]]
        if row["pattern"].startswith("F"):
            if not fails and row["before_run_id"] and since.is_news(now):
                before = runs[row["before_run_id"]].text()
                text = f"{_cause(row)}\nFails since {since.text()}; passed before in {before}."
                title = f"Newly failing: {_series_name(row)}"
                yield _notice(row, since, "newly failing", "newly failing", title, text)
        elif fails:
            title, text = f"Recovered: {_series_name(row)} passes again", f"Passes since {since.text()}."
            yield _notice(row, since, "recovered", "recovered failure", title, text)


def _notice(row: dict[str, Any], since: NoticedRun, kind: Kind, event: str, title: str, text: str) -> Notice:
    return Notice(
        key=f"{event} {row['series_id']} {since.run_id}",
        kind=kind,
        subject=f"failure {row['series_id']}",
        title=title,
        text=f"{text}\n{_answers(row)}",
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


def _series_name(row: dict[str, Any]) -> str:
    place = row["accelerator_model"] or row["accelerator"]
    return f"{row['suite']}/{row['model']} {row['test']} {row['variant']} on {place}"


def _answers(row: dict[str, Any]) -> str:
    return (
        f"{row['failed_n']} of its newest {row['answered_n']} results failed ({row['pattern']}, the newest first; "
        "P passed, F failed, R passed on a retry)."
    )
