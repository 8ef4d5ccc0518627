"""Queries with their parameters as SQL literals, for people to copy into `xlabench sql`; pages never run them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_PARAMETER = re.compile(r"\$([a-z][a-z0-9_]*)")


def names(sql: str) -> list[str]:
    """Return the names of the parameters of a query, each once."""
    return list(dict.fromkeys(_PARAMETER.findall(sql)))


def written_out(sql: str, params: Mapping[str, Any]) -> str:
    """Return the query with each parameter as a literal."""
    return _PARAMETER.sub(lambda match: literal(params[match[1]]), sql)


def literal(value: Any) -> str:
    """Return a value as a literal of DuckDB."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(literal(item) for item in value)}]"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    return "'" + str(value).replace("'", "''") + "'"
