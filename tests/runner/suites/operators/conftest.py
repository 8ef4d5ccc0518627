"""Configurations of operators for the tests."""

import json
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[5] / "shared" / "data" / "param-configs"
GENERATOR = "PyTorch:DefaultDataGenerator"


@pytest.fixture(scope="session")
def shared():
    """PARAM's own configuration files, where the checkout has them beside it."""
    if not SHARED.is_dir():
        pytest.skip(f"PARAM's configuration files are not in {SHARED}")
    return SHARED


@pytest.fixture
def tensor():
    """Write a tensor as a configuration does."""

    def make(*shape, **more):
        return {"type": "tensor", "dtype": "float", "shape": list(shape)} | more

    return make


@pytest.fixture
def config_file(tmp_path):
    """Write a configuration file with one operator."""

    def write(op, args, *, kwargs=None, build=None, times=1, **info):
        built = {} if build is None else {"build": build}
        given = [{"args": args, "kwargs": kwargs or {}}] * times
        content = {op: {"input_data_generator": GENERATOR, "config": [{**built, "input": given}], **info}}
        path = tmp_path / "ops.json"
        path.write_text(json.dumps(content))
        return path

    return write
