"""What is sent, one notice or several that are due together, and what carries it: a webhook, or mail.

The address of a webhook is secret, so that no error names more than its host.
"""

from __future__ import annotations

import http.client
import json
import smtplib
import ssl
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, parseaddr
from typing import Any, Protocol
from urllib.parse import SplitResult, urlsplit

import msgspec

from runner.errors import RunnerError
from runner.home.settings_file import Mail, Notices
from store.errors import UsageError
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


# Mail: each message goes to all recipients at once, over a connection of its own.


MAIL_TIMEOUT_S = 30.0
_TAKEN = 250
_POLICY = SMTP.clone(max_line_length=900)
"""Titles are not folded, because some readers show a space at the fold."""


@dataclass(frozen=True)
class MailChannel:
    """Sends mail through a server."""

    settings: Mail = field(repr=False)
    timeout_s: float = MAIL_TIMEOUT_S
    name: str = "mail"

    def send(self, message: Message) -> str:
        """Send a message; an error before its text was sent means that it did not arrive."""
        mail = self._mail(message).as_bytes()
        try:
            server = self._signed_in()
        except (OSError, smtplib.SMTPException) as error:
            raise NotDelivered(f"{self.settings.host}: {_mail_reason(error)}") from None
        try:
            refused = self._envelope(server)
            self._text(server, mail)
        finally:
            server.close()
        return f"refused for {', '.join(refused)}" if refused else ""

    def _mail(self, message: Message) -> EmailMessage:
        message_mail = EmailMessage(policy=_POLICY)
        message_mail["Subject"] = f"[xlabench] {message.subject}"
        message_mail["From"] = self.settings.sender
        message_mail["To"] = ", ".join(self.settings.to)
        message_mail["Date"] = formatdate(usegmt=True)
        message_mail["Message-ID"] = f"<{message.urn.rpartition(':')[2]}@xlabench>"
        message_mail["Auto-Submitted"] = "auto-generated"
        message_mail.set_content(message.text, cte="quoted-printable")
        return message_mail

    def _signed_in(self) -> smtplib.SMTP:
        """Return a connection that is encrypted and signed in as the settings say."""
        to, context = self.settings, ssl.create_default_context()
        server = (
            smtplib.SMTP_SSL(to.host, to.port, timeout=self.timeout_s, context=context)
            if to.security == "tls"
            else smtplib.SMTP(to.host, to.port, timeout=self.timeout_s)
        )
        try:
            if to.security == "starttls":
                server.starttls(context=context)
            if to.user:
                server.login(to.user, to.password)
            server.ehlo_or_helo_if_needed()
        except BaseException:
            server.close()
            raise
        return server

    def _envelope(self, server: smtplib.SMTP) -> list[str]:
        """Name sender and recipients; returns those that the server refuses, if it takes another one."""
        try:
            code, answer = server.mail(parseaddr(self.settings.sender)[1])
            if code != _TAKEN:
                raise NotDelivered(f"{self.settings.host} refuses the sender: {code} {_word(answer)}")
            answers = {recipient: server.rcpt(parseaddr(recipient)[1]) for recipient in self.settings.to}
        except (OSError, smtplib.SMTPException) as error:
            raise NotDelivered(f"{self.settings.host}: {_mail_reason(error)}") from None
        refused = [recipient for recipient, (code, _) in answers.items() if code not in (_TAKEN, 251)]
        if len(refused) == len(answers):
            code, answer = next(iter(answers.values()))
            raise NotDelivered(f"{self.settings.host} refuses every recipient: {code} {_word(answer)}")
        return refused

    def _text(self, server: smtplib.SMTP, mail: bytes) -> None:
        try:
            code, answer = server.data(mail)
        except smtplib.SMTPDataError as error:  # the server refused before the text was sent
            raise NotDelivered(f"{self.settings.host} refuses the text: {_mail_reason(error)}") from None
        except (OSError, smtplib.SMTPException) as error:
            raise Unsure(f"{self.settings.host} did not answer to the text: {_mail_reason(error)}") from None
        if code != _TAKEN:
            raise NotDelivered(f"{self.settings.host} refuses the text: {code} {_word(answer)}")


def mail(settings: Mail) -> MailChannel:
    """Return the channel of a mail server.

    Raises:
        UsageError: an address is none.
    """
    probe = EmailMessage()
    for address in (settings.sender, *settings.to):
        try:
            probe["To"] = address
            known = address.isascii() and address.isprintable() and "@" in parseaddr(address)[1]
        except (ValueError, MessageError):
            known = False
        del probe["To"]
        if not known:
            raise UsageError(f"[notices.mail] of xlabench.toml: {address!r} is not a mail address.")
    return MailChannel(settings)


def _mail_reason(error: Exception) -> str:
    """Return why, without what was sent."""
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{error.smtp_code} {_word(error.smtp_error)}"
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return str(error)
    return getattr(error, "strerror", None) or type(error).__name__


def _word(answer: bytes | str) -> str:
    text = answer.decode("ascii", "replace") if isinstance(answer, bytes) else answer
    return line(text)[:200]


def channels_of(settings: Notices) -> list[NoticeChannel]:
    """Return the channels that are configured.

    Raises:
        UsageError: an address is none.
    """
    channels: list[NoticeChannel] = []
    if settings.webhook is not None and settings.webhook.url:
        channels.append(webhook(settings.webhook.url))
    if settings.mail is not None:
        channels.append(mail(settings.mail))
    return channels
