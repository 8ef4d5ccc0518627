"""What an export writes, refuses and says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import xlabench
from store import query
from store.errors import UsageError
from store.exporters import export, hud_data, tables
from store.exporters.peer import peer_record
from store.exporters.target import Target, folder_name
from tests.store import aggregate
from tests.store.factory import make_environment, make_record
from tests.store.scenes import Scenes


def lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


SCENES = Scenes()
scene = SCENES.scene
TIMED = make_record(metrics={"dynamo_counters": [{"stats": {}}], "accuracy": [], "note": "text", "odd": True})


@scene(
    TIMED,
    make_record(replica=1),
    make_record(purpose="calibration", twin_of=TIMED.record_id),
    make_record(backend="aot_eager"),
    make_record(model="dcgan", status="oom", per_iter=(), message="no memory"),
    make_record(model="vgg16", status="verify_only"),
)
def test_peer_leaves_out_what_its_tools_stop_at(scenes, run, tmp_path):
    """Other backends, A/A controls, further replicas, dict-valued metrics and empty lists."""
    done = export(scenes, "peer", [run], tmp_path / "peer.jsonl")
    found = {line["model"]["model_name"]: line for line in lines(tmp_path / "peer.jsonl")}
    assert set(found) == {"resnet18", "dcgan", "vgg16"}
    assert all(isinstance(value, list) and value for value in found["resnet18"]["metrics"].values())
    assert (found["dcgan"]["metrics"]["error"], found["vgg16"]["metrics"]) == ("no memory", {})
    assert done.notes == ("1 record of aot_eager is left out, because PyTorch/XLA's tools fail on them.",)


@scene(make_record(), make_record(model="dcgan", status="disturbed"), make_record(model="vgg16", status="oom"))
def test_peer_says_what_is_no_result_here(scenes, run, tmp_path):
    """The format has no word for times that were refused."""
    done = export(scenes, "peer", [run], tmp_path / "peer.jsonl")
    said = "1 record has the status disturbed, so xlabench uses none of their times, but PyTorch/XLA's tools will."
    assert (done.records_n, done.notes) == (3, (said,))


@scene(make_record(), make_record(cudagraphs=True))
def test_peer_says_what_it_cannot_tell_apart(scenes, run, tmp_path):
    done = export(scenes, "peer", [run], tmp_path / "peer.jsonl")
    assert done.notes[0].startswith("1 record differs from others only in fields that the format lacks")


def of_environments(*names):
    """Give a test the run of two backends in each of these environments."""
    records = [
        make_record(environment=make_environment(name), backend=backend)
        for name in names
        for backend in ("eager", "inductor")
    ]
    return scene(*records).args[1][0]


@pytest.mark.parametrize(("run", "alike"), [(of_environments("default"), 0), (of_environments("old", "new"), 2)])
def test_hud_csv_says_what_it_cannot_tell_apart(scenes, run, tmp_path, alike):
    """The harness measures one environment, so its files have none."""
    done = export(scenes, "hud-csv", [run], tmp_path / "hud")
    begins = [note.partition(". ")[0] for note in done.notes]
    said = f"Results in a file with another result of the same model and batch size: {alike}"
    assert begins == ([said] if alike else [])


@scene(make_record(), make_record(model="dcgan", status="oom"), make_record(model="vgg16", backend="eager"))
def test_hud_csv_says_of_what_it_makes_failures(scenes, run, tmp_path):
    """Without eager there is no speedup, and the harness's only line without one is that of a failure."""
    done = export(scenes, "hud-csv", [run], tmp_path / "hud")
    assert done.notes == ("Results written as failures, because they have a time but no speedup over eager: 1.",)


def test_a_time_that_is_null_is_an_error_to_the_peer():
    raw = {"model": {}, "experiment": {}, "metrics": {"total_time": [1.0, None]}}
    assert peer_record(raw, foreign=True)["metrics"] == {"error": "a time of this record is not finite"}


def test_the_peers_own_tools_read_it(demo_con, tmp_path):
    folder = aggregate.checkout()
    if folder is None:
        pytest.skip("$PYTORCH_XLA_DIR names no checkout of pytorch/xla with benchmarks/aggregate.py")
    export(demo_con, "peer", output=tmp_path / "out" / "peer.jsonl")
    analyzer = [sys.executable, str(folder / "result_analyzer.py"), "--output-dirname", str(tmp_path / "out")]
    subprocess.run([*analyzer, "--database", str(tmp_path / "base.csv")], check=True, capture_output=True)
    rows = (tmp_path / "out" / "metric_report.csv").read_text().splitlines()
    assert len(rows) == 1 + len(lines(tmp_path / "out" / "peer.jsonl"))
    arguments = ["--test=inference", "--format=csv", "--report=latest", "--baseline=latest"]
    backends = ["--backends", "inductor", "openxla+dynamo", "openxla+lazytensor", "eager"]
    files = [tmp_path / "out" / "peer.jsonl"]
    assert "BERT_pytorch" in aggregate.run_aggregate(tmp_path / "work", files, "Example", [[*arguments, *backends]])[0]


def test_parquet_has_the_columns_of_the_records_and_the_whole_line(demo_con, tmp_path):
    export(demo_con, "parquet", output=tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "records.parquet")
    columns = [name for name, *_ in demo_con.execute("DESCRIBE SELECT * EXCLUDE (result_id) FROM records").fetchall()]
    assert table.column_names == columns
    assert table.num_rows == demo_con.execute("SELECT count(*) FROM records").fetchall()[0][0]
    line = json.loads(table.column("record")[0].as_py())
    assert line["record_id"] == table.column("record_id")[0].as_py()


