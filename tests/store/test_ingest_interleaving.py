"""Any interleaving of append, ingest, kill, rotate and re-ingest gives the rows of one clean ingest.

The long form of what test_ingest_faults.py and test_ingest_files.py show of each of these.
"""

import contextlib
import gzip
import json
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from store import query
from store.ingest import ingest, run
from tests.store.contents import contents
from tests.store.factory import make_record
from tests.store.peer_records import peer_record

LINES = [
    msgspec.json.encode(make_record()),
    msgspec.json.encode(make_record(model="vgg16", status="oom", message="no room")),
    msgspec.json.encode(make_record(model="alexnet", run_id="run-2")),
    json.dumps(peer_record()).encode(),
    json.dumps(peer_record(model="dlrm", total_time=[1.0, 0.1, 0.1, float("nan"), 0.5])).encode(),
    b"{bad",
    b"\xff",
]


class Killed(BaseException):
    """Stands for a signal: nothing of ours handles it."""


class Interleaving(RuleBasedStateMachine):
    """Two files that grow, are cut, rotated and packed, and an index that follows them now and then."""

    @initialize()
    def begin(self):
        self.made = tempfile.TemporaryDirectory()
        self.home = Path(self.made.name) / "home"
        self.home.mkdir()
        self.store = Path(self.made.name) / "store"
        self.rotated_n = 0
        for name in ("a", "b"):
            self.path(name).touch()

    def path(self, name):
        return self.home / f"{name}.jsonl"

    @rule(name=st.sampled_from("ab"), line=st.sampled_from(LINES), ended=st.booleans())
    def append(self, name, line, ended):
        with self.path(name).open("ab") as file:
            file.write(line + (b"\n" if ended else b""))

    @rule(name=st.sampled_from("ab"), share=st.floats(min_value=0, max_value=1))
    def cut(self, name, share):
        path = self.path(name)
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])

    @rule(name=st.sampled_from("ab"), packed=st.booleans())
    def rotate(self, name, packed):
        path, self.rotated_n = self.path(name), self.rotated_n + 1
        aside = self.home / f"{path.name}.{self.rotated_n}"
        path.rename(aside)
        if packed:
            (self.home / f"{aside.name}.gz").write_bytes(gzip.compress(aside.read_bytes()))
            aside.unlink()
        path.touch()

    @rule(rebuild=st.booleans())
    def ingest(self, rebuild):
        ingest([self.home], self.store, rebuild=rebuild)

    @rule(step=st.sampled_from(["forget", "load_records", "load_rejected", "save_watermarks"]), after=st.booleans())
    def kill(self, step, after):
        """Stop an ingest before or after a step of a transaction."""
        done = getattr(run.load, step)

        def stop(*arguments):
            if after:
                done(*arguments)
            raise Killed

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(run.load, step, stop)
            with contextlib.suppress(Killed):
                ingest([self.home], self.store)

    @invariant()
    def readers_see_each_record_once(self):
        snapshot = query.current_snapshot(self.store) if hasattr(self, "store") else None
        if snapshot:
            with query.connect(snapshot) as con:
                twice = "SELECT record_id FROM records GROUP BY 1 HAVING count(*) > 1"
                assert con.execute(twice).fetchall() == []

    def teardown(self):
        if not hasattr(self, "home"):
            return
        ingest([self.home], self.store)
        clean = Path(self.made.name) / "clean"
        ingest([self.home], clean)
        gone = {str(self.home / path) for path in _known(self.store)} - {str(path) for path in self.home.iterdir()}
        if not gone:  # what a file gave that was removed stays, and a clean ingest cannot know it
            assert contents(self.store) == contents(clean)
        self.made.cleanup()


def _known(store):
    with query.connect(query.current_snapshot(store)) as con:
        return [path for (path,) in con.execute("SELECT path FROM ingested_files").fetchall()]


TestInterleaving = pytest.mark.thorough(Interleaving.TestCase)
TestInterleaving.settings = settings(
    max_examples=10, stateful_step_count=10, deadline=None, phases=[Phase.generate], database=None
)
