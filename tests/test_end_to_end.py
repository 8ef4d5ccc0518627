"""The whole way with real parts: plan, run, ingest, report, sql, serve with torch and torch_xla on a real model."""

import csv
import io
import json
from pathlib import Path

import pytest

from store.choose import newest_snapshot
from store.paired.read import next_steps
from store.query import connect
from tests.command import index_rows, served, xlabench

pytestmark = pytest.mark.slow

BACKENDS = ["eager", "inductor", "openxla+dynamo", "openxla+lazytensor"]
SELECTION = ("--suite-name", "dummy", "--accelerator", "cpu")
ONE = (*SELECTION, "--only", "dummy_nonzero", "--test", "eval")


@pytest.fixture(scope="module")
def real_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one finished run of a dummy model in all backends."""
    home = tmp_path_factory.mktemp("home")
    done = xlabench("run", *ONE, "--repeat", "6", "--home", home, "--output-dirname", home / "runs" / "first")
    assert "4 experiments in 1 suite: 4 runnable, 0 skipped. Starting a new run" in done.stdout
    assert "[4/4]" in done.stderr
    return home


def test_what_to_do_next_names_the_op_and_the_command(real_home: Path) -> None:
    """`nonzero` is said once though two backends and their dynamo show it; the command names the model as its suite."""
    [run] = {row["run_id"] for row in index_rows(real_home, "SELECT run_id FROM results")}
    with connect(newest_snapshot(real_home / "store")) as con:
        said = [step for step in next_steps(con, [run]) if "nonzero outside of XLA" in step.why]
    assert [step.command for step in said] == [
        "xlabench run --only dummy/dummy_nonzero --test=eval --without-fallback=nonzero"
    ]


def test_plan_gives_16_experiments_for_two_models() -> None:
    """Two models and no filters are four backends and two tests each."""
    plan = json.loads(xlabench("plan", *SELECTION, "--format", "json").stdout)
    assert len(plan["plan"]) == 16
    assert sorted({entry["backend"] for entry in plan["plan"]}) == BACKENDS


def test_every_experiment_ran(real_home: Path) -> None:
    """All cells have steady samples, a compile time where something compiles, and memory."""
    rows = index_rows(
        real_home, "SELECT model, test, backend, status, reason, steady_n, latency_s, peak_memory_bytes FROM results"
    )
    assert [row for row in rows if row["status"] != "ok"] == []
    assert len(rows) == 4
    assert {row["steady_n"] for row in rows} == {6}
    assert all(0 < row["latency_s"] < 5 for row in rows)
    assert all(row["peak_memory_bytes"] > 0 for row in rows)


def test_compilers_report_their_time(real_home: Path) -> None:
    """Dynamo backends and lazy XLA report compile time; eager reports none."""
    rows = index_rows(
        real_home, "SELECT backend, compiler_source, min(compiler_time_s) AS least FROM results GROUP BY ALL"
    )
    sources = {row["backend"]: (row["compiler_source"], (row["least"] or 0) > 0) for row in rows}
    assert sources == {
        "eager": (None, False),
        "inductor": ("dynamo", True),
        "openxla+dynamo": ("dynamo", True),
        "openxla+lazytensor": ("XLA CompileTime", True),
    }


def test_real_fallback_op_is_counted_per_iteration(real_home: Path) -> None:
    """`nonzero` has no default lowering: once per iteration under both XLA backends."""
    rows = index_rows(
        real_home, "SELECT backend, op, klass, calls_per_iteration FROM fallback_ops WHERE op = 'nonzero'"
    )
    assert len(rows) == 2
    assert {(row["klass"], row["calls_per_iteration"]) for row in rows} == {("opt_in_lowering", 1.0)}
    assert {row["backend"] for row in rows} == {"openxla+dynamo", "openxla+lazytensor"}


def test_steady_blocks_of_xla_execute_and_do_not_compile(real_home: Path) -> None:
    """A steady XLA block shows at least one execution per iteration and no compilation."""
    query = "SELECT DISTINCT compiles, executions >= 1 AS executed FROM samples s JOIN results r USING (record_id) "
    rows = index_rows(real_home, query + "WHERE s.kind = 'steady' AND r.backend LIKE 'openxla%'")
    assert rows == [{"compiles": 0, "executed": True}]


def test_same_command_resumes_and_names_what_is_finished(real_home: Path) -> None:
    """Nothing is measured twice, no server is started; the answer stands at the end again."""
    log = real_home / "runs" / "first" / "server.log"
    kept = log.rename(log.with_suffix(".kept"))
    done = xlabench("run", *ONE, "--home", real_home, "--output-dirname", real_home / "runs" / "first", "--repeat", "6")
    assert "Measured 0 experiments" in done.stdout
    assert not log.exists(), "a server would have begun it"
    kept.rename(log)
    assert done.stderr.count("already finished: dummy/") == 4
    assert "\n* dummy_nonzero eval: " in done.stdout
    assert index_rows(real_home, "SELECT count(*) AS n FROM results") == [{"n": 4}]


def test_other_settings_do_not_resume(real_home: Path) -> None:
    """A folder holds one run; another plan is refused with the way out."""
    done = xlabench("run", *ONE, "--home", real_home, "--output-dirname", real_home / "runs" / "first", code=2)
    assert "other measurement settings (repeat)" in done.stderr
    assert "--no-resume" in done.stderr


def test_report_gives_speedups_over_inductor(real_home: Path) -> None:
    """Each speedup of the report is baseline latency / latency of the store."""
    rows = index_rows(real_home, "SELECT model, test, backend, latency_s FROM results")
    latency = {(row["model"], row["test"], row["backend"]): row["latency_s"] for row in rows}
    text = xlabench("report", "--home", real_home).stdout
    for (model, test, _), own in latency.items():
        speedup = latency[model, test, "inductor"] / own
        assert f"{speedup:.2f}" in text or f"{speedup:.3g}" in text


def test_peer_rule_reads_the_same_file(real_home: Path) -> None:
    """The peer's mean after three blocks is taken over all blocks, warm-up included."""
    out = xlabench(
        "report", "latest_grouped", "--home", real_home, "--backends", "inductor", "eager", "--format", "csv"
    )
    rows = list(csv.reader(io.StringIO(out.stdout)))
    assert [row[0] for row in rows][1:] == ["dummy_nonzero", "GEOMEAN"]
    records = [json.loads(line) for line in (real_home / "runs/first/results.jsonl").read_text().splitlines()]
    mean = {
        record["variant"]: sum(record["metrics"]["total_time"][3:]) / len(record["metrics"]["total_time"][3:])
        for record in records
    }
    assert float(rows[1][3]) == pytest.approx(mean["inductor"] / mean["eager"], abs=1e-8)


