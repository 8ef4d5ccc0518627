"""`xlabench mark` and `xlabench backup`: what a person says about series, and that it is kept."""

import shutil

import pytest

import xlabench
from store import query
from store.state import marks
from tests.store.factory import demo_store


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return demo_store(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def home(demo, tmp_path):
    """A home with a copy of the store, which marks change."""
    shutil.copytree(demo, tmp_path / "store")
    return tmp_path


def run(*words):
    return xlabench.main(list(words))


def epochs(home, where="true"):
    with query.connect(query.current_snapshot(home / "store")) as con:
        rows = con.execute(f"SELECT max(epoch) FROM history WHERE {where} GROUP BY run_id ORDER BY run_id").fetchall()
    return [epoch for (epoch,) in rows]


def test_a_mark_at_a_run_begins_an_epoch_there(home, capsys):
    of = ("--run", "22222222-bbbb", "--model", "vgg16")
    assert run("mark", "add", "new driver", "--home", str(home), *of, "--who", "ann") == 0
    assert "1  2025-10-10 08:53 UTC (run 22222222-bbbb)  new driver  [model vgg16]  ann" in capsys.readouterr().out
    assert epochs(home, "model = 'vgg16'") == [0, 1]
    assert epochs(home, "model <> 'vgg16'") == [0, 0]


def test_the_peer_rule_names_the_home_where_a_mark_parts_results_from_their_baseline(home, capsys):
    run("mark", "add", "new driver", "--home", str(home), "--run", "22222222-bbbb")
    capsys.readouterr()
    assert run("report", "latest", "--baseline", "latest", "--home", str(home)) == 0
    assert f"(`xlabench mark --home {home} list`)" in " ".join(capsys.readouterr().out.split())


def test_a_mark_at_a_label_is_at_its_newest_run(home, capsys):
    assert run("mark", "add", "new driver", "--home", str(home), "--run", "nightly") == 0
    assert "2025-10-10 08:53 UTC (run 22222222-bbbb)  new driver" in capsys.readouterr().out


def test_a_mark_can_be_listed_and_taken_back(home, capsys):
    run("mark", "add", "before all", "--home", str(home), "--at", "2020-01-01")
    assert epochs(home) == [1, 1]
    assert run("mark", "list", "--home", str(home)) == 0
    assert "before all  [all series]" in capsys.readouterr().out
    assert run("mark", "remove", "1", "--home", str(home)) == 0
    assert epochs(home) == [0, 0]
    run("mark", "list", "--home", str(home))
    assert "There are no marks." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("add", "x", "--run", "none"), "The store has no run 'none'."),
        (("add", "x", "--run", "nightyl"), "The store has no run 'nightyl'. Did you mean nightly?"),
        (("add", "x", "--at", "soon"), "'soon' is not a time."),
        (("add", "x", "--at", ""), "'' is not a time."),
        (("add", "x", "--model", "vgg61"), "No result of the store has the model 'vgg61'. Did you mean vgg16?"),
        (("add", "x", "--test", "warm"), "No result of the store has the test 'warm'. The store has: eval, train."),
        (("add", "x", "--model", ""), "has the model ''."),
        (
            ("add", "x", "--backend", "inductor", "--variant", "eager"),
            "No result of the store has all of: backend inductor, variant eager. Leave one of them out.",
        ),
        (("remove", "7"), "There is no mark 7."),
    ],
)
def test_what_cannot_be_done_is_one_sentence(home, capsys, words, sentence):
    assert run("mark", "--home", str(home), *words) == 2
    assert sentence in capsys.readouterr().err
    assert marks.listed(home / "state.sqlite") == []


def test_a_mark_can_be_set_before_there_is_an_index(tmp_path):
    assert run("mark", "add", "first", "--home", str(tmp_path)) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["state.sqlite"]


def test_a_backup_is_the_state(home, capsys):
    run("mark", "add", "kept", "--home", str(home))
    assert run("backup", str(home / "copy.sqlite"), "--home", str(home)) == 0
    assert [mark.text for mark in marks.listed(home / "copy.sqlite")] == ["kept"]
    assert (home / "copy.sqlite").stat().st_mode & 0o777 == 0o600
    with pytest.raises(SystemExit, match="2"):
        run("backup", f"{home}/new/", "--home", str(home))
    assert "new/ names a folder; name a file in it" in capsys.readouterr().err
    assert run("backup", str(home / "copy.sqlite"), "--home", str(home)) == 2
    assert "exists" in capsys.readouterr().err
