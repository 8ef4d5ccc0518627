"""What docs/deploy.md and its neighbours have people install is what the command, its settings and systemd take."""

import contextlib
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import msgspec
import pytest
from streamlit import auth_util
from streamlit.errors import StreamlitAuthError
from streamlit.runtime.secrets import Secrets
from streamlit.testing.v1.util import patch_config_options

import xlabench
from runner.home.settings_file import SettingsFile
from runner.notices.channels import channels_of
from tests.tiers import first_of

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs/deploy.md").read_text()
LOGIN = (ROOT / "docs/access.md").read_text()
UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
CONTAINER = (ROOT / "deploy/Containerfile").read_text()


def parsed(words: str) -> str:
    """Return the verb of our command's words; the parser ends the test where it does not take them."""
    return str(xlabench._parser().parse_args(shlex.split(words)).name)


def settings(unit: Path) -> dict[str, str]:
    lines = (line.partition("=") for line in unit.read_text().splitlines() if not line.startswith("#"))
    return {name: value for name, sign, value in lines if sign}


def test_each_line_with_our_command_is_one_that_it_takes():
    lines = [line for line in DOCUMENT.splitlines() if line.startswith("# ") and " xlabench " in line]
    ours = [parsed(each) for line in lines for each in re.findall(r" xlabench ((?:serve|worker) .*)$", line)]
    assert ours == ["serve", "worker"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_a_unit_starts_what_there_is_and_leaves_the_locks_where_all_see_them(unit):
    found = settings(unit)
    program, _, words = found["ExecStart"].partition(" ")
    assert program == "/opt/xlabench/bin/xlabench"
    assert f"xlabench-{'worker' if parsed(words) == 'worker' else 'dashboard'}.service" == unit.name
    assert found["PrivateTmp"] == "no"
    writable = found.get("ReadWritePaths", "/srv/xlabench /tmp").split()
    assert {"/srv/xlabench", "/tmp"} <= set(writable)


def test_the_workers_unit_leaves_its_jobs_alone_and_the_dashboards_has_none():
    by_name = {unit.name: settings(unit) for unit in UNITS}
    assert by_name["xlabench-worker.service"]["KillMode"] == "process"
    assert "--no-worker" in by_name["xlabench-dashboard.service"]["ExecStart"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here to ask")
@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_systemd_knows_every_setting_of_a_unit(unit, tmp_path):
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace("/opt/xlabench/bin/xlabench", shutil.which("true") or "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", copy], check=False, capture_output=True, text=True)
    assert unit.name not in done.stderr


def test_settings_shown_are_settings_and_defaults_are_the_defaults():
    names = ("access.md", "flags-measurement.md", "jobs.md", "recurring-runs.md")
    texts = [(ROOT / "docs" / name).read_text() for name in names]
    blocks = [each for text in texts for each in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
    read = {
        block: msgspec.toml.decode(block.replace("…", "x").encode(), type=SettingsFile)
        for block in blocks
        if "[auth]" not in block
    }
    assert len(read) == 5
    [defaults] = [found for block, found in read.items() if "[jobs]" in block]
    assert defaults == SettingsFile()
    [channels] = [channels_of(found.notices) for block, found in read.items() if "[notices.mail]" in block]
    assert [each.name for each in channels] == ["webhook", "mail"]


@pytest.mark.parametrize(
    ("left_out", "taken"), first_of([("nothing", True), ("cookie_secret", False), ("client_id", False)], 2)
)
def test_the_login_shown_is_one_that_streamlit_takes(tmp_path, monkeypatch, left_out, taken):
    [block] = [each for each in re.findall(r"```toml\n(.*?)```", LOGIN, re.DOTALL) if "[auth]" in each]
    kept = [line for line in block.splitlines() if not line.startswith(left_out)]
    (tmp_path / "secrets.toml").write_text("\n".join(kept))
    monkeypatch.setattr(auth_util, "secrets_singleton", Secrets())
    options = {"secrets.files": [str(tmp_path / "secrets.toml")], "server.fileWatcherType": "none"}
    refused = contextlib.nullcontext() if taken else pytest.raises(StreamlitAuthError, match=left_out)
    with patch_config_options(options), refused:
        auth_util.validate_auth_credentials("default")


def test_the_image_is_made_of_what_there_is():
    sources = [word for line in re.findall(r"^COPY (.*)$", CONTAINER, re.MULTILINE) for word in line.split()[:-1]]
    assert sources
    assert [each for each in sources if not (ROOT / each).exists()] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = {each.rstrip("*") for each in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    assert packages <= set(sources)
    for text in (CONTAINER, DOCUMENT):
        extras = re.findall(r"'\.\[([a-z,]+)\]'", text)
        assert extras
        named = {each for listed in extras for each in listed.split(",")}
        assert named <= set(project["project"]["optional-dependencies"])
    [command] = re.findall(r"^CMD (.*)$", CONTAINER, re.MULTILINE)
    assert parsed(shlex.join(json.loads(command))) == "serve"
