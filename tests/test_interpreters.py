"""Verbs from the start of their interpreter to its end: no traceback, and no noise of a binding that is torn down."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.command import ROOT
from tests.store import factory

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("home")
    factory.demo_runs(made)
    return made


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("ingest", "new records"),
        ("sql SELECT+1", "1 rows"),
        ("report", "Speedup over inductor"),
        ("report weekly", "# "),
        ("compare previous latest", "40 faster"),
        ("plan --suite-name dummy", "16 experiments"),
        ("jobs list", "There are no jobs."),
        ("repro", "rows"),
    ],
)
def test_a_verb_ends_without_a_word_of_its_interpreter(home: Path, words: str, says: str) -> None:
    place = [] if words.startswith("plan") else ["--home", home]
    command = [sys.executable, "-m", "xlabench", *words.split(), *place]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "nanobind" not in done.stderr
