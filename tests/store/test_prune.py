"""Retention: samples leave the index, every result stays as it was, and every line stays in its folder."""

import hashlib
import json
import shutil
import time

import duckdb
import msgspec
import pytest

from store import query
from store.errors import PackFailed, UsageError, WriterBusy
from store.exporters import export
from store.files import unpacked
from store.ingest import ingest
from store.retention import prune_run
from store.run_file import PRUNED_FILE, RESULTS, Pruned, read_pruned, read_records
from store.writer import ResultsWriter
from tests import golden
from tests.packed import pack_results
from tests.store.contents import contents
from tests.store.factory import demo_records, make_environment, make_record, write_run
from tests.tiers import first_of

OF_SAMPLES = {"record", "pruned_at", "kept_rounds", "kept_rounds_s"}
"""Columns that say what was pruned; those of the blocks begin with `block_`."""
OF_FILES = {
    f"store {name}"
    for name in ("samples", "pruned_runs", "pruned_pools", "ingested_files", "record_sources", "index_facts")
}


def decided(folder, run_id=None):
    """Prune a run folder as the command does; the index does not know yet."""
    known = run_id or json.loads((folder / "run.json").read_text())["run"]["run_id"]
    return prune_run(folder, Pruned(run_id=known, pruned_at=time.time(), who="ann", rule="test", packed={}))


def rows(store, sql):
    with query.connect(query.current_snapshot(store)) as con:
        return con.execute(sql).fetchall()


def results(store, *, reported=True):
    """Return what every table, view and report says, without what pruning is meant to change."""
    found = golden.tables(store) | (golden.reports(store) if reported else {})
    return {
        name: sorted(json.dumps({key: value for key, value in row.items() if _stays(key)}) for row in each)
        for name, each in found.items()
        if name not in OF_FILES
    }


SHORT = ("matrix", "fallbacks", "payoffs")
"""Runs of reports, and one whose samples stay."""


def _stays(column):
    return not column.startswith("block_") and column not in OF_SAMPLES | golden.ELSEWHERE


@pytest.mark.parametrize("long", first_of([False, True]))
def test_results_verdicts_and_reports_of_real_runs_stay_as_they_were(tmp_path, monkeypatch, long):
    """Tables, views and reports, also with the views of another version; thorough: of all runs, also rebuilt."""
    shown = [words for words in golden.REPORTS if long or ("--run" in words and words[-1] == "json")]
    monkeypatch.setattr(golden, "REPORTS", shown)
    home, store = tmp_path / "home", tmp_path / "store"
    for place in golden.RUNS:
        for folder in (place / "runs").iterdir():
            if long or folder.name in SHORT:
                shutil.copytree(folder, home / "runs" / folder.name)
    ingest([home], store)
    before = results(store)
    folders = sorted(path.parent for path in home.glob("runs/*/run.json"))
    for folder in folders:
        decided(folder)
    ingest([home], store)
    assert rows(store, "SELECT DISTINCT purpose FROM records JOIN samples USING (record_id)") == [("payoff",)]
    assert results(store) == before
    stored = {name: rows for name, rows in before.items() if name.startswith("store ")}
    with duckdb.connect(str(query.current_snapshot(store))) as con:
        con.execute("UPDATE index_facts SET value = 'another' WHERE name = 'views'")
    (store / "work.duckdb").unlink(missing_ok=True)
    ingest([home], store)
    assert results(store, reported=False) == stored
    if long:
        pruned = contents(store)
        ingest([home], store, rebuild=True)
        assert results(store, reported=False) == stored
        assert contents(store) == pruned


@pytest.fixture
def folder(tmp_path):
    """The folder of a run of two processes each, with a bad line and one that a kill has torn."""
    records = demo_records("run-1", 1.7e9, 1.0, "nightly")
    timed = [record for record in records if record.status == "ok"][:4]
    records += [msgspec.structs.replace(each, record_id=f"{each.record_id}b", replica=1) for each in timed]
    made = write_run(tmp_path / "home" / "runs" / "run-1", records)
    with (made / RESULTS).open("ab") as file:
        file.write(b'{"bad"\n' + msgspec.json.encode(make_record(run_id="run-1"))[:-9])
    return made


def test_every_byte_stays_in_the_folder_and_the_decision_beside_it(folder, tmp_path):
    run = folder
    ingest([run], tmp_path / "store")
    whole = (run / RESULTS).read_bytes()
    after = decided(run)
    assert sorted(path.name for path in run.iterdir()) == [PRUNED_FILE, "results.jsonl.zst", "run.json"]
    packed = run / "results.jsonl.zst"
    assert packed.stat().st_size == after < len(whole) / 5
    with packed.open("rb") as file:
        assert unpacked(packed, file).read() == whole
    decision = read_pruned(run)
    assert (decision.who, decision.packed) == ("ann", {packed.name: hashlib.sha256(whole).hexdigest()})
    decided(run)
    assert read_pruned(run).packed == decision.packed
    report = ingest([run], tmp_path / "store")
    assert (report.records_n, len(report.rejected)) == (0, 2), "a bad line, and an unfinished last one"
    assert rows(tmp_path / "store", "SELECT count(*) FROM samples") == [(0,)]
    # A copy of the folder brings its decision along, also where only the file is named.
    copied = shutil.copytree(run, tmp_path / "copy")
    ingest([copied / packed.name], tmp_path / "other")
    assert rows(tmp_path / "other", "SELECT count(*), count(pruned_at) FROM records") == [(50, 50)]
    assert rows(tmp_path / "other", "SELECT count(*) FROM samples") == [(0,)]


