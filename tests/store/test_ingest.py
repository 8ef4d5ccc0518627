import json
import os

import msgspec
import pytest

from store import query
from store.errors import NoSuchSource
from store.ingest import ingest
from tests.store.factory import demo_runs, make_record, write_lines, write_run
from tests.store.peer_records import peer_record, write_peer


def count(store_dir, table="records"):
    with query.connect(query.current_snapshot(store_dir)) as con:
        return con.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def rows(store_dir, sql):
    with query.connect(query.current_snapshot(store_dir)) as con:
        return con.execute(sql).fetchall()


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


def test_an_unterminated_line_is_pending_until_it_is_whole(tmp_path):
    path = tmp_path / "results.jsonl"
    first, second = (msgspec.json.encode(make_record(model=name)) + b"\n" for name in ("vgg16", "alexnet"))
    for unfinished in (second[:100], second[:-1], second[:-1]):  # also where nobody has written to the file
        path.write_bytes(first + unfinished)
        report = ingest([path], tmp_path / "store")
        assert report.pending == [(str(path), 2, len(first))]
        assert (report.rejected, report.exit_code) == ([], 3)
    os.truncate(path, len(first))  # as the next writer does, which then writes it whole
    assert ingest([path], tmp_path / "store").pending == []
    with path.open("ab") as file:
        file.write(second)
    report = ingest([path], tmp_path / "store")
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


def test_a_bad_line_is_rejected_with_its_place_and_good_ones_go_in(tmp_path):
    """Each in a file of its own, between two good ones."""
    expected = {}
    for number, (line, reason) in enumerate(BAD_LINES.items()):
        path = tmp_path / "runs" / f"{number:02}.jsonl"
        good, other = (json.dumps(peer_record(model=f"{each}-{number}")).encode() + b"\n" for each in ("dcgan", "dlrm"))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(good + line + b"\n" + other)
        expected[str(path)] = (len(good), reason)
    report = ingest([tmp_path / "runs"], tmp_path / "store")
    assert (report.records_n, report.exit_code) == (2 * len(BAD_LINES), 3)
    assert {each.path for each in report.rejected} == expected.keys()
    for rejected in report.rejected:
        offset, reason = expected[rejected.path]
        assert (rejected.line_number, rejected.byte_offset) == (2, offset)
        assert reason in rejected.reason
    stored = rows(tmp_path / "store", "SELECT path, line_number, byte_offset, reason FROM rejected_lines")
    assert sorted(stored) == sorted(
        (each.path, each.line_number, each.byte_offset, each.reason) for each in report.rejected
    )
    assert ingest([tmp_path / "runs"], tmp_path / "store").exit_code == 0


def test_non_finite_tokens_of_pythons_json_become_null_with_a_warning(tmp_path):
    write_peer(tmp_path / "a.jsonl", [peer_record(total_time=[1.0, 0.1, 0.1, float("nan"), 0.5])])
    ingest([tmp_path / "a.jsonl"], tmp_path / "store")
    [(n, latency, warnings, peer_exec)] = rows(
        tmp_path / "store", "SELECT steady_n, latency_s, warnings, peer_exec_s FROM results"
    )
    assert (n, latency, peer_exec) == (1, 0.5, None)
    assert warnings == ["2 non-finite number(s) read as null"]


def test_a_file_that_changed_is_read_anew_and_loses_what_it_lost(tmp_path):
    """One is cut, one replaced by a record that another one holds as well, one edited without a change of its size."""
    cut, one, two, edited = (tmp_path / "files" / f"{name}.jsonl" for name in ("cut", "one", "two", "edited"))
    write_lines(cut, [make_record(), make_record(model="vgg16")])
    for path in (one, two):
        write_lines(path, [make_record(model="held")])
    write_lines(edited, [make_record(model="aaaa"), *(make_record(model=f"m{i}") for i in range(5))])
    ingest([tmp_path / "files"], tmp_path / "store")
    write_lines(cut, [make_record(model="vgg16")])
    write_lines(one, [make_record(model="other")])
    edited.write_bytes(edited.read_bytes().replace(b"aaaa", b"bbbb"))
    os.utime(edited, ns=(0, 10**18))
    report = ingest([tmp_path / "files"], tmp_path / "store")
    assert (report.changed_files_n, report.published) == (3, True)
    models = ["bbbb", "held", "m0", "m1", "m2", "m3", "m4", "other", "vgg16"]
    for table in ("records", "results"):
        found = rows(tmp_path / "store", f"SELECT model FROM {table} ORDER BY 1")
        assert [model for (model,) in found] == models
    assert count(tmp_path / "store", "samples") == 10 * len(models)


