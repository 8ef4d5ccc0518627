"""The login that `[auth]` of Streamlit's secrets.toml configures, and its check for pages and routes.

Streamlit itself checks scripts only; a route has to read the signed cookie.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import streamlit as st
from streamlit import auth_util, config
from streamlit.errors import StreamlitAuthError, StreamlitSecretNotFoundError
from streamlit.runtime.secrets import secrets_singleton

from dashboard.formatting import escape
from dashboard.settings import LOGIN_VARIABLE
from store.errors import XlabenchError
from store.state.reviews import LONGEST_NAME

NAME = "reviewer"
"""Key of the session's state for a name that was typed."""
COOKIE = "xlabench_name"
"""Cookie of the browser for this name."""


def configured() -> bool:
    """Tell whether a login is configured, so that readers have to sign in."""
    return bool(os.environ.get(LOGIN_VARIABLE) or auth_util.get_secrets_auth_section())


def recall() -> None:
    """Restore the name from the browser's cookie (`page.js` writes it); to be called before its box is drawn."""
    cookie: object = st.context.cookies.get(COOKIE)
    if NAME in st.session_state or not isinstance(cookie, str):
        return
    name = unquote(cookie)[:LONGEST_NAME].strip()
    if name and name.isprintable():
        st.session_state[NAME] = name


def known() -> tuple[str, bool]:
    """Return the name of the reader, and whether it comes from a login; the name is empty if it is unknown."""
    if getattr(st.user, "is_logged_in", False):
        return name_of(dict(st.user)), True
    return str(st.session_state.get(NAME) or "").strip(), False


def remember(name: str) -> None:
    """Store a name that was typed; to be called in a callback, before the box of the reviewer is drawn.

    An empty name changes nothing: a slow browser may still send an empty box that has vanished since the name was
    typed elsewhere, and Streamlit reports that as a change.
    """
    if name.strip():
        st.session_state[NAME] = name


def name_of(claims: Mapping[str, Any]) -> str:
    """Return the name of a person for roles; an address that the provider has not verified does not count.

    Some providers send `email_verified` as text, and some omit it because they issue all of their addresses.
    """
    checked = str(claims.get("email_verified", True)).lower() == "true"
    email = claims.get("email") if checked else None
    return str(email or claims.get("sub") or claims.get("name") or "")


def reader(cookies: Mapping[str, str]) -> str | None:
    """Return the name of the person who signed in, from the cookies of a request; None if nobody did."""
    from streamlit.web.server.starlette import (  # noqa: PLC0415 - of the server
        starlette_server_config,
        starlette_websocket,
    )

    name = starlette_server_config.USER_COOKIE_NAME
    signed = starlette_websocket._get_signed_cookie_with_chunks(dict(cookies), name)  # noqa: SLF001 - nothing public
    try:
        claims = json.loads(signed or b"{}")
    except ValueError:
        return None
    return name_of(claims) if claims.get("is_logged_in") is True else None


def required(title: str) -> bool:
    """Tell whether the reader still has to sign in; if so, draw the buttons for it."""
    if not configured() or getattr(st.user, "is_logged_in", False):
        return False
    st.title(title, anchor=False)
    st.markdown("Sign in to see the results.")
    if not auth_util.is_authlib_installed():
        st.error("A login is configured, but its package is missing. Run `pip install 'xlabench[auth]'`, then restart.")
        return True
    for provider in providers():
        words = f"Sign in with {escape(provider)}" if provider else "Sign in"
        key = f"sign-in-{provider or 'default'}"
        st.button(words, on_click=st.login, args=(provider,), type="primary", icon=":material/login:", key=key)
    return True


def draw_sign_out() -> None:
    """Draw the name of the reader and the button to sign out in the sidebar; nothing without a login."""
    if configured():
        with st.sidebar:
            st.caption(f"Signed in as {escape(name_of(dict(st.user)) or 'an unknown user')}")
            st.button("Sign out", on_click=st.logout, type="tertiary", icon=":material/logout:", key="sign-out")


def providers() -> list[str | None]:
    """Return the providers by name; None is the one that `[auth]` itself describes."""
    section = auth_util.get_secrets_auth_section()
    names: list[str | None] = [str(name) for name, value in section.items() if hasattr(value, "get")]
    return [None] if "client_id" in section else names


SECRETS_OPTION = "secrets.files"
_NONE_THERE = "no-secrets-found"
_SHORTEST_SECRET = 32
"""Characters that a cookie secret must have; whoever guesses it can sign in under any name."""


class BrokenLogin(XlabenchError):
    """The login cannot work; the server refuses to start, as otherwise everybody would have access."""


def login_files(home: Path) -> list[str]:
    """Return the files that may configure a login: those of Streamlit, and one in the home."""
    files = [*config.get_option(SECRETS_OPTION), str(home / ".streamlit" / "secrets.toml")]
    return list(dict.fromkeys(files))


def has_login(files: list[str]) -> bool:
    """Tell whether readers have to sign in; Streamlit itself would ignore a file that it cannot read.

    Raises:
        BrokenLogin: a file cannot be read, or its configuration of the login is incomplete.
    """
    config.set_option(SECRETS_OPTION, files)
    try:
        secrets = secrets_singleton.to_dict()
    except StreamlitSecretNotFoundError as error:
        if error.error_id == _NONE_THERE:
            return False
        raise BrokenLogin(f"{error}. Correct it, or move it away.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BrokenLogin(f"a file of secrets cannot be read ({error}). Correct it, or move it away.") from None
    if "auth" in secrets:
        _check_login()
    return "auth" in secrets


def _check_login() -> None:
    if not auth_util.is_authlib_installed():
        raise BrokenLogin("a login is configured, but its package is missing: pip install 'xlabench[auth]'")
    files = ", ".join(file for file in config.get_option(SECRETS_OPTION) if Path(file).exists())
    try:
        for provider in providers() or [None]:
            auth_util.validate_auth_credentials(provider or "default")
    except StreamlitAuthError as error:
        message = f"The login cannot work: {' '.join(str(error).split())} Correct {files}, or move it away."
        raise BrokenLogin(message) from None
    if len(str(auth_util.get_secrets_auth_section().get("cookie_secret"))) < _SHORTEST_SECRET:
        raise BrokenLogin(
            f"The cookie_secret in {files} has fewer than {_SHORTEST_SECRET} characters, so a sign-in could be forged. "
            "Make one with `openssl rand -hex 32`."
        )
