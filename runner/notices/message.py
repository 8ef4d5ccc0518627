"""What is sent, as text and as JSON, and what carries it: one notice, or several that are due together."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from runner.errors import RunnerError
from store.state.notices import Notice

_LONGEST_SUBJECT = 200


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Notices that are sent together."""

    notices: tuple[Notice, ...]
    dashboard: str
    """Address of the dashboard; empty if there are no links."""

    @property
    def subject(self) -> str:
        """Return it in one line of printable characters."""
        if len(self.notices) == 1:
            return line(self.notices[0].title)[:_LONGEST_SUBJECT]
        kinds = dict.fromkeys(notice.kind for notice in self.notices)
        kind_counts = (f"{sum(notice.kind == kind for notice in self.notices)} {kind}" for kind in kinds)
        return f"{len(self.notices)} notices: {', '.join(kind_counts)}"

    @property
    def text(self) -> str:
        return "\n\n\n".join("\n".join(self._lines(notice)) for notice in self.notices)

    @property
    def urn(self) -> str:
        """Return a name that the same message, and no other one, has."""
        return urn("\0".join(notice.key for notice in self.notices))

    def data(self) -> dict[str, Any]:
        """Return it as JSON; `text` is what chat servers show."""
        return {"text": f"{self.subject}\n\n{self.text}", "events": [self._event(notice) for notice in self.notices]}

    def link(self, notice: Notice) -> str | None:
        """Return the page that shows a notice."""
        return f"{self.dashboard.rstrip('/')}/{notice.page}" if self.dashboard and notice.page else None

    def _lines(self, notice: Notice) -> list[str]:
        link = self.link(notice)
        return [notice.title, "", notice.text, *([link] if link else [])]

    def _event(self, notice: Notice) -> dict[str, Any]:
        return {
            "id": urn(notice.key),
            "kind": notice.kind,
            "title": notice.title,
            "text": notice.text,
            "url": self.link(notice),
            "run_id": notice.run_id,
            "base_run_id": notice.base_run_id,
            "happened_at": moment(notice.happened_at),
            "noticed_at": moment(notice.noticed_at),
        }


def line(text: str) -> str:
    """Return a text in one line of printable characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def moment(seconds: float) -> str:
    """Return Unix seconds as RFC 3339 has them."""
    return datetime.fromtimestamp(min(max(seconds, 0.0), 1e11), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_OURS = uuid.UUID("6f2f5a3c-1d5e-4e0f-9c53-5f0f5f6d2c11")


def urn(key: str) -> str:
    """Return the same name for the same key."""
    return uuid.uuid5(_OURS, key).urn


class NotDelivered(RunnerError):
    """The message certainly did not arrive, so it may be sent again."""


class Unsure(RunnerError):
    """The message may have arrived: it must not be sent again."""


class NoticeChannel(Protocol):
    """Sends messages; each call is a try of its own."""

    @property
    def name(self) -> str:
        """Return what deliveries are kept under."""

    def send(self, message: Message) -> str:
        """Send a message; returns what the other side said of it, if that is worth keeping.

        Raises:
            NotDelivered: it did certainly not arrive.
            Unsure: it may have arrived.
        """
