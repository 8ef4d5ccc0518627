"""PyTorch/XLA's own readers take our `results.jsonl` as it is, and agree with our report under the peer rule."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import xlabench
from tests.store.aggregate import run_aggregate

pytestmark = pytest.mark.slow

BACKENDS = ("inductor", "eager", "openxla+dynamo", "openxla+lazytensor")


@pytest.fixture(scope="module")
def real_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one finished run of a dummy model in all backends, eval and train."""
    home = tmp_path_factory.mktemp("home")
    words = ("--suite-name", "dummy", "--only", "dummy_nonzero", "--accelerator", "cpu", "--repeat", "6")
    xlabench("run", *words, "--home", home, "--output-dirname", home / "runs" / "first")
    return home


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_result_analyzer_reads_our_file(peer: Path, real_home: Path, tmp_path: Path, form: str) -> None:
    """It ends without an error and gives one row per record."""
    source = real_home / "runs" / "first" / "results.jsonl"
    (tmp_path / "results.jsonl").write_bytes(source.read_bytes())
    words = [f"--output-dirname={tmp_path}", f"--database={tmp_path / 'database.csv'}", f"--output-format={form}"]
    done = subprocess.run(
        [sys.executable, peer / "result_analyzer.py", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / f"metric_report.{form}").read_text().splitlines()
    rows = list(csv.DictReader(lines)) if form == "csv" else [json.loads(line) for line in lines]
    assert len(rows) == len(source.read_text().splitlines())


@pytest.mark.parametrize("metric", ["exec", "compile"])
@pytest.mark.parametrize("test", ["inference", "training"])
@pytest.mark.parametrize("kind", ["speedup", "latest", "latest_grouped", "histogram"])
def test_aggregate_gives_the_numbers_of_our_report(
    peer: Path, real_home: Path, tmp_path: Path, kind: str, test: str, metric: str
) -> None:
    """Same rows, same headers, same numbers to 8 decimals, on a file that was really measured."""
    source = real_home / "runs" / "first" / "results.jsonl"
    words = [f"--report={kind}", f"--test={test}", f"--metric={metric}", "--backends", *BACKENDS]
    theirs = run_aggregate(tmp_path / "work", [source], "Xeon|AMD|Intel|CPU|.", [words])[0]
    ours = xlabench(
        "report", kind, "--rule", "peer", "--home", real_home, "--test", test, "--metric", metric,
        "--format", "csv", "--backends", *BACKENDS,
    ).stdout  # fmt: skip
    assert _cells(ours) == _cells(theirs)


def _cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.strip())))
