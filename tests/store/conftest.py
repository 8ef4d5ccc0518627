"""Share one demonstration store."""

import contextlib
from pathlib import Path

import pytest

from store import query
from tests.store import factory, weekly_runs

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "peer-xla"


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """Folder with two runs and their store in `store`; read only."""
    home = tmp_path_factory.mktemp("demo")
    factory.demo_store(home)
    return home


@pytest.fixture(scope="session")
def weeks(tmp_path_factory):
    """Folder with the nights of two weeks in `runs` and their store in `store`; read only."""
    from store.ingest import ingest

    home = tmp_path_factory.mktemp("weeks")
    weekly_runs.write_weeks(home)
    ingest([home / "runs"], home / "store")
    return home


@pytest.fixture
def demo_con(demo):
    with query.connect(query.current_snapshot(demo / "store")) as con:
        yield con


@pytest.fixture(scope="session")
def peer_files():
    """The peer's two published result files."""
    if not SHARED.is_dir():
        pytest.skip("the peer's files are not in ../shared/data/peer-xla")
    return SHARED


@pytest.fixture(scope="session")
def ingested(tmp_path_factory):
    """Write run folders, each its records and what else was planned; ingest them, equal ones once in a session."""
    from store.ingest import ingest

    snapshots = {}

    def make(*runs):
        folder = tmp_path_factory.mktemp("ingested")
        paths = [factory.write_run(folder / f"run-{number}", *run) for number, run in enumerate(runs, start=1)]
        content = tuple(file.read_bytes() for path in paths for file in sorted(path.iterdir()))
        if content not in snapshots:
            snapshots[content] = ingest(paths, folder / "store").snapshot
        return snapshots[content]

    return make


@pytest.fixture(scope="module")
def scenes(request, ingested):
    """Open the store of all scenes of a module."""
    with query.connect(ingested(*request.module.SCENES)) as con:
        yield con


@pytest.fixture
def connect():
    """Open a snapshot to read it; closes it at the end."""
    with contextlib.ExitStack() as connections:
        yield lambda snapshot: connections.enter_context(query.connect(snapshot))


@pytest.fixture
def stored_runs(ingested, connect):
    """Ingest several runs: the first day's records, the second's … as `run-1`, `run-2` …; open the snapshot."""

    def make(*days, label="nightly", planned=()):
        runs = []
        for number, made in enumerate(days, start=1):
            start = factory.RUN_START + number * factory.DAY
            runs.append([make_one(run_id=f"run-{number}", timestamp=start, label=label) for make_one in made])
        return connect(ingested(*((records, planned) for records in runs)))

    return make


@pytest.fixture
def stored(tmp_path_factory, ingested, connect):
    """Ingest records as one run, or paths, and open the snapshot."""
    from store.ingest import ingest

    def make(records=(), planned=(), paths=None):
        if paths is None:
            return connect(ingested((list(records), planned)))
        return connect(ingest(paths, tmp_path_factory.mktemp("stored")).snapshot)

    return make
