"""The login that `[auth]` of Streamlit's secrets.toml configures: pages and routes ask here whether it was passed.

Streamlit's own check is one of scripts; a route has to look at the signed cookie itself.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import streamlit as st
from streamlit import auth_util, config
from streamlit.errors import StreamlitAuthError, StreamlitSecretNotFoundError
from streamlit.runtime.secrets import secrets_singleton

from dashboard.settings import LOGIN_VARIABLE
from dashboard.words import escape
from store.errors import XlabenchError
from store.state.reviews import LONGEST_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


NAME = "reviewer"
"""Where a session keeps the name that somebody typed."""
COOKIE = "xlabench_name"
"""Where the browser keeps it."""


def configured() -> bool:
    """Tell whether readers have to sign in."""
    return bool(os.environ.get(LOGIN_VARIABLE) or auth_util.get_secrets_auth_section())


def recall() -> None:
    """Take the name that this browser typed an earlier time (`page.js` keeps it); to be called before any box of it."""
    cookie: object = st.context.cookies.get(COOKIE)
    if NAME in st.session_state or not isinstance(cookie, str):
        return
    name = unquote(cookie)[:LONGEST_NAME].strip()
    if name and name.isprintable():
        st.session_state[NAME] = name


def known() -> tuple[str, bool]:
    """Return who looks at the page, and whether a login says so; an empty name where nobody has said."""
    if getattr(st.user, "is_logged_in", False):
        return name_of(dict(st.user)), True
    return str(st.session_state.get(NAME) or "").strip(), False


def remember(name: str) -> None:
    """Keep a name that was typed; to be called in a callback, before the box of the reviewer is drawn.

    An empty name takes none away: a slow browser still sends the empty box that vanished when the name was given
    elsewhere, and Streamlit calls that a change.
    """
    if name.strip():
        st.session_state[NAME] = name


def name_of(claims: Mapping[str, Any]) -> str:
    """Return the name under which roles know somebody; an address that its provider has not checked is none.

    Some providers say so in words, some say nothing: those give out only addresses of their own.
    """
    checked = str(claims.get("email_verified", True)).lower() == "true"
    email = claims.get("email") if checked else None
    return str(email or claims.get("sub") or claims.get("name") or "")


def reader(cookies: Mapping[str, str]) -> str | None:
    """Return who signed in, by the cookies of a request; None for nobody. The signature is ours."""
    from streamlit.web.server.starlette import (  # noqa: PLC0415 - of the server
        starlette_server_config,
        starlette_websocket,
    )

    name = starlette_server_config.USER_COOKIE_NAME
    signed = starlette_websocket._get_signed_cookie_with_chunks(dict(cookies), name)  # noqa: SLF001 - nothing public
    try:
        told = json.loads(signed or b"{}")
    except ValueError:
        return None
    return name_of(told) if told.get("is_logged_in") is True else None


def required(title: str) -> bool:
    """Draw the way in where somebody has to sign in and has not; tell whether that is so."""
    if not configured() or getattr(st.user, "is_logged_in", False):
        return False
    st.title(title, anchor=False)
    st.markdown("Sign in to see the results.")
    if not auth_util.is_authlib_installed():
        st.error("A login is configured and its package is missing: `pip install 'xlabench[auth]'`, then start again.")
        return True
    for provider in providers():
        words = f"Sign in with {escape(provider)}" if provider else "Sign in"
        key = f"sign-in-{provider or 'default'}"
        st.button(words, on_click=st.login, args=(provider,), type="primary", icon=":material/login:", key=key)
    return True


def way_out() -> None:
    """Draw in the sidebar who is signed in, and the way out; nothing without a login."""
    if configured():
        with st.sidebar:
            st.caption(f"Signed in as {escape(name_of(dict(st.user)) or 'somebody')}")
            st.button("Sign out", on_click=st.logout, type="tertiary", icon=":material/logout:", key="sign-out")


def providers() -> list[str | None]:
    """Return the providers by name; None is the one that `[auth]` itself describes."""
    section = auth_util.get_secrets_auth_section()
    named: list[str | None] = [str(name) for name, value in section.items() if hasattr(value, "get")]
    return [None] if "client_id" in section else named


SECRETS_OPTION = "secrets.files"
_NONE_THERE = "no-secrets-found"


class BrokenLogin(XlabenchError):
    """A login that cannot work, in one sentence; without it everybody would come in."""


def login_files(home: Path) -> list[str]:
    """Return where a login may stand: where Streamlit looks, and in the home, from wherever it is served."""
    found = [*config.get_option(SECRETS_OPTION), str(home / ".streamlit" / "secrets.toml")]
    return list(dict.fromkeys(found))


def has_login(files: list[str]) -> bool:
    """Tell whether readers have to sign in; Streamlit by itself takes a file that it cannot read for none.

    Raises:
        BrokenLogin: a file cannot be read, or what it says of the login is not enough.
    """
    config.set_option(SECRETS_OPTION, files)
    try:
        said = secrets_singleton.to_dict()
    except StreamlitSecretNotFoundError as error:
        if error.error_id == _NONE_THERE:
            return False
        raise BrokenLogin(f"{error}. Correct it, or move it away.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BrokenLogin(f"a file of secrets cannot be read ({error}). Correct it, or move it away.") from None
    if "auth" in said:
        _check_login()
    return "auth" in said


def _check_login() -> None:
    if not auth_util.is_authlib_installed():
        raise BrokenLogin("a login is configured and its package is missing: pip install 'xlabench[auth]'")
    try:
        for provider in providers() or [None]:
            auth_util.validate_auth_credentials(provider or "default")
    except StreamlitAuthError as error:
        raise BrokenLogin(" ".join(str(error).split())) from None
