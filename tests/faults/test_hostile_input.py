"""No line and no file ends an ingest: each is read, or rejected with its place and a reason."""

import itertools
import json
import multiprocessing
import os
import tempfile
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import strategies as st

from store import query
from store.errors import NoSuchSource
from store.ingest import ingest
from tests.faults import hostile
from tests.faults.fault_rows import add_row
from tests.store.factory import make_record, write_run
from tests.store.peer_records import peer_record
from tests.store.relations import RELATIONS

thorough = (pytest.mark.slow, pytest.mark.thorough)


def read_everything(snapshot):
    """Read every row of every view: no value that was taken in stops one."""
    with query.connect(snapshot) as con:
        for relation in RELATIONS.values():
            con.execute(f"SELECT * FROM {relation}").fetchall()


# What a new seed of `hostile.SEED` finds is added here.
FOUND = {
    "half of a surrogate pair where no text belongs": json.dumps(
        peer_record(load_time_s=float("nan")) | {"findings": "\ud800"}
    ).encode(),
    "half of a surrogate pair as a key": json.dumps(peer_record() | {"\ud800": float("nan")}).encode(),
    "an integer of 400 digits": hostile.replaced(peer_record(), ("metrics", "total_time", 0), "9" * 400),
    "an unknown integer of 5000 digits": json.dumps(peer_record()).encode()[:-1] + b', "u": ' + b"9" * 5000 + b"}",
}


def test_what_once_ended_an_ingest_is_rejected_with_its_place(tmp_path):
    good = msgspec.json.encode(make_record())
    lines = [good, *FOUND.values()]
    (tmp_path / "a.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    report = ingest([tmp_path / "a.jsonl"], tmp_path / "store")
    assert (report.records_n, report.exit_code) == (1, 3)
    offsets = list(itertools.accumulate(len(line) + 1 for line in lines[:-1]))
    places = list(enumerate(offsets, start=2))
    assert sorted((line.line_number, line.byte_offset) for line in report.rejected) == places
    assert all(line.reason for line in report.rejected)
    said = "rejected with line, offset and reason; the other lines are read"
    add_row("lines that used to abort an ingest", len(FOUND), said)


def test_a_second_record_of_an_id_is_rejected_whatever_the_first_holds(tmp_path):
    """Nobody reads what no column is made of: an integer of 5000 digits comes in, and is met when its id returns."""
    good = msgspec.json.encode(make_record())
    odd = good[:-1] + b', "unknown": [' + b"9" * 5000 + b"]}"
    (tmp_path / "a.jsonl").write_bytes(b"\n".join([odd, good, odd, b""]))
    report = ingest([tmp_path / "a.jsonl"], tmp_path / "store")
    assert report.records_n + report.known_n + len(report.rejected) == 3
    assert report.records_n == 1
    assert report.exit_code == 3
    add_row(
        "two records with the same id, with an integer of 5,000 digits", 1, "one is read, the other rejected or known"
    )


INGESTED_N = 200
"""Lines of one file: more than one example has room for."""


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("examples_n", [2, pytest.param(250, marks=thorough)])
def test_every_line_is_read_or_rejected(tmp_path_factory, examples_n):
    counts, waiting = Counter(), []

    def body(drawn):
        waiting.extend(drawn)
        if len(waiting) >= INGESTED_N:
            look(waiting)
            waiting.clear()

    def look(lines):
        folder = tmp_path_factory.mktemp("lines")
        (folder / "results.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
        report = ingest([folder], folder / "store")
        assert report.records_n + report.known_n + len(report.rejected) == len(lines)
        assert all(line.reason and line.line_number for line in report.rejected)
        assert report.exit_code == (3 if report.rejected else 0)
        read_everything(report.snapshot)
        counts.update(lines=len(lines), read=report.records_n + report.known_n, rejected=len(report.rejected))

    hostile.property_of(body, hostile.lines(40, 40), examples_n)
    if waiting:
        look(waiting)
    said = f"{counts['read']} read, {counts['rejected']} rejected"
    lost = counts["lines"] - counts["read"] - counts["rejected"]
    add_row("hostile lines of a results.jsonl", counts["lines"], said, lost=lost)


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=thorough) for kind in hostile.FILES])
def test_every_file_is_read_or_rejected(tmp_path_factory, kind):
    files = st.lists(hostile.FILES[kind], min_size=25, max_size=25)
    outcomes = _outcomes_of(tmp_path_factory, files, 20)
    said = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
    add_row(f"hostile files: {kind}", sum(outcomes.values()), said, lost=outcomes["lost"])


def test_every_file_is_read_or_rejected_among_files_of_other_tools(tmp_path_factory):
    files = st.tuples(*hostile.FILES.values()).map(list)
    _outcomes_of(tmp_path_factory, files, 2)


