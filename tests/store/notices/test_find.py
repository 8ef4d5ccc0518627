"""Each event is found once: over the nights in which something fails, gets slower, is confirmed, and is well again."""

import shutil
from datetime import UTC, datetime

import pytest

from store import query
from store.ingest import ingest
from store.notices import find
from store.state import notices
from store.state.database import opened
from tests.store import weekly_runs
from tests.store.factory import DAY, make_record, write_run
from tests.store.weekly_runs import BETWEEN, ENVIRONMENTS, LAST, NOW, STARTED

SLOWER = "torchbench/BERT_pytorch eval openxla+dynamo on Example CPU"
AFTER = "after-run-04"


class Reader:
    """Somebody who looks now and then: what each look finds is kept as the worker keeps it."""

    def __init__(self, home, *archives) -> None:
        self.home, self.places = home, [*archives, home / "runs"]
        self.state = home / "state.sqlite"

    def look(self, at: float, store: str = "store") -> list[tuple[str, str]]:
        """Ingest what lies there, look at that time (Unix seconds), return kind and title of what is new."""
        ingest(self.places, self.home / store)
        with opened(self.state) as con:
            known, looked = notices.standing(con), notices.looks(con)
        with query.connect(query.current_snapshot(self.home / store)) as con:
            found = find(con, known, looked, datetime.fromtimestamp(at, UTC).replace(tzinfo=None))
        with opened(self.state) as con:
            new = [each for notice in found.notices if (each := notices.add(con, notice, (), at))]
            notices.write_looks(con, found.looked)
        return [(each.kind, each.title) for each in new]

    def notices(self) -> dict[str, notices.Notice]:
        with opened(self.state) as con:
            return {each.key: each for each in notices.newest(con, 1000)}


@pytest.fixture(scope="module")
def first_look(weeks, tmp_path_factory):
    """A home in which somebody has looked after the last night, and what was found."""
    home = tmp_path_factory.mktemp("looked")
    (home / "runs").mkdir()
    shutil.copytree(weeks / "store", home / "store")
    return home, Reader(home, weeks / "runs").look(STARTED[NOW] + 3600)


@pytest.fixture
def looked(weeks, first_look, tmp_path):
    """A copy of its index and of what was found, to look again at its runs and at further ones."""
    home, _ = first_look
    shutil.copytree(home, tmp_path / "home")
    return Reader(tmp_path / "home", weeks / "runs")


@pytest.fixture
def unseen(looked):
    """The same where nobody has looked, though the runs are in the index."""
    looked.state.unlink()
    return looked


def of(found, kind):
    return [title for each, title in found if each == kind]


def test_a_night_is_told_once_however_often_one_looks(first_look, looked):
    _, first = first_look
    assert sorted(of(first, "newly failing")) == [
        "Newly failing: torchbench/dcgan eval openxla+lazytensor on Example CPU",
        "Newly failing: torchbench/dcgan train openxla+lazytensor on Example CPU",
        "Newly failing: torchbench/resnet50 eval openxla+dynamo on Example CPU",
        "Newly failing: torchbench/resnet50 train openxla+dynamo on Example CPU",
    ]
    [suspected] = of(first, "suspected regression")
    assert suspected.startswith(f"Suspected regression: {SLOWER}, ")
    assert suspected.endswith(" ms to 9.83 ms")
    assert len(first) == 5, "what got faster, or passes that nobody was told to fail, is no event"
    assert looked.look(STARTED[NOW] + 7200) == []
    assert looked.look(STARTED[NOW] + 7200, "made-anew") == [], "nor over an index that was made anew"


def test_a_notice_has_the_evidence_the_versions_and_the_page(looked):
    told = looked.notices()
    [speed] = [each for each in told.values() if each.kind == "suspected regression"]
    assert ", interval 0.6" in speed.text
    assert "n = 3 processes" in speed.text
    assert "torch 2.8.0, torch_xla 2.8.0\nNow: nightly" in speed.text
    assert f"xlabench compare {BETWEEN} {NOW}; --confirm" in speed.text
    assert speed.page == f"compare?run={NOW}&a={BETWEEN}&b={NOW}"
    [failing] = [each for each in told.values() if "resnet50 eval" in each.title]
    assert failing.text.startswith("oom (warmup): no <b>room</b>")
    assert failing.page == f"model?run={NOW}&suite=torchbench&model=resnet50&test=eval"


def test_a_confirming_run_makes_of_a_suspicion_a_confirmed_regression_once(looked):
    weekly_runs.confirming(looked.home)
    [(kind, title)] = looked.look(STARTED[NOW] + 2 * DAY)
    assert (kind, title[: 23 + len(SLOWER)]) == ("confirmed regression", f"Confirmed regression: {SLOWER},")
    assert looked.look(STARTED[NOW] + 2 * DAY) == []
    looked.state.unlink()
    found = looked.look(STARTED[NOW] + 2 * DAY)
    both = (len(of(found, "confirmed regression")), of(found, "suspected regression"))
    assert both == (1, []), "one event also where nobody looked before it was confirmed"


