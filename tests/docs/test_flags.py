"""The documents name every flag of a run; tables of other harnesses' flags are the data their parsers are made of."""

import ast
import os
import re
from pathlib import Path

import pytest

from runner.dynamo import cli, harness
from runner.param import command_line as operators
from runner.peer_cli import experiment_runner
from runner.peer_cli.table import PeerFlags
from tests.docs.test_docs import ROOT, helps
from tests.store.aggregate import checkout

DOCS = ROOT / "docs"
OF_A_RUN = ("flags.md", "flags-measurement.md", "verify.md", "artifacts.md")
"""Documents with the flags of `plan` and `run`."""
TABLES = {
    "experiment_runner.py": experiment_runner.flags_table,
    "the TorchDynamo harness": harness.flags_table,
    "runner.py": cli.flags_table,
    "PARAM's run_benchmark": operators.flags_table,
}
DOCUMENTS = {
    "experiment_runner.py": "other-harnesses.md",
    "the TorchDynamo harness": "harness-torchdynamo-flags.md",
    "runner.py": "harness-torchdynamo.md",
    "PARAM's run_benchmark": "param.md",
}
"""Which document holds each table."""


@pytest.mark.parametrize("verb", ["plan", "run"])
def test_every_flag_of_the_help_is_named(verb: str) -> None:
    ours = "".join((DOCS / name).read_text() for name in OF_A_RUN)
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", helps()[verb])) - {"--help", "--home", "--database"}
    assert {flag for flag in flags if not re.search(rf"{flag}(?![\w-])", ours)} == set()


@pytest.mark.parametrize("name", TABLES)
def test_the_table_of_their_flags_is_the_parsers_data(name: str) -> None:
    """To renew it, paste what this prints."""
    expected = TABLES[name]().markdown()
    document = DOCS / DOCUMENTS[name]
    assert expected in document.read_text(), f"{document.name} should hold for {name}:\n{expected}"


def test_the_table_of_the_xpu_scripts_words_is_the_parsers_data() -> None:
    document = (DOCS / "other-harnesses.md").read_text()
    for place, argument in enumerate(cli.arguments(), 1):
        default = f"`{argument.default}`" if argument.default else "none"
        assert f"| {place}. `{argument.name}` | {default} | {argument.becomes} |" in document


@pytest.mark.parametrize("name", TABLES)
def test_every_flag_of_ours_in_the_tables_is_one(name: str) -> None:
    known = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", helps()["run"]))
    for flag in TABLES[name]().flags:
        assert set(re.findall(r"--[a-z][a-z0-9-]+", flag.gives or "")) <= known, flag.names


@pytest.mark.parametrize("name", TABLES)
def test_every_flag_of_theirs_is_accepted_or_refused(name: str) -> None:
    """Whether prefix or value, the parser knows each name of the table."""
    parser = TABLES[name]().parser(name, "")
    known = {option for action in parser._actions for option in action.option_strings}
    assert {option for flag in TABLES[name]().flags for option in flag.names} == known - {"-h", "--help"}


def test_no_flag_of_their_experiment_runner_is_missing() -> None:
    folder = checkout()
    if folder is None:
        pytest.skip("$PYTORCH_XLA_DIR names no checkout of github.com/pytorch/xla")
    assert _missing(folder / "experiment_runner.py", experiment_runner.flags_table()) == set()


def test_no_flag_of_their_harness_is_missing() -> None:
    """A torchbench checkout brings a copy of the harness."""
    common = Path(os.environ.get("TORCHBENCH_DIR", "")) / "userbenchmark" / "dynamo" / "dynamobench" / "common.py"
    if not os.environ.get("TORCHBENCH_DIR") or not common.is_file():
        pytest.skip("$TORCHBENCH_DIR names no checkout of github.com/pytorch/benchmark")
    assert _missing(common, harness.flags_table()) == set()


def _missing(source: Path, table: PeerFlags) -> set[str]:
    """Return the names that their parser adds and our table lacks."""
    calls = [node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.Call)]
    added = [call.args for call in calls if getattr(call.func, "attr", "") == "add_argument"]
    names = {word.value for words in added for word in words if isinstance(word, ast.Constant)}
    assert len(names) > 40, "their parser was not understood"
    return names - {name for flag in table.flags for name in flag.names}
