"""What `xlabench worker` says where a cluster cannot be had."""

import subprocess
import sys
from pathlib import Path

import pytest

import xlabench
from store.errors import OwnerBusy
from store.ingest import run
from xlabench.worker import Arrivals, _print_placed

ROOT = Path(__file__).resolve().parents[4]
RAY = ("worker", "--executor", "ray", "--address", "http://localhost:1", "--shared", "/nowhere")


def test_without_ray_it_says_what_to_install(tmp_path):
    script = f"import sys; sys.modules['ray'] = None; import xlabench; sys.exit(xlabench.main({RAY!r} + sys.argv))"
    words = [sys.executable, "-c", script.replace("sys.argv", f"('--home', {str(tmp_path)!r})")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    sentence = "--executor ray needs Ray: install the extra `cluster` (pip install 'xlabench[cluster]')."
    assert (done.returncode, done.stderr) == (2, f"xlabench: {sentence}\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--executor", "ray"), "--executor ray requires --address"),
        (("--address", "http://x"), "--address and --shared require --executor ray."),
        (("--shared", "/x"), "--address and --shared require --executor ray."),
    ],
)
def test_flags_that_do_not_go_together_are_one_sentence(tmp_path, capsys, words, sentence):
    assert xlabench.main(["worker", "--home", str(tmp_path), *words]) == 2
    assert capsys.readouterr().err.startswith(f"xlabench: {sentence}")


def test_the_flags_of_a_node_name_its_devices_and_environments(tmp_path, capsys):
    (tmp_path / "xlabench.toml").write_text('[environments]\nnightly = "bin/python"\n')
    assert xlabench.main(["worker", "--home", str(tmp_path), "--node-flags"]) == 0
    printed = capsys.readouterr().out
    assert '"xlabench-cpu":1' in printed
    assert "xlabench/env-nightly=yes" in printed


def test_the_flags_of_a_node_are_of_the_home_that_its_attempts_use(tmp_path, capsys, monkeypatch):
    """Not of the folder in which `ray start` is typed."""
    monkeypatch.delenv("XLABENCH_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "xlabench-data").mkdir()
    (tmp_path / "xlabench-data" / "xlabench.toml").write_text('[environments]\nnightly = "bin/python"\n')
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert xlabench.main(["worker", "--node-flags"]) == 0
    assert "xlabench/env-nightly=yes" in capsys.readouterr().out


def test_a_run_whose_records_are_not_stored_is_named_by_a_command_that_can_be_pasted(monkeypatch, tmp_path):
    def busy(_):
        raise OwnerBusy("Another ingest holds the store.")

    monkeypatch.setattr(run.Follower, "finish", busy)
    folder, said = tmp_path / "my runs" / "a", []
    Arrivals(tmp_path / "store", tmp_path / "state.sqlite", said.append).ingest(folder, is_over=True)
    assert said[0].endswith(f"Then run `xlabench ingest '{folder}'`.")


def test_lines_of_a_worker_name_its_home_because_they_are_read_elsewhere(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "xlabench-data"
    _print_placed(folder, folder / "store", "Run `xlabench ingest`.")
    assert capsys.readouterr().out == f"Run `xlabench ingest --home {folder}`.\n"
