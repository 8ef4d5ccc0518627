"""A link whose every parameter is hostile: it opens no file, becomes no SQL, and what the page says of it is text."""

import ast
import sys
from pathlib import Path

import pytest

from dashboard import settings
from dashboard.ui import frame
from dashboard.view import FILTER_WORDS
from store import query
from tests.dashboard.opened import copyable, open_page, tables, text

MARK = "hostile7f3a"
SECRET = "what lies beside the run"
LOG = "artifacts/a/honest.log"
FILE = f"x' OR 1=1 UNION SELECT '{MARK}' --<img src=x onerror={MARK}>\x1b[2J\u202e{{{{7*7}}}}.txt"
"""Name of a file that is SQL, markup, a template, and what no terminal should obey."""
BREAKING = f"{MARK}\0" + "y" * 3000
NAMES = {
    *(*FILTER_WORDS, "only", "run", "baseline", "baseline_run", "baseline_accelerator", "rule"),
    *(
        "findings",
        "by",
        "open",
        "review",
        "finding",
        "a",
        "b",
        "with_run",
        "section",
        "record",
        "records",
        "job",
        "show",
    ),
    *("result", "part", "file", "kind", "process", "find", "timeline", "op", "operator", "chart", "measure", "colour"),
    *("ranking", "order", "series_a", "series_b", "rate", "label", "labelled", "last", "of_model", "number"),
    *("against_by", "compile_chart", "compile_section", "blocks_of", "map", "operator_chart", "operator_order"),
    *("phase", "trend_section", "look"),
}
"""Every parameter of an address that a page reads, and one that none does."""
COMPUTED = {
    "view/filters.py": {"_LABEL_KEY", "key", "name"},
    "view/choosing.py": {"key"},
    "review/board.py": {"KEY"},
    "screens/compare/__init__.py": {"name"},
    "screens/compile_time/__init__.py": {"key"},
    "jobs/queue.py": {"KEY"},
}
"""Where the code does not name a parameter by a literal; what they are called there stands in `NAMES`."""
RESULT = {"model": ["resnet18"], "test": ["eval"]}
OPENED = {
    "overview": ("", {}),
    "speedup": ("speedup", {}),
    "speedup, A against B": ("speedup", {"chart": ["A against B"]}),
    "compile-time": ("compile-time", {}),
    "fallback-ops": ("fallback-ops", {}),
    "operators": ("operators", {}),
    "trends": ("trends", {}),
    "compare": ("compare", {}),
    "model": ("model", RESULT),
    "model, files": ("model", {**RESULT, "part": ["Files"]}),
    "compile-time, first blocks": ("compile-time", {"compile_chart": ["First blocks"]}),
    "runs, records": ("runs", {"look": ["Records"]}),
    "runs, other run": ("runs", {"look": ["What differs"]}),
    "runs, jobs": ("runs", {"show": ["Jobs"]}),
}
"""Pages, with what of their link is honest, so that they draw the part that reads the rest."""


class Watched:
    """A connection that keeps the text of what it is asked."""

    def __init__(self, con, asked):
        self._con, self._asked = con, asked

    def __getattr__(self, name):
        return getattr(self._con, name)

    def cursor(self):
        return Watched(self._con.cursor(), self._asked)

    def execute(self, sql, *params):
        self._asked.append(str(sql))
        return self._con.execute(sql, *params)


class Touched:
    """What of the system this process touches while it is on; a hook of the interpreter stays for ever."""

    def __init__(self):
        self.names: list[str] | None = None
        sys.addaudithook(self._hear)

    def _hear(self, event, given):
        if self.names is not None and event.partition(".")[0] in (
            "open",
            "os",
            "subprocess",
            "sqlite3",
            "shutil",
            "glob",
        ):
            self.names.append(f"{event} {given}")


@pytest.fixture(scope="module")
def touched():
    return Touched()


