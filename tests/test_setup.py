"""The set-up refuses early, in one sentence, what it cannot work with; `make help` lists every target."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ROOT
from tests.needs import NEEDS_RAY


def set_up(**changes: str) -> subprocess.CompletedProcess[str]:
    """Run the set-up script; each change must make it stop before it installs anything."""
    environment = {**os.environ, "PYTHON": sys.executable, "VENV": "/nonexistent/venv", **changes}
    return subprocess.run(
        ["sh", "tools/setup.sh"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"PYTHON": "no-such-python"}, "no-such-python is not installed"),
        ({"CXX": "no-such-compiler"}, "no C++ compiler; inductor needs one"),
    ],
)
def test_missing_tool_is_one_sentence(changes: dict[str, str], part: str) -> None:
    """Exit 2, what is missing, and what to install."""
    done = set_up(**changes)
    assert done.returncode == 2
    assert part in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_python_of_another_version_is_refused(tmp_path: Path) -> None:
    """Exit 2, and which versions there are wheels for; a later one would fail after the download only."""
    later = tmp_path / "python3.14"
    later.write_text(f"#!{sys.executable}\nimport sys\nsys.version_info = (3, 14)\nexec(sys.argv[2])\n")
    later.chmod(0o755)
    done = set_up(PYTHON=str(later))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"{later} is not 3.11, 3.12 or 3.13" in done.stderr


def test_size_is_said_before_anything_is_downloaded() -> None:
    """The sentence with the sizes stands before the virtual environment is made."""
    script = (ROOT / "tools/setup.sh").read_text()
    assert script.index("GB to download") < script.index("-m venv")


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_the_progress_of_the_download(tmp_path: Path, *, terminal: bool) -> None:
    """It takes minutes: uv draws its progress there, and stays silent in a log."""
    tools = tmp_path / "venv" / "bin"
    tools.mkdir(parents=True)
    for name in ("python", "uv"):
        (tools / name).write_text('#!/bin/sh\necho "${0##*/} $*"\n')
        (tools / name).chmod(0o755)
    master, slave = pty.openpty()
    try:
        done = subprocess.run(
            ["sh", "tools/setup.sh"],
            cwd=ROOT,
            env={**os.environ, "PYTHON": sys.executable, "VENV": str(tmp_path / "venv")},
            stdout=subprocess.PIPE,
            stderr=slave if terminal else subprocess.DEVNULL,
            text=True,
            check=True,
        )
    finally:
        os.close(master)
        os.close(slave)
    installed = next(line for line in done.stdout.splitlines() if line.startswith("uv "))
    assert installed.startswith("uv pip install --compile-bytecode" if terminal else "uv pip install --quiet")
    assert done.stdout.splitlines()[-1].startswith("setup: done in ")


def test_help_lists_every_target() -> None:
    """One line per target."""
    text = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert targets == set(re.findall(r"^  make ([a-z-]+) ", text, re.MULTILINE))


def test_what_the_tests_need_is_installed_before_they_run() -> None:
    """Ray, too: its tests run in CI, and where somebody skips them they say what to type."""
    said = subprocess.run(["make", "-n", "test"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "tools/setup_tests.sh" in said
    assert "--editable '.[cluster]'" in (ROOT / "tools/setup_tests.sh").read_text()
    assert "uv pip install -c constraints/xla.txt -e '.[cluster]'" in NEEDS_RAY