def test_what_measuring_again_denies_is_told_as_recovered(looked):
    weekly_runs.confirming(looked.home, run="denial-03")
    _unmoved(looked.home / "runs" / "denial-03" / "results.jsonl")
    [(kind, title)] = looked.look(STARTED[NOW] + 2 * DAY)
    assert kind == "recovered"
    assert title == f"Recovered: {SLOWER}, not confirmed: both sides were measured again, interleaved"


def test_what_is_well_again_is_told_once_and_may_fail_anew(looked):
    night(looked.home, AFTER, STARTED[NOW] + DAY)
    recovered = looked.look(STARTED[NOW] + DAY + 3600)
    assert {kind for kind, _ in recovered} == {"recovered"}
    assert sorted(title for _, title in recovered) == [
        f"Recovered: {SLOWER}, faster than in the slow run, and no longer clearly slower than before it",
        "Recovered: torchbench/dcgan eval openxla+lazytensor on Example CPU passes again",
        "Recovered: torchbench/resnet50 eval openxla+dynamo on Example CPU passes again",
    ]
    assert looked.look(STARTED[NOW] + DAY + 7200) == []
    night(looked.home, "again-run-5", STARTED[NOW] + 2 * DAY, slower=1.5, fails=True)
    again = looked.look(STARTED[NOW] + 2 * DAY + 3600)
    assert sorted(kind for kind, _ in again) == ["newly failing", "newly failing", "suspected regression"]


def test_what_stays_slower_is_told_no_more_and_what_gets_slower_still_is(looked):
    night(looked.home, AFTER, STARTED[NOW] + DAY, slower=1.4)
    stays = looked.look(STARTED[NOW] + DAY + 3600)
    assert not [title for _, title in stays if "BERT" in title]
    night(looked.home, "again-run-5", STARTED[NOW] + 2 * DAY, slower=2.1)
    [(kind, title)] = looked.look(STARTED[NOW] + 2 * DAY + 3600)
    assert (kind, "BERT" in title) == ("suspected regression", True)


def test_a_run_that_goes_on_is_looked_at_when_it_is_over(tmp_path):
    """Its last experiments have no record yet."""
    weekly_runs.write_weeks(tmp_path)
    weeks, path = Reader(tmp_path), tmp_path / "runs" / NOW / "results.jsonl"
    whole = path.read_text()
    path.write_text("".join(whole.splitlines(keepends=True)[:-9]))
    assert weeks.look(STARTED[NOW] + 60) == []
    path.write_text(whole)
    assert len(weeks.look(STARTED[NOW] + 120)) == 5


def test_what_has_failed_and_been_slow_for_days_is_no_news(unseen):
    """Nobody looked at the night in which it began; nor is an archive news."""
    assert unseen.look(STARTED[NOW] + 10 * DAY) == []
    unseen.state.unlink()
    night(unseen.home, AFTER, STARTED[NOW] + 4 * DAY, slower=1.4, fails=True)
    assert unseen.look(STARTED[NOW] + 4 * DAY + 3600) == []


def test_what_never_passed_is_not_newly_failing(tmp_path):
    for number in range(2):
        record = make_record(run_id=f"run-{number}", timestamp=STARTED[LAST] + number * DAY, status="crashed")
        write_run(tmp_path / "runs" / str(number), [record])
    assert Reader(tmp_path).look(STARTED[LAST] + DAY + 60) == []


def night(home, run, started, *, slower=1.0, fails=False):
    """Write a further night of the three results that moved, with the other models of the plan as they were."""
    what = [(model, "inductor") for model in weekly_runs.MODELS]
    what += [("BERT_pytorch", "openxla+dynamo"), ("resnet50", "openxla+dynamo"), ("dcgan", "openxla+lazytensor")]
    bad = ("resnet50", "dcgan") if fails else ()
    records = [
        make_record(
            model=model,
            backend=backend,
            run_id=run,
            timestamp=started,
            environment=ENVIRONMENTS[NOW],
            replica=replica,
            verification_code="PASS",
            **(
                {"status": "crashed", "message": "killed by signal 11"}
                if model in bad and backend != "inductor"
                else {"per_iter": [each * slower for each in weekly_runs._times(LAST, model, backend, "eval", replica)]}
                if model == "BERT_pytorch" and backend != "inductor"
                else {"per_iter": weekly_runs._times(LAST, model, backend, "eval", replica)}
            ),
        )
        for model, backend in what
        for replica in range(3)
    ]
    write_run(home / "runs" / run, records)


def _unmoved(path):
    """Make both sides of a confirming run equally fast."""
    import msgspec

    lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    old = {line["replica"]: line["metrics"] for line in lines if line["environment"]["name"] == "old"}
    for line in lines:
        line["metrics"] = old[line["replica"]]
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
