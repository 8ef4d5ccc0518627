"""What carries messages out of the house, and what it says of one that did not arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from runner.errors import RunnerError

if TYPE_CHECKING:
    from runner.notices.message import Message


class NotDelivered(RunnerError):
    """The message did certainly not arrive: it may be sent again."""


class Unsure(RunnerError):
    """The message may have arrived: it must not be sent again."""


class Channel(Protocol):
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
