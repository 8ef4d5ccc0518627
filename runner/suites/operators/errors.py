"""What can be wrong with a configuration of operators; each error names its place."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from store.errors import Signal, UsageError

_PLACE = re.compile(r" - at `\$\.?(?P<place>[^`]*)`$")


class ConfigError(UsageError):
    """A configuration cannot be used."""


class FieldError(Signal, ValueError):
    """One field of a build or an input cannot be used."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field
        self.text = text


class RegistrationError(UsageError, ValueError):
    """An operator, iterator or generator of this name is registered already."""


@dataclass(frozen=True, kw_only=True)
class Location:
    """Where in which file something stands."""

    file: str
    op: str | None = None
    config: int | None = None

    def error(self, text: str, field: str = "") -> ConfigError:
        """Return the error whose sentence names the place."""
        words = [self.file]
        words += [self.op] if self.op is not None else []
        words += [f"config {self.config}"] if self.config is not None else []
        words += [field] if field else []
        return ConfigError(f"{': '.join(words)}: {text}. Correct the configuration.")

    def of_field(self, error: FieldError, field: str) -> ConfigError:
        """Return the error of a field inside of `field`."""
        return self.error(error.text, join(field, error.field))


def join(outer: str, inner: str) -> str:
    """Return the path of a field inside of another: `input[0]` and `args[1]` are `input[0].args[1]`."""
    return f"{outer}{'' if not outer or not inner or inner.startswith('[') else '.'}{inner}"


def of_validation(error: msgspec.ValidationError) -> FieldError:
    """Return what a check of types says, with the field apart."""
    text = str(error)
    place = _PLACE.search(text)
    return FieldError(place["place"] if place else "", _PLACE.sub("", text))
