"""What can go wrong while naming a suite or building a model of it.

SuiteError
├── UnknownSuiteError         no suite of that name
├── UserSuiteError            an entry of XLABENCH_SUITES is no suite
├── SuiteUnavailableError     the suite needs something this machine lacks
├── UnknownModelError         the suite has no model of that name
├── UnsupportedModelError     the model exists, and does not run in this test or on this accelerator
├── UnknownLossError          no loss of that name for this suite
└── SuiteDataError            a data file of a suite does not have the documented form
"""

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
