"""A user's suite while it is planned: whatever its code raises or returns, the user reads one sentence about it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from runner.suites.base import ModelInfo
from runner.suites.errors import UserSuiteError

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.suites.base import Suite

_LISTS = "models"
_ASKED = frozenset({_LISTS, "unavailable", "versions", "unlisted", "missing_packages"})
"""What planning asks a suite; what `build` raises in a measuring process becomes a record."""


class UserSuite:
    """Stands for a suite; what is not asked in planning is the suite's own."""

    def __init__(self, place: str, suite: Suite) -> None:
        self._place, self._suite = place, suite

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._suite, name)
        return partial(_answer, self._place, name, found) if name in _ASKED else found


def _answer(place: str, name: str, ask: Callable[..., Any], *asked: Any) -> Any:
    """Return a method's answer.

    Raises:
        UserSuiteError: it raised something, or its answer has another form than `Suite` says.
    """
    try:
        given = ask(*asked)
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise UserSuiteError(f"{place}: its method `{name}` failed ({said}); correct the suite.") from error
    if name == _LISTS and not (isinstance(given, list | tuple) and all(isinstance(each, ModelInfo) for each in given)):
        raise UserSuiteError(f"{place}: its method `models` must return a list of ModelInfo; correct the suite.")
    if name == "versions" and not isinstance(given, Mapping):
        raise UserSuiteError(f"{place}: its method `versions` must return a mapping; correct the suite.")
    return given
