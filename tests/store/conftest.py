"""Share one demonstration store."""

from pathlib import Path

import pytest

from store import query
from tests.store import factory

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "peer-xla"


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """Folder with two runs and their store in `store`; read only."""
    home = tmp_path_factory.mktemp("demo")
    factory.demo_store(home)
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


@pytest.fixture
def stored_runs(tmp_path, stored):
    """Ingest several runs: the first day's records, the second's … as `run-1`, `run-2` …; open the snapshot."""

    def make(*days, label="nightly", planned=()):
        paths = []
        for number, made in enumerate(days, start=1):
            start = factory.RUN_START + number * factory.DAY
            records = [make_one(run_id=f"run-{number}", timestamp=start, label=label) for make_one in made]
            paths.append(factory.write_run(tmp_path / f"day-{number}", records, planned))
        return stored(paths=paths)

    return make


@pytest.fixture
def stored(tmp_path):
    """Ingest records as one run, or paths, and open the snapshot; closes it at the end."""
    from store.ingest import ingest

    opened = []

    def make(records=(), planned=(), paths=None):
        folder = tmp_path / f"made-{len(opened)}"
        if paths is None:
            factory.write_run(folder / "run", list(records), planned)
            paths = [folder / "run"]
        report = ingest(paths, folder / "store")
        con = query.connect(report.snapshot)
        opened.append(con)
        return con

    yield make
    for con in opened:
        con.close()
