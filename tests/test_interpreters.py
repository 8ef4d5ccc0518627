"""Verbs from the start of their interpreter to its end: no traceback, and no noise of a binding that is torn down."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ROOT
from tests.store import factory
from tests.tiers import first_of


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs and their index, which the verbs read; `ingest` finds nothing new."""
    made = tmp_path_factory.mktemp("home")
    factory.demo_store(made)
    return made


@pytest.mark.parametrize(
    ("words", "says"),
    first_of(
        [
            ("report", "Speedup over inductor"),
            ("ingest", "0 new records"),
            ("sql SELECT+1", "1 row"),
            ("plan --suite-name dummy", "16 experiments"),
            ("report weekly", "# "),
            ("compare previous latest", "40 faster"),
            ("jobs list", "There are no jobs."),
            ("repro", "rows"),
        ]
    ),
)
def test_a_verb_ends_without_a_word_of_its_interpreter(home: Path, words: str, says: str) -> None:
    place = [] if words.startswith("plan") else ["--home", home]
    command = [sys.executable, "-m", "xlabench", *words.split(), *place]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "nanobind" not in done.stderr


def test_a_suite_that_cannot_be_loaded_is_one_sentence_in_every_verb_that_needs_suites(tmp_path: Path) -> None:
    environment = {**os.environ, "XLABENCH_SUITES": "no.such.module:SUITE"}
    for verb, code in (("plan", 2), ("jobs", 2), ("mark", 0)):
        words = [verb, *["list"] * (verb != "plan"), "--home", tmp_path]
        command = [sys.executable, "-m", "xlabench", *words]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code
        if code == 0:
            continue
        [line] = done.stderr.splitlines()
        assert line.startswith("xlabench: XLABENCH_SUITES: 'no.such.module:SUITE' cannot be imported")


@pytest.mark.parametrize("answer", [b"n\n", b"\x04"], ids=["no", "Ctrl-D"])
def test_a_command_that_selects_no_model_asks_at_a_terminal(tmp_path: Path, answer: bytes) -> None:
    """Elsewhere nobody could answer, so a script is never asked."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "xlabench", "run", "--home", tmp_path]
    with subprocess.Popen(command, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, text=True) as process:
        os.write(ours, answer)
        _, said = process.communicate(timeout=120)
    shown = os.read(ours, 4096).decode()
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 130
    assert said.endswith("Measure all of them? [y/N] xlabench: Cancelled. No experiment was measured.\n")
    assert re.search(r"so everything is planned: [\d,]+ experiments of [\d,]+ models under 4 backends\.", shown)
    assert not (tmp_path / "runs").exists()
