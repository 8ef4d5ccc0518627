"""`xlabench prune` as a user calls it."""

import fcntl
import re

from store import query
from store.ingest import ingest
from store.state import database, jobs
from tests.command import xlabench
from tests.store.factory import RUN_START, make_record, write_run

RUNS = ["11111111-aaaa", "22222222-bbbb"]


def tree(home):
    """Return every file below a home with its content."""
    return {path.relative_to(home): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def two_runs(home):
    """Write two runs and their index."""
    for run_id in RUNS:
        write_run(home / "runs" / run_id, [make_record(run_id=run_id, backend=name) for name in ("eager", "inductor")])
    ingest([home / "runs"], home / "store")


def samples_n(home):
    with query.connect(query.current_snapshot(home / "store")) as con:
        query_text = "SELECT run_id, count(*) FROM samples JOIN records USING (record_id) GROUP BY 1 ORDER BY 1"
        return dict(con.execute(query_text).fetchall())


def test_nothing_goes_without_yes_and_each_run_that_goes_is_listed(tmp_path):
    two_runs(tmp_path)
    before = tree(tmp_path)
    shown = xlabench("prune", "--home", tmp_path, "--keep-within", "90d")
    for run_id in RUNS:
        assert run_id in shown.stdout
    assert "Add --yes" in shown.stdout
    assert tree(tmp_path) == before
    done = xlabench("prune", "--home", tmp_path, "--keep-within", "90d", "--yes")
    assert re.search(r"Pruned 2 runs: results .* index ", done.stdout)
    assert samples_n(tmp_path) == {}
    again = xlabench("prune", "--home", tmp_path, "--keep-within", "90d", "--yes")
    assert "Pruned before: 2" in " ".join(again.stdout.split())
    assert "There is nothing to prune." in again.stdout


def test_labels_purposes_age_writers_and_other_folders_keep_a_run(tmp_path):
    runs = tmp_path / "runs"
    for name, label, purpose, age in (
        ("old", "nightly", "benchmark", 0),
        ("release", "v2.9", "benchmark", 0),
        ("floors", "floors", "calibration", 0),
        ("payoff", "payoff", "payoff", 0),
        ("young", "nightly", "benchmark", 10**9),
        ("written", "nightly", "benchmark", 0),
    ):
        records = [make_record(run_id=name, label=label, purpose=purpose, timestamp=RUN_START + age)]
        write_run(runs / name, records)
    elsewhere = write_run(tmp_path / "elsewhere", [make_record(run_id="elsewhere", label="nightly")])
    ingest([runs, elsewhere], tmp_path / "store")
    before = samples_n(tmp_path)
    words = ("--keep-within", "1y", "--keep-label", "v2.9", "--keep-purpose", "calibration", "--yes")
    with (runs / "written" / "results.jsonl").open("rb") as written:
        fcntl.flock(written, fcntl.LOCK_EX)
        done = xlabench("prune", "--home", tmp_path, *words, code=3)
    assert "written was not pruned: Another process is writing" in done.stderr
    assert {name: n for name, n in before.items() if name != "old"} == samples_n(tmp_path)
    assert [path.parent.name for path in runs.glob("*/pruned.json")] == ["old"]
    for reason in (
        "label v2.9",
        "purpose calibration",
        "payoffs are computed",
        "its folder is not in the runs of this home",
    ):
        assert reason in " ".join(done.stdout.split())


def test_a_label_that_no_run_has_prunes_nothing(tmp_path):
    """Mistyped, it would not keep the runs that it is to keep."""
    two_runs(tmp_path)
    before = tree(tmp_path)
    done = xlabench("prune", "--home", tmp_path, "--keep-within", "90d", "--keep-label", "niGhtli", "--yes", code=2)
    assert "--keep-label: no run has the label 'niGhtli'. Did you mean nightly?" in done.stderr
    assert tree(tmp_path) == before


def test_a_run_of_a_job_that_is_not_over_is_kept(tmp_path):
    two_runs(tmp_path)
    job = jobs.Job(
        key="k",
        request="{}",
        label="l",
        why="",
        who="ann",
        verified=False,
        timeout_s=60,
        state="lost",
        tries_left=1,
        folder=str(tmp_path / "runs" / RUNS[0]),
        submitted_at=0,
    )
    with database.opened(tmp_path / "state.sqlite") as con:
        jobs.add(con, job)
    xlabench("prune", "--home", tmp_path, "--keep-within", "90d", "--yes")
    assert list(samples_n(tmp_path)) == RUNS[:1]


def test_an_age_that_is_none_is_refused_with_one_sentence(tmp_path):
    for words in (
        ("--keep-within", "soon"),
        ("--keep-within", "9999y"),
        ("--keep-within", "1y", "--keep-purpose", "x"),
        (),
    ):
        done = xlabench("prune", "--home", tmp_path, *words, code=2)
        assert len(done.stderr.splitlines()) == 1
    assert "no index" in xlabench("prune", "--home", tmp_path, "--keep-within", "1y", code=2).stderr.lower()
