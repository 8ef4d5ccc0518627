"""What `xlabench worker` says where a cluster cannot be had."""

import subprocess
import sys
from pathlib import Path

import pytest

import xlabench

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
