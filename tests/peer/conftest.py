"""The checkout of github.com/pytorch/xla whose tools read our files."""

from pathlib import Path

import pytest

from tests.store.aggregate import checkout


@pytest.fixture(scope="session")
def peer() -> Path:
    folder = checkout()
    if folder is None:
        pytest.skip("$PYTORCH_XLA_DIR names no checkout of github.com/pytorch/xla")
    return folder