@pytest.fixture(scope="module")
def site(factory, tmp_path_factory):
    """A store of one run with a log beside its record, what must not be read, and the texts of its queries."""
    from store.ingest import ingest
    from store.record import Artifact

    home = tmp_path_factory.mktemp("links")
    for place in (home, home / "runs", home / "runs" / "one"):
        place.mkdir(exist_ok=True)
        (place / FILE).write_text(SECRET)
    record = factory.make_record(model="resnet18")
    record.artifacts = [Artifact(kind="log", path=LOG, bytes=7)]
    (home / "runs" / "one" / LOG).parent.mkdir(parents=True)
    (home / "runs" / "one" / LOG).write_text("an honest log")
    factory.write_run(home / "runs" / "one", [record, factory.make_record(model="vgg16")])
    ingest([home / "runs" / "one"], home / "store")
    asked: list[str] = []
    connect = query.duckdb.connect
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query.duckdb, "connect", lambda *args, **given: Watched(connect(*args, **given), asked))
        yield home, record.record_id, asked


def drawn(at):
    """Return all that the page says, as it is sent."""
    parts = [
        text(at),
        *(element.value for element in (*at.error, *at.code, *at.json)),
        *copyable(at),
        *(t.to_csv() for t in tables(at)),
    ]
    return "\n".join(map(str, parts))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *((place, f"../../{FILE}") for place in OPENED),
        ("model, files", BREAKING),
        ("runs, records", BREAKING),
    ],
    ids=lambda given: "breaking" if given == BREAKING else "naming a file" if FILE in given else given,
)
def test_no_parameter_of_a_link_reaches_a_file_or_a_statement(monkeypatch, site, touched, place, value):
    home, _, asked = site
    page, honest = OPENED[place]
    monkeypatch.setenv(settings.LOOPBACK_VARIABLE, "1")
    touched.names = []
    try:
        at = open_page(monkeypatch, home / "store", page or "overview", **{name: [value] for name in NAMES} | honest)
    finally:
        names, touched.names = touched.names, None
    assert not at.exception
    assert [name for name in names if MARK in name] == []
    assert asked, "what was kept of an earlier page was asked here, too"
    assert [sql for sql in asked if MARK in sql] == []
    said = drawn(at)
    assert SECRET not in said
    assert "<img" not in said.replace("\\<", ""), "a text that is no markup"


def test_the_same_parameters_show_what_they_name(monkeypatch, site, touched):
    """So that the test above shows refusals, and not pages that read none of it."""
    home, record, _ = site
    touched.names = []
    try:
        at = open_page(
            monkeypatch,
            home / "store",
            "model",
            **RESULT,
            part=["Files"],
            kind=["Logs"],
            file=["honest.log"],
            find=["honest"],
        )
    finally:
        names, touched.names = touched.names, None
    assert "1 line with “honest”" in text(at)
    assert any(LOG in name for name in names)
    at = open_page(monkeypatch, home / "store", "runs", look=["Records"], record=[record])
    assert f"**{record}**" in text(at).replace("\\", "")


def test_every_parameter_that_a_page_reads_is_among_them():
    found, computed = set(), {}
    root = Path(settings.__file__).parent
    for path in root.rglob("*.py"):
        for key in _keys(ast.parse(path.read_text())):
            if isinstance(key, ast.Constant):
                found.add(key.value)
            else:
                computed.setdefault(str(path.relative_to(root)), set()).add(ast.unparse(key))
    assert found <= NAMES
    computed.pop("view/links.py")  # it writes what the pages read
    assert computed == COMPUTED


def test_a_saved_view_says_of_every_parameter_what_it_is():
    assert NAMES - {"records"} <= frame.restored("").keys()


def _keys(tree):
    """Yield the name of each widget that is bound to the address, and of each parameter that is read from it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            given = {each.arg: each.value for each in node.keywords}
            if "bind" in given:
                yield given["key"]
            elif isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "st.query_params":
                yield node.args[0]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "st.query_params":
            yield node.slice
