"""`[notices]` of `xlabench.toml`: where notices go. What is secret comes from there or from the environment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from collections.abc import Mapping

WEBHOOK_VARIABLE = "XLABENCH_WEBHOOK_URL"
PASSWORD_VARIABLE = "XLABENCH_SMTP_PASSWORD"  # noqa: S105 - the name of a variable
SECRETS = frozenset({WEBHOOK_VARIABLE, PASSWORD_VARIABLE})
"""What no job is given: its models are code of others."""
_Port = Annotated[int, Meta(ge=1, le=65535)]
_Text = Annotated[str, Meta(min_length=1)]


class Secret(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of which nothing is printed."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"


class Webhook(Secret, frozen=True, forbid_unknown_fields=True):
    """An address that takes notices as JSON; who knows it may post there."""

    url: str = ""


class Mail(Secret, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A server that takes mail."""

    host: _Text
    port: _Port = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: str = ""
    password: str = ""
    sender: _Text
    to: Annotated[tuple[_Text, ...], Meta(min_length=1)]


class Notices(Secret, frozen=True, forbid_unknown_fields=True):
    """The section; without channels there is only the feed."""

    dashboard: str = ""
    """Its address, for links."""
    webhook: Webhook | None = None
    mail: Mail | None = None


def with_secrets(notices: Notices, environment: Mapping[str, str] = os.environ) -> Notices:
    """Return the settings with what the environment says of secrets, which has the last word."""
    url, password = environment.get(WEBHOOK_VARIABLE), environment.get(PASSWORD_VARIABLE)
    replace = msgspec.structs.replace
    webhook = Webhook(url=url) if url else notices.webhook
    mail = replace(notices.mail, password=password) if notices.mail and password else notices.mail
    return replace(notices, webhook=webhook, mail=mail)
