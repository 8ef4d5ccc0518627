"""What one record more costs until a reader has it, in turns with a plain copy of the index."""

import os
import re
import secrets
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from store import query
from store.ingest import ingest

TIMES = 9
MORE = 60
"""Publications one after the other, as while a run goes on: small row groups are joined once among them."""
LIMIT_S = 0.5
_REPLICAS = range(1000, 1_000_000)
"""Numbers of added processes of an experiment: runs have far fewer."""


class Spent(NamedTuple):
    """What a call took, and the bytes that it had the system write."""

    seconds: float
    cpu_s: float
    written: int


def one_more(home: Path, store: Path) -> None:
    """Print both, without the first of each: a process also imports, and a file is read for the first time."""
    ours, copies = [], []
    for _ in range(TIMES + 1):
        ours.append(_spent(lambda: _bring_in(home, store)))
        copies.append(_spent(lambda: _copy(store)))
    newest = query.current_snapshot(store)
    assert newest is not None
    size = newest.stat().st_size
    print(f"one record more, until a reader has it (limit {LIMIT_S} s), index of {size / 1e6:.0f} MB, n = {TIMES}:")
    for name, found in (("ours", ours[1:]), ("a copy of the index", copies[1:])):
        times = sorted(each.seconds for each in found)
        written = statistics.median(each.written for each in found)
        print(
            f"  {name}: {statistics.median(times):.2f} s ({times[0]:.2f} to {times[-1]:.2f}), "
            f"CPU {statistics.median(each.cpu_s for each in found):.2f} s, written {written / 1e6:.1f} MB",
            flush=True,
        )
    more = [_spent(lambda: _bring_in(home, store)).seconds for _ in range(MORE)]
    print(
        f"  {MORE} more, one after the other: {statistics.median(more):.2f} s, "
        f"the last 20 {statistics.median(more[-20:]):.2f} s, the slowest {max(more):.2f} s"
    )


def _spent(call: Callable[[], None]) -> Spent:
    began, cpu, written = time.perf_counter(), time.process_time(), _written()
    call()
    return Spent(time.perf_counter() - began, time.process_time() - cpu, _written() - written)


def _written() -> int:
    match = re.search(r"^write_bytes: (\d+)$", Path("/proc/self/io").read_text(encoding="ascii"), re.MULTILINE)
    return int(match[1]) if match else 0


def _bring_in(home: Path, store: Path) -> None:
    """Append the record of one more process of some experiment, ingest, and read it as a reader does: by its run.

    Its id is of random digits like all others: one before or after all of them would be looked up in no time. So is the
    number of its process, also where a home is measured again: of two records of one process the files are compared.
    """
    name, replica = secrets.token_hex(10), secrets.choice(_REPLICAS)
    last = max((home / "runs").iterdir()) / "results.jsonl"
    with last.open("rb") as file:
        line = secrets.choice(file.read(2**16).splitlines()[:-1])
    with last.open("ab") as file:
        line = re.sub(rb'"record_id":"[^"]*"', f'"record_id":"{name}"'.encode(), line)
        file.write(re.sub(rb'"replica":\d+', f'"replica":{replica}'.encode(), line) + b"\n")
    ingest([home / "runs"], store)
    with query.connect(str(query.current_snapshot(store))) as con:
        parameters = {"run": msgspec.json.decode(line)["run"]["run_id"], "name": name}
        query_of_one = "SELECT count(*) FROM records WHERE run_id = $run AND record_id = $name"
        assert con.execute(query_of_one, parameters).fetchall() == [(1,)]


def _copy(store: Path) -> None:
    newest, scratch = query.current_snapshot(store), store / "copied"
    assert newest is not None
    with newest.open("rb") as reader, scratch.open("wb") as writer:
        while data := reader.read(2**22):
            writer.write(data)
        writer.flush()
        os.fsync(writer.fileno())
    scratch.unlink()