def test_parquet_of_a_run_without_records_is_a_table_without_rows(demo_con, tmp_path):
    """A query of the file works, as it does for a run that has begun."""
    assert tables.export_parquet(demo_con, ["no record yet"], Target(folder=tmp_path)).records_n == 0
    table = pq.read_table(tmp_path / "records.parquet")
    assert (table.num_rows, "latency_s" in table.column_names) == (0, True)


def test_a_run_can_be_chosen(demo_con, tmp_path):
    export(demo_con, "jsonl", ["11111111-aaaa"], tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["11111111-aaaa"]


def test_a_label_names_its_newest_run(demo_con, tmp_path):
    export(demo_con, "jsonl", ["nightly"], tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["22222222-bbbb"]


def test_a_full_folder_an_unknown_run_and_format_are_refused(demo_con, tmp_path):
    (tmp_path / "kept.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not an empty folder"):
        export(demo_con, "jsonl", output=tmp_path)
    with pytest.raises(UsageError, match="The store has no run 'nothing'"):
        export(demo_con, "peer", ["nothing"], tmp_path / "x")
    with pytest.raises(UsageError, match=f"{tmp_path} is a folder; name a file"):
        export(demo_con, "peer", output=tmp_path)
    with pytest.raises(UsageError, match="There is no format"):
        export(demo_con, "xml", output=tmp_path / "x")
    with pytest.raises(UsageError, match="name a new folder with --output"):
        export(demo_con, "hud-csv")
    assert [each.name for each in tmp_path.iterdir()] == ["kept.txt"]


@scene(make_record(backend="aot_eager"))
def test_nothing_to_write_is_said_and_leaves_no_file(scenes, run, tmp_path):
    with pytest.raises(UsageError, match="Nothing in these runs can be written as peer"):
        export(scenes, "peer", [run], tmp_path / "peer.jsonl")
    assert not (tmp_path / "peer.jsonl").exists()


@SCENES.several([TIMED], [])
def test_a_named_run_without_records_is_said(scenes, runs, tmp_path):
    written = export(scenes, "jsonl", runs, tmp_path / "out")
    assert (written.records_n, written.notes[-1]) == (1, f"Run {runs[1]} has no records.")
    assert written.notes == export(scenes, "jsonl", runs[1:] + runs[:1], tmp_path / "again").notes


@pytest.mark.parametrize("existed", [True, False])
def test_a_failed_export_can_be_repeated(demo_con, tmp_path, monkeypatch, existed):
    """A part of it was left, so that the same command refused a folder that was not empty."""
    folder = tmp_path / "out"
    if existed:
        folder.mkdir()
    monkeypatch.setattr(tables, "missing_plans_sentence", lambda _: 1 / 0)  # after the records were written
    with pytest.raises(ZeroDivisionError):
        export(demo_con, "jsonl", output=folder)
    assert (folder.exists(), [*tmp_path.rglob("results.jsonl")]) == (existed, [])
    monkeypatch.undo()
    assert export(demo_con, "jsonl", output=folder).records_n


@pytest.mark.parametrize("run_id", ["../../up", "..", "a/b", "", "x" * 400, "näme with\nline"])
def test_a_run_id_is_one_folder_name(run_id):
    name = folder_name(run_id)
    assert Path(name).name == name
    assert name not in ("", ".", "..")
    assert len(name.encode()) <= 255


def test_the_command_exports_and_ingests_again(demo, tmp_path, capsys):
    store = ["--database", str(demo / "store")]
    assert xlabench.main(["export", "--format", "parquet", "--output", str(tmp_path / "out"), *store]) == 0
    assert "Wrote 92 records" in capsys.readouterr().out
    assert xlabench.main(["ingest", str(tmp_path / "out"), "--database", str(tmp_path / "store")]) == 0
    with query.connect(query.current_snapshot(tmp_path / "store")) as con:
        assert con.execute("SELECT count(*) FROM result_rows").fetchall() == [(96,)]


def test_a_pipe_or_a_link_to_a_file_is_written_and_not_replaced(demo_con, tmp_path):
    """`--output /dev/stdout` replaced the device by a file, and the next command of the pipe got nothing."""
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        written = export(demo_con, "peer", output=pipe)
        assert reader.stdout is not None
        assert len(reader.stdout.read().splitlines()) == written.records_n
    assert pipe.is_fifo()
    link.symlink_to(target)
    export(demo_con, "peer", output=link)
    assert link.is_symlink()
    assert len(target.read_text().splitlines()) == written.records_n


def test_standard_output_gets_lines(demo, capfdbinary):
    arguments = ["export", "--format", "jsonl", "--database", str(demo / "store"), "--run", "11111111-aaaa"]
    assert xlabench.main(arguments) == 0
    captured = capfdbinary.readouterr()
    assert {json.loads(line)["run"]["run_id"] for line in captured.out.splitlines()} == {"11111111-aaaa"}
    assert b"plans of the runs are left out" in captured.err


def test_a_record_of_another_tool_whose_details_are_no_objects_is_exported():
    """Of foreign lines an ingest checks only what becomes a column; the rest may be anything."""
    row = {"record": '{"metrics": [1], "verification": "x"}', "batch_size": 8, "compiler_source": None}
    found = hud_data._measured(row | {"compiler_time_s": None})
    assert found["batch_size"] == 8