def _outcomes_of(tmp_path_factory, strategy, examples_n):
    """Ingest so many lists of files, each beside a good run; return how often which outcome was met."""
    counts = Counter()

    def body(files):
        folder = tmp_path_factory.mktemp("files")
        write_run(folder / "zz-good", [make_record(model="beside", run_id="good")])
        paths = [folder / f"{number:02}" / name for number, (name, _) in enumerate(files)]
        for path, (_, data) in zip(paths, files, strict=True):
            path.parent.mkdir()
            path.write_bytes(data)
        report = ingest([*paths, folder / "zz-good"], folder / "store")
        outcomes = Counter(_outcomes(report, paths))
        assert (sum(outcomes.values()), outcomes["lost"]) == (len(files), 0)
        assert report.exit_code == (3 if report.rejected else 0)
        with query.connect(report.snapshot) as con:
            assert con.execute("SELECT count(*) FROM records WHERE model = 'beside'").fetchone() == (1,)
        read_everything(report.snapshot)
        counts.update(outcomes)

    hostile.property_of(body, strategy, examples_n)
    return counts


PARAM = {
    "an integer beyond every float": {"metric": {"forward": {"measure.time": [int("9" * 400)]}}},
    "half of a surrogate pair": {"op_name": "\ud800"},
    "a name for an argument": {"config": {"input": {"args": [{"of": 1}]}}},
    "a number for a shape": {"config": {"input": {"args": [{"type": "tensor", "shape": 5}]}}},
    "400 levels": {"config": {"input": {"args": [json.loads('{"type":"l","value":[' * 400 + "]}" * 400)]}}},
}


def test_lines_of_param_that_are_none_leave_the_others(tmp_path):
    good = {"op_name": "aten::mm", "id": "0", "metric": {"forward": {"measure.time": [1.0]}}}
    odd = [good | each | {"id": str(number)} for number, each in enumerate(PARAM.values(), start=1)]
    path = tmp_path / "param.json"
    path.write_text("".join(json.dumps(line) + "\n" for line in ({"run_options": {}, "sys_info": {}}, *odd, good)))
    write_run(tmp_path / "run", [make_record()])
    report = ingest([path, tmp_path / "run"], tmp_path / "store")
    assert report.records_n + len(report.rejected) == len(odd) + 2
    assert report.records_n >= 2
    assert {line.line_number for line in report.rejected} <= set(range(2, len(odd) + 2))
    said = "read, or rejected with the line; the others are read"
    add_row("lines of PARAM that used to abort an ingest", len(PARAM), said)


def test_files_that_cannot_be_opened_are_named_and_the_others_are_read(tmp_path):
    write_run(tmp_path / "run", [make_record()])
    (tmp_path / os.fsdecode(b"na\xffme.jsonl")).write_bytes(msgspec.json.encode(make_record(model="a")) + b"\n")
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.jsonl")
    report = ingest([tmp_path], tmp_path / "store")
    assert (report.records_n, report.exit_code) == (1, 3)
    assert [line.reason for line in report.rejected] == ["its name is not UTF-8: rename the file"]
    with pytest.raises(NoSuchSource, match="is not a file"):
        ingest([tmp_path / "pipe.jsonl"], tmp_path / "store")
    add_row("files that cannot be opened, or are none", 4, "named or left out; the others are read")


def test_what_may_not_be_read_is_named_and_the_others_are_read():
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        folder = Path(name)
        write_run(folder / "run", [make_record()])
        write_run(folder / "closed", [make_record(model="a", run_id="run-2")])
        (folder / "secret.jsonl").write_bytes(b"")
        ingest([folder / "run"], folder / "store")
        for path, mode in (
            (folder, 0o755),
            (folder / "closed", 0),
            (folder / "secret.jsonl", 0),
            (folder / "store", 0o777),
        ):
            path.chmod(mode)
        for path in (folder / "store").iterdir():
            path.chmod(0o666)
        child = multiprocessing.get_context("fork").Process(target=_ingest_as_nobody, args=(folder,))
        child.start()
        child.join(120)
        (folder / "closed").chmod(0o755)
        assert child.exitcode == 0
    add_row("a folder and a file without the right to read them", 2, "named; the others are read")


def _ingest_as_nobody(folder):
    if os.geteuid() == 0:  # root may read everything
        os.seteuid(65534)
    report = ingest([folder], folder / "store")
    assert report.exit_code == 3
    assert {Path(line.path).name: line.reason for line in report.rejected} == {
        "closed": "cannot be read: Permission denied",
        "secret.jsonl": "cannot be read: Permission denied",
    }


def _outcomes(report, paths):
    """Tell what became of each file; one that nothing was read of and that is not named is lost."""
    rejected = {line.path for line in report.rejected}
    with query.connect(report.snapshot) as con:
        known = "SELECT path FROM record_sources UNION SELECT path FROM run_files"
        read = {path for (path,) in con.execute(known).fetchall()}
    for path in paths:
        name, lines = str(path), path.read_bytes().strip().splitlines()
        if name in read:
            yield "read in part" if name in rejected else "read"
        elif name in rejected:
            yield "rejected"
        elif name in {line.path for line in report.pending}:
            yield "unfinished"
        else:
            yield "without records" if len(lines) <= 1 or _only_setup(lines) else "lost"


def _only_setup(lines):
    """Tell a file of PARAM's of which no line is one of an operator."""
    return all(b'"op_name"' not in line for line in lines)
