"""Read a snapshot: a connection that can neither write nor reach files, filters, and typed queries over the views."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import duckdb
import msgspec

from store.database import snapshot
from store.database.migrate import is_current, refuse_unknown_format
from store.errors import NoSnapshot, StorageError
from store.files import queries_of

if TYPE_CHECKING:
    import pandas as pd

Connection: TypeAlias = snapshot.Connection


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Filters on a view: values of one column are alternatives, and an empty tuple does not filter."""

    suite: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    backend: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    accelerator: tuple[str, ...] = ()
    dtype: tuple[str, ...] = ()
    run: tuple[str, ...] = ()

    def parameters(self) -> dict[str, list[str]]:
        return {name: list(getattr(self, name)) for name in self.__struct_fields__}


ALL = Filters()


DEFAULT_BASELINE = "inductor"
_DAMAGE = (duckdb.IOException, duckdb.FatalException, duckdb.InternalException, duckdb.SerializationException)
"""Exceptions of reading a damaged block."""
_NOT_OURS = (duckdb.CatalogException, duckdb.InvalidInputException)
"""Exceptions of opening a database that is no index of xlabench, or no longer one."""
_COSTLY_PASSES = "compressed_materialization,distinct_aggregate_rewrite"
"""Passes of DuckDB's optimizer that save less in our queries than planning takes with them: one wraps every sort and
grouping into projections of all columns, the other makes a join of each DISTINCT in an aggregate."""
_FILTERS = re.compile(r"/\*filters(?: without ([a-z ]+))?\*/")
"""Placeholder in the text of a query for the conditions of `Filters`, perhaps without some of them."""
_FOLDER = Path(__file__).with_name("queries")


def current_snapshot(store_dir: str | os.PathLike[str]) -> Path | None:
    """Return the newest snapshot of a store folder; None where nothing was published, or `CURRENT` is damaged."""
    return snapshot.current(Path(store_dir))


def refuse_damaged(store_dir: str | os.PathLike[str]) -> None:
    """Check the file that names the newest snapshot, where there is one.

    Raises:
        StorageError: it names no snapshot of the folder.
    """
    pointer = Path(store_dir) / snapshot.POINTER
    if pointer.exists() and snapshot.current(Path(store_dir)) is None:
        raise StorageError(
            f"The file {pointer} is damaged: it names no index of this store. Run `xlabench ingest`, which publishes "
            "the index again; nothing is lost."
        )


def connect(path: str | os.PathLike[str], *, memory: str | None = None) -> Connection:
    """Open a snapshot read-only; the connection can neither access other files nor change settings.

    Args:
        path: path of the snapshot.
        memory: memory limit for queries and cached blocks together, such as `300MB`; None: DuckDB's own limit, which
            is most of the machine's memory. All connections of a process to one snapshot need the same limit.

    Raises:
        NoSnapshot: there is no snapshot at this path.
        StorageError: it is damaged, or it was written by another version and lacks columns or views of this one.
    """
    if not Path(path).is_file():
        raise NoSnapshot(f"There is no index at {path}. Run `xlabench ingest` first.")
    config: dict[str, str | bool | int | float | list[str]] = {
        "enable_external_access": "false",
        "python_enable_replacements": "false",
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
        "disabled_optimizers": _COSTLY_PASSES,
        "lock_configuration": "true",
    }
    if memory is not None:
        config["memory_limit"] = memory
    with _damage_as_error(*_NOT_OURS):
        con = duckdb.connect(str(path), read_only=True, config=config)
    try:
        with _damage_as_error(*_NOT_OURS):
            _refuse_old(con)
    except BaseException:
        con.close()
        raise
    return con


@contextmanager
def _damage_as_error(*further: type[duckdb.Error]) -> Iterator[None]:
    """Turn exceptions of damaged blocks, and those of `further`, into a `StorageError` with one sentence."""
    try:
        yield
    except duckdb.Error as error:
        # A block whose checksum is wrong raises the base class itself.
        if type(error) is not duckdb.Error and not isinstance(error, (*_DAMAGE, *further)):
            raise
        raise StorageError(
            f"The index is damaged ({str(error).splitlines()[0][:200]}). Run `xlabench ingest`: it rebuilds "
            "the index from the run folders; nothing is lost."
        ) from error


def _refuse_old(con: Connection) -> None:
    if not is_current(con):
        refuse_unknown_format(con)
        raise StorageError("Another version of xlabench wrote the index. Run `xlabench ingest` once to migrate it.")


def select(con: Connection, sql: str, params: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Return the rows of a query; each call has a cursor of its own, so threads may share the connection."""
    cursor = con.cursor()
    try:
        with _damage_as_error():
            return cursor.execute(sql, dict(params or {})).df()
    finally:
        cursor.close()


def fetch(con: Connection, sql: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the rows of a query as dictionaries; NULL is None, where pandas would have NaN or NaT."""
    cursor = con.cursor()
    try:
        with _damage_as_error():
            rows = cursor.execute(sql, dict(params or {})).fetchall()
        names = [column[0] for column in cursor.description or ()]
    finally:
        cursor.close()
    return [dict(zip(names, row, strict=True)) for row in rows]


@cache
def named(name: str) -> str:
    """Return the text of a query in `store/queries` with the conditions of `Filters` in place of the placeholder."""
    return filtered(marked(name))


def filtered(text: str) -> str:
    """Return the text of a query with the conditions of `Filters` in place of the placeholders."""
    return _FILTERS.sub(lambda match: _conditions((match[1] or "").split()), text)


def _conditions(left_out: Sequence[str]) -> str:
    lines = [line.strip().removeprefix("AND ") for line in marked("filters").splitlines()]
    return "\n    AND ".join(line for line in lines if not any(f"(len(${name}::" in line for name in left_out))


def marked(name: str) -> str:
    """Return the text of a query in `store/queries` with its placeholders."""
    return queries_of(_FOLDER)[name]


def looks(con: Connection, runs: Iterable[str]) -> int:
    """Return the largest number of looks of these runs: how often verdicts may be judged as processes are added."""
    return int(fetch(con, named("looks"), {"runs": sorted(set(runs))})[0]["looks_n"])


def runs(con: Connection) -> pd.DataFrame:
    """Return rows of view `runs`, newest first."""
    return select(con, named("runs"))


def facets(con: Connection) -> pd.DataFrame:
    """Return the values of each filter: columns facet, value, results_n."""
    return select(con, named("facets"))


def with_baseline(filters: Filters, backend: str, run: str | None) -> dict[str, Any]:
    """Return the parameters of the named queries `speedups` and `geomeans`."""
    return filters.parameters() | {"baseline_backend": backend, "baseline_run": run}
