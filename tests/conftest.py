"""One real run, measured once per session and shared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import xlabench

SELECTION = ("--suite-name", "dummy", "--accelerator", "cpu", "--repeat", "6")


@pytest.fixture(scope="session")
def real_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one finished run of both dummy models in all backends, eval and train."""
    home = tmp_path_factory.mktemp("home")
    done = xlabench("run", *SELECTION, "--home", home, "--output-dirname", home / "runs" / "first")
    assert "16 experiments in 1 suites: 16 runnable, 0 skipped; new run" in done.stdout
    assert "[16/16]" in done.stderr
    return home
