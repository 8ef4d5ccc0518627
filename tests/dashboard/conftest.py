"""Stores for the pages: a demonstration, an empty one, and one whose only run failed."""

import functools
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load_factory() -> ModuleType:
    """Import the record factory of the store's tests by path: tests are no package."""
    spec = importlib.util.spec_from_file_location("store_factory", ROOT / "tests" / "store" / "factory.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECK_THEIR_CHARTS = {
    f"test_{name}" for name in ("pages", "charts_over_odd_runs", "operators_page", "compile_page", "trends_page")
}
"""Modules whose pages are drawn with the check: each page, ordinary and odd runs, every choice of charts."""


@pytest.fixture(scope="session")
def _checked_once() -> Callable[..., None]:
    """Altair's check of a part of a chart, which is not repeated for an equal part that has passed it."""
    from altair.utils import schemapi

    check, passed = schemapi.SchemaBase.validate.__func__, set()  # type: ignore[attr-defined]

    def validate(cls: type, instance: object, schema: object = None) -> None:
        part = (cls, repr(instance), repr(schema))
        if part not in passed:
            check(cls, instance, schema)
            passed.add(part)

    return validate


@pytest.fixture(scope="module", autouse=True)
def _charts(request: pytest.FixtureRequest, _checked_once: Callable[..., None]) -> Iterator[None]:
    """Check charts against their grammar where that is the point; elsewhere it would take a quarter of the time."""
    from altair.utils import schemapi

    if Path(request.node.path).stem in CHECK_THEIR_CHARTS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(schemapi.SchemaBase, "validate", classmethod(_checked_once))
            yield
        return
    with pytest.MonkeyPatch.context() as patch, schemapi.debug_mode(False):
        patch.setattr(schemapi.SchemaBase, "validate", classmethod(lambda _cls, _spec, _schema=None: None))
        yield


@pytest.fixture(scope="session", autouse=True)
def _components_are_looked_for_once() -> Iterator[None]:
    """A page that is opened lets Streamlit read what every installed package says of itself: most of its time."""
    from streamlit.components.v2 import manifest_scanner

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            manifest_scanner, "scan_component_manifests", functools.cache(manifest_scanner.scan_component_manifests)
        )
        yield


@pytest.fixture(scope="session", autouse=True)
def _a_page_is_waited_for_without_polling() -> Iterator[None]:
    """Streamlit looks every millisecond whether the script has ended, which costs a tenth of the page's time."""
    from streamlit.testing.v1 import local_script_runner

    wait = local_script_runner.require_widgets_deltas

    def wait_for_thread(runner: local_script_runner.LocalScriptRunner, timeout: float = 3) -> None:
        if runner._script_thread is not None:
            runner._script_thread.join(timeout)
        wait(runner, timeout if runner.script_stopped() else 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "require_widgets_deltas", wait_for_thread)
        yield


@pytest.fixture(scope="session", autouse=True)
def _streamlit_does_for_all_pages_what_a_server_does_once() -> Iterator[None]:
    """A server parses each script once, and this one counts no calls for Streamlit; `AppTest` does both anew."""
    from streamlit import config
    from streamlit.runtime.scriptrunner import script_cache
    from streamlit.testing.v1 import local_script_runner

    scripts, counts = script_cache.ScriptCache(), config.get_option("browser.gatherUsageStats")
    config.set_option("browser.gatherUsageStats", False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "ScriptCache", lambda: scripts)
        yield
    config.set_option("browser.gatherUsageStats", counts)


@pytest.fixture(scope="session")
def factory():
    return load_factory()


@pytest.fixture(scope="session")
def ingested(factory):
    """Write runs, a day after each other, and ingest them; return the store folder."""
    from store.ingest import ingest

    def make(home: Path, runs: dict[str, Any]) -> Path:
        for day, (run, records) in enumerate(runs.items()):
            for record in records:
                record.timestamp = factory.RUN_START + day * factory.DAY
            factory.write_run(home / "runs" / run, records)
        ingest([home], home / "store")
        return home / "store"

    return make


@pytest.fixture(scope="session")
def demo(factory, tmp_path_factory):
    return factory.demo_store(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def review_con(review_store):
    """A connection to the store of the real runs in tests/data/review."""
    from store import query

    with query.connect(query.current_snapshot(review_store)) as connection:
        yield connection


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
