"""`xlabench.toml` of a home."""

import pytest

from runner.home import settings_file
from runner.home.settings_file import Limits, SettingsFile
from runner.plan import LocalRequest
from store.errors import UsageError

LIMITS = {"subprocess_timeout": 60, "memory_limit": 2 << 30, "artifact_limit": 10 << 20}
TEXT = """
[environments]
nightly = "/venvs/nightly/bin/python"
beside = "envs/beside/bin/python"

[limits]
subprocess_timeout = 60
memory_limit = "2G"
artifact_limit = "10M"
"""


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in LIMITS:
        monkeypatch.delenv(f"XLABENCH_{name.upper()}", raising=False)


def write(home, text):
    (home / settings_file.NAME).write_text(text)
    return settings_file.read(home)


def limits(home, file, **flags):
    protocol = settings_file.with_limits(LocalRequest().changed(**flags), home, file).protocol
    return {name: getattr(protocol, name) for name in LIMITS}


def test_without_a_file_nothing_is_set(tmp_path):
    assert settings_file.read(tmp_path) == SettingsFile()
    assert limits(tmp_path, SettingsFile()) == dict.fromkeys(LIMITS)


def test_environments_are_found_by_name(tmp_path):
    """A relative path starts at the home, so that a home can be moved as a whole."""
    found = settings_file.interpreters(tmp_path, write(tmp_path, TEXT))
    assert {name: str(path) for name, path in found.items()} == {
        "nightly": "/venvs/nightly/bin/python",
        "beside": f"{tmp_path}/envs/beside/bin/python",
    }


def test_the_file_sets_the_limits(tmp_path):
    assert limits(tmp_path, write(tmp_path, TEXT)) == LIMITS


def test_an_environment_variable_goes_before_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("XLABENCH_MEMORY_LIMIT", "3G")
    assert limits(tmp_path, write(tmp_path, TEXT)) == {**LIMITS, "memory_limit": 3 << 30}


def test_a_flag_goes_before_both(tmp_path, monkeypatch):
    monkeypatch.setenv("XLABENCH_MEMORY_LIMIT", "3G")
    assert limits(tmp_path, write(tmp_path, TEXT), memory_limit=5)["memory_limit"] == 5


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[roles]\n\n[limits", "cannot be read: line 3: Expected ']'"),
        (
            "# ours\n[limits]\nmemory_limt = 1",
            r"line 3: there is no setting memory_limt in \[limits\]\. Did you mean memory_limit\?",
        ),
        ("[roles]\n[thresholds]\na = 1", "line 2: there is no setting thresholds."),
        ("[environments]\nnew = 'a'\nold = 3", r"line 1: environments\.\*: Expected `str`, got `int`"),
        ("[jobs]\ngrace_s = 9\nqueue = 'many' # of all", "line 3: jobs.queue: Expected `int`, got `str`"),
        ("[models.net]\nsource = 'net.py'\nlaunch = ['ann', 3]", r"line 3: models\.\*\.launch: Expected `str`"),
        ("[notices]\nmail = {host = 'h', sender = 's'}", "line 2: notices.mail: Object missing required field `to`"),
        ("[roles]\n# \xff", "line 2: it is not UTF-8"),
        pytest.param("x = " + "[" * 100_000, "cannot be read: It is nested too deeply", id="deep"),
    ],
)
def test_a_broken_file_is_one_sentence(tmp_path, text, part):
    (tmp_path / settings_file.NAME).write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=part) as caught:
        settings_file.read(tmp_path)
    assert str(tmp_path / settings_file.NAME) in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_bad_limit_names_where_it_stands(tmp_path, monkeypatch):
    file = SettingsFile(limits=Limits(memory_limit="lots"))
    with pytest.raises(UsageError, match=r"xlabench.toml: memory_limit: 'lots' is not a size"):
        limits(tmp_path, file)
    monkeypatch.setenv("XLABENCH_SUBPROCESS_TIMEOUT", "soon")
    with pytest.raises(UsageError, match=r"XLABENCH_SUBPROCESS_TIMEOUT: subprocess_timeout: 'soon'"):
        limits(tmp_path, file)


def test_a_name_that_no_flag_could_take_is_refused(tmp_path):
    file = write(tmp_path, '[environments]\n"a b" = "x"')
    with pytest.raises(UsageError, match="'a b' is not of the form"):
        settings_file.interpreters(tmp_path, file)
