"""Instruments through the command: extra processes, one record, one folder per experiment."""

import json
from pathlib import Path

import pytest
from real import NEEDS

from tests.command import xlabench

pytestmark = NEEDS

FLAGS = (
    "--dump-hlo", "--save-output", "--dump-pytorch-profiles", "--profile-cuda-cpu", "--memory-snapshot",
)  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run eager and lazy XLA once with instruments; give the run's folder."""
    home = tmp_path_factory.mktemp("instrumented")
    words = ["--suite-name", "dummy", "--filter", "^dummy_nonzero$", "--test", "eval", "--accelerator", "cpu"]
    words += ["--dynamo", "None", "--repeat", "2", "--xla-flags=--xla_cpu_enable_fast_math=false"]
    xlabench("run", *words, *FLAGS, "--home", home, "--output-dirname", home / "run")
    return home / "run"


@pytest.fixture(scope="module")
def records(run):
    lines = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    return {"lazy" if line["experiment"]["xla"] else "eager": line for line in lines}


def test_every_artifact_lies_where_the_record_says(run, records):
    for record in records.values():
        assert all((run / each["path"]).stat().st_size == each["bytes"] for each in record["artifacts"])
        kinds = {each["kind"] for each in record["artifacts"]}
        assert {"log", "output", "chrome_trace", "pytorch_profile"} <= kinds


def test_two_experiments_share_no_path(records):
    lazy, eager = ({Path(each["path"]).parts[1] for each in records[name]["artifacts"]} for name in ("lazy", "eager"))
    assert len(lazy) == len(eager) == 1
    assert lazy != eager


def test_the_timed_process_saw_no_instrument(records):
    """The flags of the experiment itself were there, and the dump had them too."""
    assert records["lazy"]["environment"]["variables"]["XLA_FLAGS"] == "--xla_cpu_enable_fast_math=false"
    assert any(each["kind"] == "hlo" for each in records["lazy"]["artifacts"])


def test_the_record_names_its_outputs_file(run, records):
    for record in records.values():
        assert (run / record["outputs_file"]).name == "output.pt"


def test_profile_metrics_and_graphs_are_joined_into_the_record(records):
    lazy = records["lazy"]
    assert lazy["status"] == "ok"
    assert len(lazy["metrics"]["total_cpu_time_s"]) == 2
    assert {each["kind"] for each in lazy["graphs"]} == {"hlo", "hlo_optimized"}
    (op,) = lazy["fallback_ops"]
    assert op["time_s"] > 0
    assert op["call_site"].startswith("runner/suites/dummy_modules.py:")


def test_an_instrument_that_makes_no_sense_is_one_warning(records):
    for record in records.values():
        assert record["warnings"].count("memory_snapshot: only on cuda") == 1
    assert "dump_hlo: only with an XLA backend" in records["eager"]["warnings"]
    assert not any(each["kind"] == "hlo" for each in records["eager"]["artifacts"])