def test_the_same_file_from_another_path_is_no_duplicate(tmp_path):
    records = [peer_record(), peer_record(), peer_record(model="dlrm")]
    write_peer(tmp_path / "a.jsonl", records)
    write_peer(tmp_path / "copy" / "b.jsonl", records)
    assert ingest([tmp_path / "a.jsonl"], tmp_path / "store").records_n == 3
    report = ingest([tmp_path / "copy"], tmp_path / "store")
    assert (report.records_n, report.known_n) == (0, 3)


def test_two_equal_foreign_records_stay_two_across_ingests(tmp_path):
    path = write_peer(tmp_path / "a.jsonl", [peer_record()])
    ingest([path], tmp_path / "store")
    with path.open("a") as file:
        file.write(json.dumps(peer_record()) + "\n")
    assert ingest([path], tmp_path / "store").records_n == 1
    assert count(tmp_path / "store") == 2
    [(equals,)] = rows(tmp_path / "store", "SELECT warnings FROM results")
    assert equals == ["2 records of this experiment in its file; the last one counts"]


def test_another_record_under_a_taken_record_id_is_rejected(tmp_path):
    write_lines(tmp_path / "a.jsonl", [make_record(), make_record(per_iter=[0.5] * 8)])
    report = ingest([tmp_path / "a.jsonl"], tmp_path / "store")
    assert report.records_n == 1
    assert "another record with other content" in report.rejected[0].reason


def test_run_json_is_read_again_when_it_changes(tmp_path):
    folder = write_run(tmp_path / "run", [make_record()])
    ingest([folder], tmp_path / "store")
    write_run(folder, [make_record()])
    assert count(tmp_path / "store", "plan_entries") == 1
    from tests.store.factory import make_config

    write_run(folder, [make_record()], [make_config(model="vgg16")])
    assert ingest([folder], tmp_path / "store").published
    assert rows(tmp_path / "store", "SELECT model, status FROM results ORDER BY 1") == [
        ("resnet18", "ok"),
        ("vgg16", "not_run"),
    ]


def test_a_broken_run_json_is_reported_and_its_records_go_in(tmp_path):
    folder = write_run(tmp_path / "run", [make_record()])
    (folder / "run.json").write_text("{")
    report = ingest([folder], tmp_path / "store")
    assert (report.records_n, report.exit_code) == (1, 3)
    assert report.rejected[0].path.endswith("run.json")
    assert rows(tmp_path / "store", "SELECT plan_known FROM results") == [(False,)]


def test_unknown_keys_are_kept(tmp_path):
    record = msgspec.to_builtins(make_record()) | {"later": {"deep": [1, None]}}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    ingest([tmp_path / "a.jsonl"], tmp_path / "store")
    [(text,)] = rows(tmp_path / "store", "SELECT record FROM results")
    assert json.loads(text) == record


def test_a_newer_schema_is_read_as_far_as_it_is_known(tmp_path):
    record = msgspec.to_builtins(make_record(status="oom", message="no room"))
    record |= {"schema_version": 2, "status": "evicted", "fallback_ops": {"shape": "changed"}}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    assert ingest([tmp_path / "a.jsonl"], tmp_path / "store").exit_code == 0
    [(status, ran, reason, warnings)] = rows(tmp_path / "store", "SELECT status, ran, reason, warnings FROM results")
    assert (status, ran, reason) == ("evicted", False, "no room")
    assert warnings == ["fallback_ops of schema version 2 is unknown to this version and was left out"]


def test_the_same_change_in_this_schema_is_an_error(tmp_path):
    record = msgspec.to_builtins(make_record()) | {"fallback_ops": {"shape": "changed"}}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    assert ingest([tmp_path / "a.jsonl"], tmp_path / "store").exit_code == 3


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


def test_a_peer_record_without_a_number_says_why(tmp_path):
    records = [
        peer_record(model=model, total_time=times, **metrics)
        for model, (metrics, times, *_) in WITHOUT_A_NUMBER.items()
    ]
    write_peer(tmp_path / "a.jsonl", records)
    ingest([tmp_path / "a.jsonl"], tmp_path / "store")
    found = rows(tmp_path / "store", "SELECT model, status, ran, reason, latency_s FROM results ORDER BY model")
    assert found == [
        (model, status, False, reason, None) for model, (*_, status, reason) in sorted(WITHOUT_A_NUMBER.items())
    ]


def test_a_peer_file_without_its_newer_keys_and_with_null_metrics_goes_in(tmp_path):
    record = peer_record()
    record["metrics"] = None
    write_peer(tmp_path / "a.jsonl", [record])
    assert ingest([tmp_path / "a.jsonl"], tmp_path / "store").exit_code == 0
