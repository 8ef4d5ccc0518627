"""Run `python -m runner.dynamo` as a user does."""

import os
import subprocess
from pathlib import Path

from tests import warm
from tests.command import ROOT


def dynamo(
    *words: str | Path, code: int = 0, cwd: Path = ROOT, **environment: str | Path
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and check its exit code; `environment` over the own one."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **{name: str(value) for name, value in environment.items()}}
    done = warm.run("runner.dynamo", words, cwd=cwd, env=variables)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done
