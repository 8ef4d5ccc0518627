"""What the documents say can be typed, exists."""

import argparse
import functools
import re
import shlex
import textwrap
from pathlib import Path

import pytest

import xlabench
from dashboard.screens import PAGES
from runner.dynamo import cli, harness
from runner.param import command_line as operators
from runner.peer_cli import experiment_runner
from runner.suites import suite_names

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
GENERATED = {"benchmarks.md", "benchmarks-store.md", "definitions.md", "reliability.md", "schema.md"}
TWO_SCREENS = 100
"""Lines of at most 120 columns."""
RAYS = {"--head"}
"""Flags of `ray start` that a cluster needs."""


_OF_THE_SYSTEM = re.compile(
    r"(?<=\n)# (?:[\w/.]*/)?(?:cp|install|journalctl|pip|podman|python3.11|rm|systemctl|useradd) .*"
)
"""A line that an administrator types; test_deploy.py looks at those with our words."""


@functools.cache
def helps() -> dict[str, str]:
    """Return the help text of each verb, those of its actions included."""
    verbs = next(action for action in xlabench._parser()._actions if hasattr(action, "choices") and action.choices)
    return {name: _help(parser) for name, parser in verbs.choices.items()}


def _help(parser: argparse.ArgumentParser) -> str:
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return getattr(parser, "format_help_all", parser.format_help)() + "".join(
        _help(each) for action in inner for each in action.choices.values()
    )


@functools.cache
def peers_flags() -> set[str]:
    """Return the flags of other harnesses' command lines."""
    tables = (experiment_runner.flags_table(), harness.flags_table(), cli.flags_table(), operators.flags_table())
    return {name for table in tables for flag in table.flags for name in flag.names}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_flag_named_is_a_flag(document: Path) -> None:
    """A flag in a document is a flag of some verb or of a peer's command line; of `pytest`-like tools never."""
    text = _OF_THE_SYSTEM.sub("", document.read_text())
    known = set(re.findall(r"--[a-z][a-z0-9-]*", "".join(helps().values()))) | peers_flags() | RAYS
    named = set(re.findall(r"(?<![\w-])--_?[a-z][a-z0-9_-]+", text))
    assert named - known == set()


def test_every_document_that_somebody_wrote_fits_on_two_screens() -> None:
    """A longer one is shortened, or split by question."""
    written = [path for path in DOCUMENTS if path.name not in GENERATED]
    lines = {
        path.name: sum(len(textwrap.wrap(line, 120)) or 1 for line in path.read_text().splitlines()) for path in written
    }
    assert {name: count for name, count in lines.items() if count > TWO_SCREENS} == {}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_shown_can_be_parsed(document: Path) -> None:
    """Each `$ xlabench …` line is accepted by the parser."""
    for line in re.findall(r"^\$ xlabench (.*)$", document.read_text(), re.MULTILINE):
        words = shlex.split(line, comments=True)
        assert xlabench._parser().parse_args(words).name == words[0]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_of_a_peer_shown_can_be_translated(document: Path) -> None:
    """Each `$ python -m runner…` line is accepted by its parser."""
    for package, line in re.findall(r"^\$ python -m (runner(?:\.dynamo)?) (.*)$", document.read_text(), re.MULTILINE):
        words = shlex.split(line, comments=True)
        if package == "runner":
            # Programs of others that are named are those of tests/published_commands.yaml.
            if words[0].startswith("--"):
                experiment_runner.parser().parse_args(words)
        elif words[0] == "runner":
            cli.flags_table().parser("runner", "").parse_args(words[1:])
        elif words[0] == "xpu-script":
            harness.parser("").parse_args(cli.translate(cli.parse(words[1:])))
        else:
            harness.parser("").parse_args(words[1:])


def test_every_flag_is_documented() -> None:
    """The documents name every flag that a user may type, the peer's report aside."""
    all_text = "".join(path.read_text() for path in DOCUMENTS)
    shown = {"--help", "--seed", "--backends", "--run", "--home", "--database"}
    for name, text in helps().items():
        flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - shown
        assert {flag for flag in flags if flag not in all_text} == set(), name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_inside_leads_somewhere(document: Path) -> None:
    """Relative links and pictures exist, and so do the headings that they name."""
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", document.read_text())
    targets = [(document.parent / path if path else document, anchor) for path, anchor in links]
    assert [path for path, _ in targets if not path.exists()] == []
    assert [(path.name, anchor) for path, anchor in targets if anchor and anchor not in _anchors(path)] == []


def _anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/extend.md", "docs/extend-runner.md"])
def test_every_path_named_to_contributors_exists(name: str) -> None:
    """`folder/file` in them is one of this repository; `NAME` stands for what one adds."""
    folders = "dashboard|deploy|docs|runner|store|tests|tools|xlabench"
    paths = re.findall(rf"`((?:{folders})/[\w./-]*)`", (ROOT / name).read_text())
    assert len(paths) > 20
    assert [path for path in paths if "NAME" not in path and not (ROOT / path).exists()] == []


def test_every_document_is_in_the_index() -> None:
    linked = set(re.findall(r"\(([\w-]+\.md)\)", (ROOT / "docs" / "README.md").read_text()))
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - linked == {"README.md"}


def test_every_page_and_suite_is_described() -> None:
    """Each page has its title in docs/pages.md, and each suite that can be chosen its name in docs/flags.md."""
    pages, flags = ((ROOT / "docs" / name).read_text() for name in ("pages.md", "flags.md"))
    assert [page.title for page in PAGES if page.title not in pages] == []
    assert [name for name in suite_names() if f"`{name}`" not in flags] == []


def test_every_make_target_named_exists() -> None:
    """`make TARGET` in a document is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for document in DOCUMENTS:
        assert set(re.findall(r"`?make ([a-z-]+)", document.read_text())) - targets <= {"it"}, document
