import json
import math
import os
from types import SimpleNamespace

import msgspec
import pytest

from store import query
from store.errors import NoSuchSource
from store.ingest import ingest, run
from tests.store.factory import demo_runs, make_config, make_record, write_lines, write_run
from tests.store.peer_records import peer_record, write_peer


def count(store_dir, table="records"):
    with query.connect(query.current_snapshot(store_dir)) as con:
        return con.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def rows(store_dir, sql):
    with query.connect(query.current_snapshot(store_dir)) as con:
        return con.execute(sql).fetchall()


WRITTEN = []
"""What writes files into the home of `odd`."""


def written(write):
    WRITTEN.append(write)
    return write


@pytest.fixture(scope="module")
def ingested_home(tmp_path_factory):
    """A home of files of all kinds, each test's in a folder of its own, ingested at once; what the ingest reported."""
    home = tmp_path_factory.mktemp("odd")
    for write in WRITTEN:
        (home / write.__name__).mkdir()
        write(home / write.__name__)
    report = ingest([home], home / "store")

    def ask(sql):
        """Ask for results, or other rows that know their model."""
        return rows(home / "store", sql)

    def rejected(write):
        return [each for each in report.rejected if each.path.startswith(str(home / write.__name__))]

    return SimpleNamespace(home=home, store=home / "store", report=report, ask=ask, rejected=rejected)


OF_OTHER_CHANGES = 4
"""Files of `changed` that are changed or new beside those of `files_that_change`: a copy, a longer one, a run's two."""
CHANGES = []
"""What writes files into the home of `changed` before its first ingest, and, called with True, before its second."""


