"""What all tests share: the store of runs that were measured earlier, the session's own folders, a clean end."""

import functools
import gc
import os
import shutil
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from runner import processes
from tests.faults import fault_rows

os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
"""Before torch is imported: two tests share two cores, and threads that spin while they wait take both."""

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

REVIEW = Path(__file__).parent / "data" / "review"
"""Runs that were measured and kept: see its README."""

_exit_status = pytest.StashKey[int]()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[_exit_status] = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave without tearing the interpreter down: DuckDB 2.0's binding could bury the summary under leak reports.

    A worker of xdist ends as any process does. It collects what is frozen, or the binding reports all of that.
    """
    if _exit_status in config.stash and not hasattr(config, "workerinput"):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(config.stash[_exit_status])
    gc.unfreeze()


def _settle_heap() -> None:
    """Take what is alive now out of the collector's sight: verifications look for garbage each time.

    At the end of a session, in a process with the modules and the leftovers of all other tests, that took 10 s a test.
    """
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    _settle_heap()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give files to workers as `--dist loadfile` does, but all files to one that start the same for a session.

    That is a browser with what it has compiled, servers of pages, and the fork server of the runner's real processes:
    each worker would start them again.
    """
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            if Path(file).parts[:2] == ("tests", "browser"):
                return "browser"
            return "real processes" if _has_real_processes(config.rootpath / file) else file

    return Scheduling(config, log)


@functools.cache
def _has_real_processes(file: Path) -> bool:
    return "from real_processes import" in file.read_text(encoding="utf-8")


RUNNER = Path(__file__).parent / "runner"
"""Its files without a slow test take a second on average, other files four: they come last."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take long, else one worker would be at the last of them while the other is idle."""
    turns: dict[Path, int] = {}
    for item in items:
        turn = 0 if item.get_closest_marker("slow") else 1 + (RUNNER in item.path.parents)
        turns[item.path] = min(turn, turns.get(item.path, turn))
    items.sort(key=lambda item: turns[item.path])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Put back what a page leaves, and take away what libraries add to the environment.

    Streamlit names its script `__main__`, which a spawned process would run. Inductor tells processes below where its
    cache is: no run after that would have the environment that tests/warm_server.py needs to fork its servers. A run in
    this process makes it adopt orphans, which would be no orphans to the tests of another file.
    """
    main, names = sys.modules["__main__"], set(os.environ)
    done = yield
    sys.modules["__main__"] = main
    for name in os.environ.keys() - names:
        if not name.startswith(("XLABENCH_", "PYTEST_", "TMPDIR")):
            del os.environ[name]
    if nextitem is not None and nextitem.path != item.path:
        processes._prctl(processes._PR_SET_CHILD_SUBREAPER, 0)
        _settle_heap()
    return done


@pytest.fixture(scope="session", autouse=True)
def _own_temporary_folder() -> Iterator[None]:
    """What tests leave behind is found, and does not fill the machine's folder."""
    fault_rows.begin_session()
    yield
    shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)


_began = 0.0
"""When the test that runs now has begun to set up what it needs, as `fault_rows.now` gives it."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    done = yield
    fault_rows.look_for_orphans(_began)
    return done


@pytest.fixture(autouse=True)
def _what_stays_is_counted(_own_temporary_folder: None) -> Iterator[None]:
    """Of a test of faults, from before it sets anything up until all of that is gone."""
    global _began
    _began, before = fault_rows.now(), fault_rows.files()
    yield
    fault_rows.look_for_files(before)


@pytest.fixture(scope="session", autouse=True)
def _own_locks(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Runs of other test sessions on this machine measure nothing that counts: none waits for another's device."""
    os.environ["XLABENCH_LOCKS"] = str(tmp_path_factory.mktemp("locks"))


@pytest.fixture(scope="session", autouse=True)
def _on_any_machine() -> None:
    """Who else is busy is no matter of a test: turns are not judged, and no backend's clock is proved, unless it says.

    A test of either gives the settings or the flag.
    """
    os.environ["XLABENCH_QUIET"] = "off"


@pytest.fixture(scope="session", autouse=True)
def _tables_are_made_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Indexes of this process, and of those that tests fork, begin as copies of one: a quarter less time."""
    from tests import migrated

    os.environ[migrated.PLACE] = str(tmp_path_factory.mktemp("migrated") / "empty.duckdb")
    migrated.begin_as_copies()


@pytest.fixture(scope="session")
def review_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the runs under tests/data/review, which no test changes."""
    from store.ingest import ingest

    store = tmp_path_factory.mktemp("review") / "store"
    ingest([REVIEW], store)
    return store
