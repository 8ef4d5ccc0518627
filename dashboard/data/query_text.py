"""Texts of queries: the files of `queries/`, the parameters they name, and statements with literals to copy.

Pages run a query with bound parameters only; people copy the statement with literals into `xlabench sql`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from store import query
from store.files import queries_of

_FOLDER = Path(__file__).with_name("queries")
_FILTERS = "/*filters*/"
_OF_RUN = "run_id = $run AND /*filters without run*/"
_PARAMETER = re.compile(r"\$([a-z][a-z0-9_]*)")


@cache
def sql(name: str, *, only: bool = False) -> str:
    """Return the text of a query with the shared filters in place; `only` keeps those on fallback ops and breaks."""
    filters = _OF_RUN + (f"\n{read('filters_only')}" if only else "")
    return query.filtered(read(name).replace(_FILTERS, filters))


def read(name: str) -> str:
    """Return a query of the dashboard, or of the store if a page and a report share it."""
    return (queries_of(_FOLDER).get(name) or query.marked(name)).rstrip()


def names(statement: str) -> list[str]:
    """Return the names of the parameters of a query, each once."""
    return list(dict.fromkeys(_PARAMETER.findall(statement)))


def written_out(statement: str, params: Mapping[str, Any]) -> str:
    """Return the query with each parameter as a literal."""
    return _PARAMETER.sub(lambda match: literal(params[match[1]]), statement)


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