def test_a_run_that_is_being_written_is_not_packed(folder):
    with ResultsWriter(folder / RESULTS), pytest.raises(WriterBusy):
        decided(folder)
    assert not (folder / PRUNED_FILE).exists()
    assert not list(folder.glob("*.zst*"))


def test_a_packed_file_that_reads_back_otherwise_never_takes_the_place(folder, monkeypatch):
    whole = (folder / RESULTS).read_bytes()
    monkeypatch.setattr("store.retention._write", lambda _file, target: target.write_bytes(b"damaged"))
    with pytest.raises(PackFailed):
        decided(folder)
    assert [path.name for path in folder.iterdir() if path.name != "run.json"] == [RESULTS]
    assert (folder / RESULTS).read_bytes() == whole


def test_a_run_that_was_pruned_keeps_its_decision(folder):
    """An index that has read it would differ from one that is rebuilt: a prune was killed, and is repeated."""
    decided(folder)
    before = (folder / PRUNED_FILE).read_bytes()
    decided(folder)
    assert (folder / PRUNED_FILE).read_bytes() == before


def test_what_a_resumed_run_adds_keeps_its_samples_until_it_is_pruned_again(folder, tmp_path):
    """One process more of a pruned result gives no number until a rebuild: its median would be that process's alone."""
    store, run = tmp_path / "store", folder
    before = sum(1 for _ in read_records(run / RESULTS))
    decided(run)
    ingest([run], store)
    first = next(record for record in read_records(run / RESULTS) if record.replica == 1)
    more = msgspec.structs.replace(first, record_id="c", replica=2, finished_at=2e9)
    timed = "SELECT experiment_id, latency_s FROM results WHERE latency_s IS NOT NULL ORDER BY ALL"
    latencies = dict(rows(store, timed))
    assert first.experiment_id in latencies
    with ResultsWriter(run / RESULTS) as writer:
        writer.append(make_record(run_id="run-1", model="later", timestamp=time.time() + 60))
        writer.append(more)
    assert sum(1 for _ in read_records(run / RESULTS)) == before + 2
    others = set(latencies.items()) - {(first.experiment_id, latencies[first.experiment_id])}
    for rebuild in (False, True):
        assert ingest([run], store, rebuild=rebuild).records_n == (2 if not rebuild else before + 2)
        kept = rows(store, "SELECT DISTINCT model, replica FROM records JOIN samples USING (record_id) ORDER BY ALL")
        assert kept == [(first.model.model_name, 2), ("later", 0)]
        now = rows(store, timed)
        assert others < set(now)
        assert (first.experiment_id in dict(now)) is rebuild
    decided(run)
    assert sorted(path.name for path in run.glob("results*")) == ["results.jsonl.1.zst", "results.jsonl.zst"]
    assert sum(1 for _ in read_records(run / RESULTS)) == before + 2


def test_lines_of_a_pruned_run_that_are_read_again_are_known_and_others_of_their_ids_are_not(tmp_path):
    record = make_record()
    folder = write_run(tmp_path / "run", [record])
    line = json.loads((folder / RESULTS).read_text())
    # What Python and JSON disagree about does not stop the pruning of a run.
    (folder / RESULTS).write_text(json.dumps({"later": 10**30, **line})[:-1] + ', "many": ' + "7" * 5000 + "}\n")
    copied = shutil.copytree(folder, tmp_path / "copy")
    decided(folder)
    assert ingest([folder], tmp_path / "store").records_n == 1
    again = ingest([copied], tmp_path / "store")
    assert (again.records_n, again.known_n, again.rejected) == (0, 1, [])
    changed = write_run(tmp_path / "changed", [msgspec.structs.replace(record, reproduce="other")])
    assert "same record_id" in ingest([changed], tmp_path / "store").rejected[0].reason
    assert "samples_pruned" in rows(tmp_path / "store", "SELECT record FROM records")[0][0]


def test_a_decision_that_cannot_be_read_is_rejected_and_the_run_is_read(tmp_path):
    folder = write_run(tmp_path / "run", [make_record()])
    (folder / PRUNED_FILE).write_bytes(b'{"run_id": "run-1", "pruned_at": "soon"}')
    report = ingest([folder], tmp_path / "store")
    assert (report.records_n, report.exit_code) == (1, 3)
    assert rows(tmp_path / "store", "SELECT count(*) > 0 FROM samples") == [(True,)]


def test_exports_that_need_samples_leave_pruned_runs_out_and_say_so(folder, tmp_path):
    kept = write_run(tmp_path / "kept", [make_record(run_id="kept", environment=make_environment(host="b"))])
    pack_results(kept)
    decided(folder)
    report = ingest([folder, kept], tmp_path / "store")
    with query.connect(report.snapshot) as con:
        done = export(con, "jsonl", output=tmp_path / "lines")
        assert done.records_n == 1
        assert "left out (run-1)" in done.notes[-1]
        assert [path.name for path in (tmp_path / "lines").iterdir()] == ["kept"]
        with pytest.raises(UsageError, match="pruned"):
            export(con, "parquet", ["run-1"], tmp_path / "parquet")
        assert "samples lacks 1" in export(con, "tables", output=tmp_path / "tables").notes[-1]
        assert not list((tmp_path / "tables" / "samples").glob("*/run-1.parquet"))
        assert list((tmp_path / "tables" / "results").glob("*/run-1.parquet"))
