"""What can go wrong while naming a suite or building a model of it."""

from __future__ import annotations

from store.errors import XlabenchError


class SuiteError(XlabenchError):
    """Base of all errors here; its text is one sentence that ends with what to do."""


class UnknownSuiteError(SuiteError):
    """No suite has this name."""


class UserSuiteError(SuiteError):
    """An entry of `XLABENCH_SUITES` does not name a suite."""


class SuiteUnavailableError(SuiteError):
    """The suite cannot be used on this machine."""


class UnknownModelError(SuiteError):
    """The suite has no model of this name."""


class UnsupportedModelError(SuiteError):
    """The model does not run in the requested test or on the requested accelerator."""


class UnknownLossError(SuiteError):
    """The suite offers no loss of this name."""


class SuiteDataError(SuiteError):
    """A data file of a suite does not have the documented form."""
