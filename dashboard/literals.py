"""Parameters of a query written out as SQL literals: what a person copies into `xlabench sql`. It is never run here."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_PARAMETER = re.compile(r"\$([a-z][a-z0-9_]*)")


def names(sql: str) -> list[str]:
    """Return the parameters that a query names, each once."""
    return list(dict.fromkeys(_PARAMETER.findall(sql)))


def written_out(sql: str, params: Mapping[str, Any]) -> str:
    """Return the query with each parameter as a literal."""
    return _PARAMETER.sub(lambda found: literal(params[found[1]]), sql)


def literal(value: Any) -> str:
    """Return a value as DuckDB reads it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(literal(each) for each in value)}]"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    return "'" + str(value).replace("'", "''") + "'"
