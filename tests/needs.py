"""Why a test is skipped, with the command that makes it run."""

import importlib.util

import pytest

NEEDS_RAY = "clusters need Ray: .venv/bin/uv pip install -c constraints/xla.txt -e '.[cluster]' (`make test` does)"


def need(package: str, reason: str | None = None) -> None:
    """Skip the module where a package is not installed.

    Unlike `pytest.importorskip` it imports nothing: every worker collects every module, and runs half of them.
    """
    if importlib.util.find_spec(package) is None:
        pytest.skip(reason or f"{package} is not installed", allow_module_level=True)