def test_records_of_the_contract(real_home: Path) -> None:
    """Times are cold, the toolchain probe stands apart, the reproduce command is there."""
    records = [json.loads(line) for line in (real_home / "runs/first/results.jsonl").read_text().splitlines()]
    assert {record["measurement"]["cache"] for record in records} == {"cold"}
    assert all(record["environment"]["toolchain_probe_s"] > 0 for record in records)
    assert all(record["reproduce"].startswith("xlabench run --suite-name dummy") for record in records)
    folders = [record["environment"]["variables"].get("TORCHINDUCTOR_CACHE_DIR") for record in records]
    [used] = [folder for folder, record in zip(folders, records, strict=True) if record["variant"] == "inductor"]
    assert not Path(used).exists()


def test_sql_is_read_only_for_real(real_home: Path, tmp_path: Path) -> None:
    """COPY would write a file even through a read-only connection."""
    target = tmp_path / "out.csv"
    done = xlabench("sql", "--home", real_home, f"COPY results TO '{target}'", code=2)
    assert "disabled by configuration" in done.stderr
    assert not target.exists()
    xlabench("sql", "--home", real_home, "SET enable_external_access = true", code=2)
    xlabench("sql", "--home", real_home, "DROP TABLE records", code=2)


def test_serve_answers_until_interrupted(real_home: Path) -> None:
    """The dashboard is healthy within seconds and ends on Ctrl-C; a taken port is one sentence and exit 2."""
    with served(real_home) as port:
        second = xlabench("serve", "--home", real_home, "--port", str(port), code=2)
        assert str(port) in second.stderr
