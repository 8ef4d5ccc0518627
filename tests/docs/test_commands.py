"""Each `$ xlabench …` line of the documents does what it says: it is run over the history of the demo."""

import gzip
import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import duckdb
import pytest

import xlabench
from runner.home import settings_file
from store import query
from store.state import FILE_NAME
from tests.store.factory import make_record, write_lines
from tests.tiers import first_of

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "demo"
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINES = list(
    dict.fromkeys(
        line.partition(" # ")[0].strip()
        for document in DOCUMENTS
        for line in re.findall(r"^\$ xlabench (.*)$", document.read_text(), re.MULTILINE)
    )
)
SHOWN_ELSEWHERE = {
    "doctor": "tests/test_doctor_command.py",
    "doctor --threads 1": "tests/test_doctor_command.py",
    "run mymodel.py": "tests/test_own_models.py",
    "run mymodel.py:MyNet": "tests/test_own_models.py",
    "run net.py": "tests/test_own_models.py",
    "run model.pt2": "tests/test_own_models.py",
    "worker --executor ray": "tests/runner/jobs/cluster/test_command.py",
    "repro": "tests/test_repro_command.py",
    "serve": "tests/test_end_to_end.py",
    "calibrate": "tests/test_calibrate.py",
}
"""Beginning of a line → the test that runs it, where it measures, runs scripts, or serves until Ctrl-C."""
TRACE = {
    "schema": "1.0.1",
    "nodes": [
        {"id": 1, "parent": 1, "name": "root", "op_schema": ""},
        {
            "id": 2,
            "parent": 1,
            "name": "aten::relu",
            "op_schema": "aten::relu(Tensor self) -> Tensor",
            "inputs": [[1, 2, 0, 8, 4, "cpu"]],
            "input_shapes": [[4, 2]],
            "input_types": ["Tensor(float)"],
        },
    ],
}
"""An execution trace of one operator."""
MEASURES = {"run", "calibrate"}
"""Verbs whose plan is made; other tests measure."""
WITHOUT = {"--follow", "--confirm"}
"""Flags that wait for a worker, or measure."""
LONG = {
    "run --ops-of timm_models/resnet18 --test train --backend eager",
    "run --ops-of huggingface/BertTiny",
    "export --format tables --output /srv/lake/xlabench",
    "notices look",
    "ingest --home /srv/xlabench --rebuild",
}
"""Lines that take long, whose verbs have tests of their own."""
REFUSED = {
    "run --suite-name torchbench": "Suite torchbench needs a checkout",
    "report payoffs": "No measured payoff fits these filters.",
}
"""Beginning of a line → what it says where something is missing that the demo has not."""


def test_every_line_shown_elsewhere_is_a_line_and_its_test_exists():
    for start, file in SHOWN_ELSEWHERE.items():
        assert any(_begins(line, start) for line in LINES), start
        assert (ROOT / file).is_file(), file
    assert set(LINES) >= LONG