def change(write):
    CHANGES.append(write)
    return write


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A home whose files were ingested, changed, and ingested again; what both ingests reported."""
    home, reports = tmp_path_factory.mktemp("changed"), []
    for again in (False, True):
        for write in CHANGES:
            (home / write.__name__).mkdir(exist_ok=True)
            write(home / write.__name__, again)
        reports.append(ingest([home], home / "store"))
    first, second = reports

    def ask(sql):
        return rows(home / "store", sql)

    return SimpleNamespace(store=home / "store", first=first, second=second, ask=ask)


def test_a_home_is_ingested_with_all_its_runs_and_a_second_ingest_adds_nothing(tmp_path):
    demo_runs(tmp_path)
    first = ingest([tmp_path], tmp_path / "store")
    assert (first.files_n, first.changed_files_n, first.records_n, first.exit_code) == (4, 4, 92, 0)
    assert first.published
    assert first.snapshot == query.current_snapshot(tmp_path / "store")
    second = ingest([tmp_path], tmp_path / "store")
    assert (second.changed_files_n, second.records_n, second.published) == (0, 0, False)
    assert second.snapshot == first.snapshot


def test_a_path_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(NoSuchSource, match="Name a run folder"):
        ingest([tmp_path / "nothing"], tmp_path / "store")


def test_an_empty_folder_gives_an_empty_index(tmp_path):
    (tmp_path / "home").mkdir()
    report = ingest([tmp_path / "home"], tmp_path / "store")
    assert report.records_n == 0
    assert count(tmp_path / "store", "results") == 0


def test_the_plans_of_many_runs_do_not_wait_in_memory_for_the_first_record(tmp_path, monkeypatch):
    """The run.json files come first: in one transaction the plans of 10 million results took 2 GB."""
    monkeypatch.setattr(run, "TRANSACTION_LINES", 2)
    monkeypatch.setattr(run, "BATCH_PIECES", 1)
    demo_runs(tmp_path)
    committed, write = [], run._write

    def observed(con, *args):
        with con.cursor() as reader:
            committed.append(reader.execute("SELECT count(DISTINCT path) FROM work.plan_entries").fetchall())
        write(con, *args)

    monkeypatch.setattr(run, "_write", observed)
    ingest([tmp_path], tmp_path / "store")
    assert committed == [[(0,)], [(1,)], [(2,)], [(2,)]]


def test_an_unterminated_line_is_pending_until_it_is_whole(tmp_path):
    first, second, third = (
        msgspec.json.encode(make_record(model=name)) + b"\n" for name in ("vgg16", "alexnet", "dcgan")
    )
    short, long = tmp_path / "home" / "a.jsonl", tmp_path / "home" / "b.jsonl"
    short.parent.mkdir()
    short.write_bytes(first + second[:100])
    long.write_bytes(first + third[:-1])
    for _ in range(2):  # also where nobody has written to the files
        report = ingest([short.parent], tmp_path / "store")
        assert report.pending == [(str(path), 2, len(first)) for path in (short, long)]
        assert (report.rejected, report.exit_code) == ([], 3)
    os.truncate(short, len(first))  # as the next writer does, which then writes it whole
    with long.open("ab") as file:
        file.write(b"\n")
    report = ingest([short.parent], tmp_path / "store")
    assert (report.records_n, report.pending, report.exit_code) == (1, [], 0)
    with short.open("ab") as file:
        file.write(second)
    report = ingest([short.parent], tmp_path / "store")
    assert (report.records_n, report.pending, report.exit_code) == (1, [], 0)


BAD_LINES = {
    b"{": "not JSON",
    b"": "not JSON",
    b"null": "not an object but NoneType",
    b"[1, 2]": "not an object but list",
    b"\xff\xfe": "not UTF-8",
    b"{}": "missing required field `model`",
    b'{"model": {"model_name": 3}}': "model",
    json.dumps(peer_record(total_time=["oops"])).encode(): "metrics",
    json.dumps(peer_record(test="both")).encode(): "not eval or train",
    json.dumps(peer_record(timestamp=1e300)).encode(): "out of range",
    json.dumps(peer_record(batch_size=2**70)).encode(): "batch_size",
    json.dumps(peer_record() | {"record_id": "x"}).encode(): "record_id without run",
    json.dumps(peer_record() | {"measurement": {"quiet": {"rule": 2, "at_least_s": "?"}}}).encode(): "at_least_s",
    b"[" * 100_000: "unreadable JSON",
}


def _bad_file(number, line):
    """Return the content of a file with a bad line between two good ones, and where the line begins."""
    good, other = (json.dumps(peer_record(model=f"{each}-{number}")).encode() + b"\n" for each in ("dcgan", "dlrm"))
    return good + line + b"\n" + other, len(good)


@written
def bad_lines(folder):
    for number, line in enumerate(BAD_LINES):
        (folder / f"{number:02}.jsonl").write_bytes(_bad_file(number, line)[0])


def test_a_bad_line_is_rejected_with_its_place_and_good_ones_go_in(ingested_home):
    """Each in a file of its own, between two good ones."""
    folder, report = ingested_home.home / "bad_lines", ingested_home.rejected(bad_lines)
    expected = {
        str(folder / f"{number:02}.jsonl"): (_bad_file(number, line)[1], reason)
        for number, (line, reason) in enumerate(BAD_LINES.items())
    }
    assert ingested_home.report.exit_code == 3
    assert {each.path for each in report} == expected.keys()
    for rejected in report:
        offset, reason = expected[rejected.path]
        assert (rejected.line_number, rejected.byte_offset) == (2, offset)
        assert reason in rejected.reason
    stored = ingested_home.ask(
        f"SELECT path, line_number, byte_offset, reason FROM rejected_lines WHERE starts_with(path, '{folder}')"
    )
    assert sorted(stored) == sorted((each.path, each.line_number, each.byte_offset, each.reason) for each in report)
    [(good_n,)] = ingested_home.ask("SELECT count(*) FROM records WHERE regexp_matches(model, '^(dcgan|dlrm)-')")
    assert good_n == 2 * len(BAD_LINES)
    assert ingest([folder], ingested_home.store).exit_code == 0


@written
def non_finite(folder):
    write_peer(folder / "a.jsonl", [peer_record("infinite", total_time=[1.0, 0.1, 0.1, float("nan"), 0.5])])


def test_non_finite_tokens_of_pythons_json_become_null_with_a_warning(ingested_home):
    [(n, latency, warnings, peer_exec)] = ingested_home.ask(
        "SELECT steady_n, latency_s, warnings, peer_exec_s FROM results WHERE model = 'infinite'"
    )
    assert (n, latency, peer_exec) == (1, 0.5, None)
    assert warnings == ["2 non-finite number(s) read as null"]


@change
def files_that_change(folder, again):
    """One is cut, one replaced by a record that another one holds as well, one edited without a change of its size."""
    cut, one, two, edited = (folder / f"{name}.jsonl" for name in ("cut", "one", "two", "edited"))
    if not again:
        write_lines(cut, [make_record(), make_record(model="vgg16")])
        for path in (one, two):
            write_lines(path, [make_record(model="held")])
        write_lines(edited, [make_record(model="aaaa"), *(make_record(model=f"m{i}") for i in range(5))])
        return
    write_lines(cut, [make_record(model="vgg16")])
    write_lines(one, [make_record(model="other")])
    edited.write_bytes(edited.read_bytes().replace(b"aaaa", b"bbbb"))
    os.utime(edited, ns=(0, 10**18))


def test_a_file_that_changed_is_read_anew_and_loses_what_it_lost(changed):
    assert (changed.second.changed_files_n, changed.second.published) == (3 + OF_OTHER_CHANGES, True)
    models = ["bbbb", "held", "m0", "m1", "m2", "m3", "m4", "other", "vgg16"]
    for table in ("records", "results"):
        found = changed.ask(f"SELECT model FROM {table} WHERE run_id = 'run-1' ORDER BY 1")
        assert [model for (model,) in found] == models
    assert changed.ask("SELECT count(*) FROM samples JOIN records USING (record_id) WHERE run_id = 'run-1'") == [
        (10 * len(models),)
    ]


@change
def copied_files(folder, again):
    write_peer(folder / f"{again}.jsonl", [peer_record(), peer_record(), peer_record(model="dlrm")])


def test_the_same_file_from_another_path_is_no_duplicate(changed):
    assert changed.second.known_n == 3
    assert changed.ask("SELECT model FROM records WHERE model IN ('BERT_pytorch', 'dlrm') ORDER BY 1") == [
        ("BERT_pytorch",),
        ("BERT_pytorch",),
        ("dlrm",),
    ]


@change
def equal_records(folder, again):
    write_peer(folder / "a.jsonl", [peer_record("equal")] * (2 if again else 1))


def test_two_equal_foreign_records_stay_two_across_ingests(changed):
    assert changed.ask("SELECT count(*) FROM records WHERE model = 'equal'") == [(2,)]
    [(equals,)] = changed.ask("SELECT warnings FROM results WHERE model = 'equal'")
    assert equals == ["2 records of this experiment in its file; the last one counts"]


@written
def taken_record_id(folder):
    records = [make_record(run_id="taken"), make_record(run_id="taken", per_iter=[0.5] * 8)]
    write_lines(folder / "a.jsonl", records)


def test_another_record_under_a_taken_record_id_is_rejected(ingested_home):
    [rejected] = ingested_home.rejected(taken_record_id)
    assert "another record with other content" in rejected.reason
    assert ingested_home.ask("SELECT latency_s FROM results WHERE run_id = 'taken'") == [(0.01,)]


@change
def changed_plan(folder, again):
    planned = [make_config(model="vgg16")] if again else []
    write_run(folder / "run", [make_record(run_id="planned")], planned)


def test_run_json_is_read_again_when_it_changes(changed):
    found = changed.ask("SELECT model, status FROM results WHERE run_id = 'planned' ORDER BY 1")
    assert found == [("resnet18", "ok"), ("vgg16", "not_run")]


@written
def broken_run_json(folder):
    run = write_run(folder / "run", [make_record(run_id="broken")])
    (run / "run.json").write_text("{")


def test_a_broken_run_json_is_reported_and_its_records_go_in(ingested_home):
    [rejected] = ingested_home.rejected(broken_run_json)
    assert rejected.path.endswith("run.json")
    assert ingested_home.ask("SELECT plan_known FROM results WHERE run_id = 'broken'") == [(False,)]


UNKNOWN_KEYS = msgspec.to_builtins(make_record(run_id="unknown")) | {"later": {"deep": [1, None]}}


@written
def unknown_keys(folder):
    (folder / "a.jsonl").write_text(json.dumps(UNKNOWN_KEYS) + "\n")


def test_unknown_keys_are_kept(ingested_home):
    [(text,)] = ingested_home.ask("SELECT record FROM results WHERE run_id = 'unknown'")
    assert json.loads(text) == UNKNOWN_KEYS


@written
def newer_schema(folder):
    record = msgspec.to_builtins(make_record(status="oom", message="no room", run_id="newer"))
    record |= {"schema_version": 2, "status": "evicted", "fallback_ops": {"shape": "changed"}}
    (folder / "a.jsonl").write_text(json.dumps(record) + "\n")


def test_a_newer_schema_is_read_as_far_as_it_is_known(ingested_home):
    assert ingested_home.rejected(newer_schema) == []
    [(status, ran, reason, warnings)] = ingested_home.ask(
        "SELECT status, ran, reason, warnings FROM results WHERE run_id = 'newer'"
    )
    assert (status, ran, reason) == ("evicted", False, "no room")
    assert warnings == ["fallback_ops of schema version 2 is unknown to this version and was left out"]


@written
def changed_schema(folder):
    record = msgspec.to_builtins(make_record()) | {"fallback_ops": {"shape": "changed"}}
    (folder / "a.jsonl").write_text(json.dumps(record) + "\n")


def test_the_same_change_in_this_schema_is_an_error(ingested_home):
    assert len(ingested_home.rejected(changed_schema)) == 1


def test_the_peers_files_give_its_speedups(tmp_path, peer_files):
    report = ingest([peer_files], tmp_path / "store")
    assert (report.records_n, report.exit_code) == (22, 0)
    found = rows(
        tmp_path / "store",
        """SELECT model, round(speedup, 8), speedup_reason FROM speedups('inductor', NULL)
        WHERE backend = 'openxla+dynamo' AND accelerator_model LIKE '%A6000%'""",
    )
    assert found == [("BERT_pytorch", 2.84589073, None)]
    absent = rows(tmp_path / "store", "SELECT DISTINCT model, status, reason FROM results WHERE NOT ran")
    assert absent == [("Background_Matting", "invalid", "no total_time in the record")]


WITHOUT_A_NUMBER = {
    "skipped": ({"error": "SKIP"}, None, "skipped", "skipped by the peer's runner"),
    "raised": ({"error": "Traceback\n  x\nValueError: bad shape\n"}, None, "run_error", "ValueError: bad shape"),
    "without times": ({}, None, "invalid", "no total_time in the record"),
    "short": ({}, [1.0, 2.0, 3.0], "invalid", "3 timed blocks; the peer's rule needs more than 3"),
    "timeless": ({}, [1.0, 1.0, 1.0, 0.0], "invalid", "a steady block took no time or less"),
}


@written
def without_a_number(folder):
    records = [
        peer_record(model=model, total_time=times, **metrics)
        for model, (metrics, times, *_) in WITHOUT_A_NUMBER.items()
    ]
    write_peer(folder / "a.jsonl", records)


def test_a_peer_record_without_a_number_says_why(ingested_home):
    found = ingested_home.ask("SELECT model, status, ran, reason, latency_s FROM results ORDER BY model")
    assert [row for row in found if row[0] in WITHOUT_A_NUMBER] == [
        (model, status, False, reason, None) for model, (*_, status, reason) in sorted(WITHOUT_A_NUMBER.items())
    ]


@written
def null_metrics(folder):
    write_peer(folder / "a.jsonl", [peer_record("null") | {"metrics": None}])


def test_a_peer_file_without_its_newer_keys_and_with_null_metrics_goes_in(ingested_home):
    assert ingested_home.rejected(null_metrics) == []
    assert ingested_home.ask("SELECT count(*) FROM records WHERE model = 'null'") == [(1,)]


def test_a_spread_over_the_smallest_number_of_all_is_infinite_and_its_line_goes_in(tmp_path):
    """No number of digits can be given to it."""
    write_peer(tmp_path / "results.jsonl", [peer_record(total_time=(15.0, 1.0, 1.0, 5e-324, 5e-324, 5e-324, 1.0, 1.0))])
    assert ingest([tmp_path], tmp_path / "store").rejected == []
    assert rows(tmp_path / "store", "SELECT latency_spread, time_to_steady_s FROM records") == [(math.inf, 17.0)]
