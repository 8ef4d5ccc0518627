"""The built wheel is whole: installed outside the checkout it plans, ingests, reports and shows a page."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.command import ROOT
from xlabench import VERSION

pytestmark = [pytest.mark.slow, pytest.mark.venv]
PACKAGES = ("dashboard", "runner", "store", "xlabench")
DATA = (".sql", ".css", ".j2", ".js", ".yaml", ".svg", ".toml")
VERBS_AND_FIRST_PAGE = """
import pathlib, sys
from streamlit.testing.v1 import AppTest
import dashboard, xlabench
for words in ("plan --suite-name dummy", f"ingest {sys.argv[1]}", "report --format html"):
    assert xlabench.main(words.split()) == 0, words
folder = pathlib.Path(dashboard.__file__).parent
assert "site-packages" in str(folder), folder
page = AppTest.from_file(str(folder / "app.py"), default_timeout=120).run()
assert not page.exception, page.exception
print("\\n" + page.title[0].value)
"""
UV = Path(sys.executable).with_name("uv")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build it from what git tracks, as a build folder of an earlier day would hide a file that is missing now."""
    source = tmp_path_factory.mktemp("source")
    tracked = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tracked.returncode:
        pytest.skip("this checkout has no git history to tell its own files by")
    for name in tracked.stdout.splitlines():
        wanted = name.startswith(tuple(f"{package}/" for package in PACKAGES)) or "/" not in name
        if wanted and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    built = tmp_path_factory.mktemp("wheel")
    words = ["--wheel", "--no-build-isolation", "--offline", "--quiet", "--python", sys.executable, "--out-dir", built]
    subprocess.run([UV, "build", *words, source], check=True, timeout=300)
    return next(built.glob("*.whl"))


def test_it_holds_every_file_that_is_read_at_run_time(wheel: Path) -> None:
    """All four packages with their SQL, CSS and YAML, the license, and nothing of the tests."""
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    needed = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.suffix in (*DATA, ".py")
    }
    assert needed <= held, sorted(needed - held)[:10]
    assert not any(name.startswith("tests") for name in held)
    assert any(name.endswith("licenses/LICENSE") for name in held)
    assert VERSION in wheel.name


def try_it(place: Path, scratch: Path) -> None:
    """Use the command, the store and the first page of an environment, in a folder that is no checkout."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env["XLABENCH_HOME"] = str(scratch / "home")

    def done(*words: str) -> str:
        answer = subprocess.run(words, cwd=scratch, env=env, capture_output=True, text=True, timeout=300, check=False)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return answer.stdout

    assert VERSION in done(str(place / "bin" / "xlabench"), "--version")
    python, run = place / "bin" / "python", ROOT / "demo" / "runs" / "nightly-12"
    said = done(str(python), "-c", VERBS_AND_FIRST_PAGE, str(run))
    assert "inductor" in said
    assert "resnet18" in said
    assert said.splitlines()[-1] == "Overview"


def test_it_works_where_there_is_no_checkout(wheel: Path, tmp_path: Path) -> None:
    """A new environment that has the dependencies and the wheel: the command, the store and the first page."""
    place = tmp_path / "venv"
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    site = next((place / "lib").glob("python3*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    install = ["pip", "install", "--quiet", "--no-deps", "--offline", "--python", python, wheel]
    subprocess.run([UV, *install], check=True, timeout=300)
    try_it(place, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_it_works_on_other_versions_of_python(wheel: Path, tmp_path: Path, version: str) -> None:
    """With the newest packages of that version, as its user installs them."""
    interpreter = shutil.which(f"python{version}")
    # A shim of pyenv is there also where its version is not the chosen one, and only says so.
    if interpreter is None or subprocess.run([interpreter, "--version"], check=False).returncode != 0:
        pytest.skip(f"python{version} is not installed")
    place = tmp_path / "venv"
    subprocess.run([UV, "venv", "--quiet", "--python", interpreter, str(place)], check=True, timeout=300)
    into = ["--python", str(place / "bin" / "python"), "--constraint", str(ROOT / "constraints" / "latest.txt")]
    subprocess.run([UV, "pip", "install", "--quiet", *into, f"{wheel}[dashboard]"], check=True, timeout=500)
    try_it(place, tmp_path)