def _begins(line: str, start: str) -> bool:
    return line == start or line.startswith(f"{start} ")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The demo as a home, with a queued and a cancelled job, a recurring run and a mark; its machine has no GPU."""
    home = tmp_path_factory.mktemp("documents") / "xlabench-data"
    shutil.copytree(DEMO / "runs", home / "runs", ignore=shutil.ignore_patterns("gpu"))
    for name in (FILE_NAME, settings_file.NAME):
        shutil.copy(DEMO / name, home / name)
    for words in (
        ["ingest"],
        ["jobs", "submit", "--suite-name", "dummy"],
        ["jobs", "submit", "--suite-name", "dummy"],
        ["jobs", "cancel", "2"],
        ["schedule", "add", "weekly", "0 3 * * *", "--suite-name", "dummy"],
        ["mark", "add", "a new driver", "--at", "2026-01-01"],
    ):
        assert xlabench.main([*words, "--home", str(home)]) == 0, words
    return home


@pytest.fixture
def substitutes(home, tmp_path):
    """Text of the documents → what stands for it here."""
    with query.connect(query.current_snapshot(home / "store")) as con:
        (run,), *_, (last,) = con.execute(
            "SELECT run_id FROM runs WHERE run_label = 'nightly' ORDER BY run_started"
        ).fetchall()
    confirmation = json.loads((DEMO / "runs" / "confirmation" / "run.json").read_text())["run"]["run_id"]
    return {
        "RUN_ID": run,
        "/srv/xlabench": str(home),
        "/srv/lake": str(tmp_path / "lake"),
        "/backup": str(tmp_path),
        "nightly-gpu": "nightly",
        "remove nightly": "remove weekly",
        "keep-label release": "keep-label nightly",
        "compare old new": f"compare {run} latest",
        f"compare {run} latest --fail-on": f"compare old new --run {confirmation} --fail-on",
        "previous latest --fail-on": f"{run} {last} --fail-on",
        f"{run} latest --confirm --env old=/venvs/torch-2.8/bin/python": f"{run} latest",
        "retry 1": "retry 2",
        "histogram --accelerator v100": "histogram --accelerator epyc",
        f"{run} --accelerator cuda": f"{run} --accelerator cpu",
        "old=/venvs/torch-2.8/bin/python": f"old={sys.executable}",
        "new=/venvs/torch-2.9/bin/python": f"new={sys.executable}",
    }


@pytest.fixture
def _files(tmp_path, monkeypatch):
    """The files that lines name, in the working folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(DEMO / "operators.json", tmp_path / "ops.json")
    shutil.copy(DEMO / "mymodel.py", tmp_path / "mymodel.py")
    for name in ("results.jsonl", "older/results.jsonl", "published.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        record = make_record()
        record.experiment.accelerator_model = "v100"
        write_lines(tmp_path / name, [record])
    shutil.copytree(DEMO / "runs" / "nightly-01", tmp_path / "nightly")
    (tmp_path / "speedups.csv").write_text("model,speedup\nresnet18,1.2\n")
    (tmp_path / "trace.json.gz").write_bytes(gzip.compress(json.dumps(TRACE).encode()))


def _lines() -> list[object]:
    """Return the lines that run here: the first of each verb and action; the others, which are parsed, are thorough."""
    kinds: dict[str, list[str]] = {}
    for line in LINES:
        if not any(_begins(line, each) for each in SHOWN_ELSEWHERE):
            kinds.setdefault(re.match("[a-z]+( [a-z][a-z-]*)*", line)[0], []).append(line)
    short_first = [sorted(lines, key=LONG.__contains__) for lines in kinds.values()]
    return [line for lines in short_first for line in first_of(lines, lines[0] not in LONG)]


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("line", _lines())
def test_a_line_of_the_documents_runs(line, home, substitutes, tmp_path, capsys):
    for text, here in substitutes.items():
        line = line.replace(text, here)
    words = [word for word in shlex.split(line) if word not in WITHOUT]
    words += ["--dry-run"] if words[0] in MEASURES else []
    home = tmp_path / "other" if words[0] == "ingest" and "--home" not in words else home
    words += [] if "--home" in words or _reads_files(words) else ["--home", str(home)]
    code = xlabench.main(words)
    refusal = next((says for start, says in REFUSED.items() if _begins(line, start)), None)
    if refusal is None:
        assert code in (0, 1), capsys.readouterr().err
    else:
        assert (code, refusal in capsys.readouterr().err) == (2, True)


def test_the_query_over_exported_tables_runs(tmp_path):
    """Over the tables of one run: those of the whole demo take ten seconds more."""
    [sql] = re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "sql.md").read_text(), re.DOTALL)
    home, lake = tmp_path / "home", tmp_path / "lake" / "xlabench"
    shutil.copytree(DEMO / "runs" / "nightly-01", home / "runs" / "nightly-01")
    run = json.loads((home / "runs" / "nightly-01" / "run.json").read_text())["run"]["run_id"]
    for words in (["ingest"], ["export", "--format", "tables", "--output", str(lake)]):
        assert xlabench.main([*words, "--home", str(home)]) == 0
    sql = sql.replace("RUN_ID", run).replace("/srv/lake", str(tmp_path / "lake"))
    assert len(duckdb.sql(sql).fetchall()) == 4, "a row for each backend"


def test_the_configuration_of_operators_is_planned(capsys):
    [text] = re.findall(r"```json\n(.*?)```", (ROOT / "docs" / "operator-configurations.md").read_text(), re.DOTALL)
    assert xlabench.main(["plan", "--suite-name", "operators", "--config", text, "--test", "eval"]) == 0
    assert "torch.mm(float[128,64], float[64,256])" in capsys.readouterr().out


def _reads_files(words):
    return words[0] == "report" and any(word.endswith(".jsonl") for word in words)
