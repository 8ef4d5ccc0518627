"""The file that configures the login is looked at before anything is served: one that is broken is no open door."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamlit import auth_util, config
from streamlit.errors import StreamlitAuthError, StreamlitSecretNotFoundError
from streamlit.runtime.secrets import secrets_singleton

from dashboard import login

if TYPE_CHECKING:
    from pathlib import Path

OPTION = "secrets.files"
_NONE_THERE = "no-secrets-found"


class BrokenLogin(Exception):
    """A login that cannot work, in one sentence; without it everybody would come in."""


def places(home: Path) -> list[str]:
    """Return where a login may stand: where Streamlit looks, and in the home, from wherever it is served."""
    found = [*config.get_option(OPTION), str(home / ".streamlit" / "secrets.toml")]
    return list(dict.fromkeys(found))


def has_login(files: list[str]) -> bool:
    """Tell whether readers have to sign in; Streamlit by itself takes a file that it cannot read for none.

    Raises:
        BrokenLogin: a file cannot be read, or what it says of the login is not enough.
    """
    config.set_option(OPTION, files)
    try:
        said = secrets_singleton.to_dict()
    except StreamlitSecretNotFoundError as error:
        if error.error_id == _NONE_THERE:
            return False
        raise BrokenLogin(f"{error}. Correct it, or move it away.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BrokenLogin(f"a file of secrets cannot be read ({error}). Correct it, or move it away.") from None
    if "auth" in said:
        _check()
    return "auth" in said


def _check() -> None:
    if not auth_util.is_authlib_installed():
        raise BrokenLogin("a login is configured and its package is missing: pip install 'xlabench[auth]'")
    try:
        for provider in login.providers() or [None]:
            auth_util.validate_auth_credentials(provider or "default")
    except StreamlitAuthError as error:
        raise BrokenLogin(" ".join(str(error).split())) from None
