"""Stores for the pages: a demonstration, an empty one, and one whose only run failed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def load_factory() -> ModuleType:
    """Import the record factory of the store's tests by path: tests are no package."""
    spec = importlib.util.spec_from_file_location("store_factory", ROOT / "tests" / "store" / "factory.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def factory():
    return load_factory()


@pytest.fixture(scope="session")
def demo(factory, tmp_path_factory):
    return factory.demo_store(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def empty(tmp_path):
    return tmp_path / "store"


@pytest.fixture(scope="session")
def failed(factory, tmp_path_factory):
    """A store with one run in which every experiment failed; a reason and a label try to be markup."""
    from store.ingest import ingest

    home = tmp_path_factory.mktemp("failed")
    records = [
        factory.make_record(
            model=model,
            backend=backend,
            status="run_error",
            message="<b>bold</b> **loud** [link](x) `code` $a$",
            label="**night** <script>alert(1)</script>",
        )
        for model in ("resnet18", "vgg16")
        for backend in factory.BACKENDS
    ]
    factory.write_run(home / "runs" / "failed", records)
    ingest([home], home / "store")
    return home / "store"
