"""A webhook: one POST of JSON. Its address is secret, so no error names more than its host."""

from __future__ import annotations

import http.client
import json
import ssl
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from runner.notices.message import Message, NotDelivered, Unsure
from store.errors import UsageError

TIMEOUT_S = 20.0
_ACCEPTED = range(200, 300)
_REFUSED = (*range(300, 500), 501, 503, 505)
"""The receiver did not accept the message. After other errors of a server or proxy, it may have done so."""


@dataclass(frozen=True)
class WebhookChannel:
    """Posts to an address."""

    address: SplitResult = field(repr=False)
    timeout_s: float = TIMEOUT_S
    name: str = "webhook"

    def send(self, message: Message) -> str:
        """Post a message; the receiver knows it again by `Idempotency-Key`."""
        body = json.dumps(message.data()).encode()
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "xlabench",
            "Idempotency-Key": message.urn,
        }
        connection = self._connection()
        try:
            self._connect(connection)
            status = self._post(connection, body, headers)
        finally:
            connection.close()
        if status in _ACCEPTED:
            return f"HTTP {status}"
        if status in _REFUSED:
            raise NotDelivered(f"{self.address.hostname} answered HTTP {status}")
        raise Unsure(f"{self.address.hostname} answered HTTP {status}")

    def _connection(self) -> http.client.HTTPConnection:
        host, port = str(self.address.hostname), self.address.port
        if self.address.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(host, port, timeout=self.timeout_s, context=context)
        return http.client.HTTPConnection(host, port, timeout=self.timeout_s)

    def _connect(self, connection: http.client.HTTPConnection) -> None:
        try:
            connection.connect()
        except OSError as error:
            raise NotDelivered(f"{self.address.hostname} cannot be reached: {_reason(error)}") from None

    def _post(self, connection: http.client.HTTPConnection, body: bytes, headers: dict[str, str]) -> int:
        target = (self.address.path or "/") + (f"?{self.address.query}" if self.address.query else "")
        try:
            connection.request("POST", target, body, headers)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            raise Unsure(f"{self.address.hostname} gave no answer: {_reason(error)}") from None


def webhook(url: str) -> WebhookChannel:
    """Return the channel of an address.

    Raises:
        UsageError: it is no http address; the sentence does not repeat it.
    """
    try:
        address = urlsplit(url)
        known = address.scheme in ("http", "https") and address.hostname and (address.port is None or address.port)
        well_formed = url.isascii() and url.isprintable() and " " not in url and address.username is None
    except ValueError:
        known = well_formed = False
    if not known or not well_formed:
        raise UsageError("The url of [notices.webhook] is not an http or https address in ASCII.")
    return WebhookChannel(address)


def _reason(error: Exception) -> str:
    """Return why, without the address that some errors repeat."""
    return getattr(error, "strerror", None) or type(error).__name__
