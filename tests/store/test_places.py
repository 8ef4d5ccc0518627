"""Commands that people type name the home and the store that are meant, from any folder."""

import shlex
from pathlib import Path

import pytest

from store.places import DEFAULT_HOME, command_with_places, with_places

HOME = Path("/data/my lab")
PLACED = "--home '/data/my lab'"


@pytest.mark.parametrize(
    ("text", "placed"),
    [
        ("Run `xlabench ingest` first.", f"Run `xlabench ingest {PLACED}` first."),
        ("`xlabench jobs list --limit N` has more", f"`xlabench jobs {PLACED} list --limit N` has more"),
        ('`xlabench sql "FROM runs"`', f'`xlabench sql {PLACED} "FROM runs"`'),
        ("`xlabench worker` or `xlabench serve`", f"`xlabench worker {PLACED}` or `xlabench serve {PLACED}`"),
        ("see `xlabench run --help`", "see `xlabench run --help`"),
        ("`xlabench sql --home x 'FROM runs'`", "`xlabench sql --home x 'FROM runs'`"),
        ("`xlabench.toml` and `pip install`, xlabench itself", "`xlabench.toml` and `pip install`, xlabench itself"),
    ],
)
def test_a_command_in_backticks_names_the_home(text, placed):
    assert with_places(text, HOME, HOME / "store") == placed


def test_the_default_home_needs_no_flag_and_another_store_is_named_where_a_verb_takes_one():
    assert with_places("`xlabench report`", DEFAULT_HOME, DEFAULT_HOME / "store") == "`xlabench report`"
    store = Path("/fast/store")
    assert command_with_places("xlabench report", DEFAULT_HOME, store) == "xlabench report --database /fast/store"
    assert command_with_places("xlabench jobs list", DEFAULT_HOME, store) == "xlabench jobs list"
    assert command_with_places("xlabench.measure(model)", HOME, store) == "xlabench.measure(model)"


def test_a_printed_command_works_from_another_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    home = Path("a lab")
    words = shlex.split(command_with_places("xlabench report", home, Path("other store")))
    assert words == ["xlabench", "report", "--home", f"{tmp_path}/a lab", "--database", f"{tmp_path}/other store"]
