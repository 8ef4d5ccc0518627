"""What attacks found by single cases, as properties: whatever is drawn ends as it should, and in bounded time.

Lines, files and indexes that are drawn have files of their own: `test_hostile_input.py`, `test_damaged_store.py`.
"""

import contextlib
import json
import multiprocessing
import re
import resource
import shutil
import time
from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dashboard import formatting
from dashboard.viewers import artifacts
from runner.jobs import check as job_check
from store import patterns, query
from store.database import snapshot
from store.errors import StateError, UsageError
from store.ingest import ingest
from store.state import marks
from store.state.database import BACKUPS, back_up_daily, check
from tests.faults import hostile
from tests.faults.fault_rows import add_row
from tests.faults.test_bombs import HUD, hud_files, packed
from tests.faults.test_leftovers import NOW, made_state
from tests.store.factory import make_record, write_run

pytestmark = pytest.mark.timeout(3000)
LONG = (pytest.mark.slow, pytest.mark.thorough)
MOST_S = 5.0
"""Of one core, for what takes milliseconds where nobody means harm."""


def forms(short, long):
    """Give a number of examples for `make test`, and one for `make faults`."""
    return pytest.mark.parametrize("examples_n", [short, pytest.param(long, marks=LONG)])


def counts_as_text(counts):
    return ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items()))


NAMES = st.sampled_from(["index-1.duckdb", "index-2.duckdb", "index-1.tmp", "../index-1.duckdb", "/etc/passwd", "."])
POINTERS = st.binary(max_size=200) | st.builds(
    lambda name, digits, rest: name.encode() + b"9" * digits + rest, NAMES, st.integers(0, 6000), st.binary(max_size=30)
)


@forms(100, 2000)
def test_a_pointer_of_any_bytes_leads_to_a_snapshot_or_nowhere(tmp_path, examples_n):
    (tmp_path / "index-1.duckdb").write_bytes(b"x")
    counts = Counter()

    def body(pointer):
        (tmp_path / snapshot.POINTER).write_bytes(pointer)
        found = query.current_snapshot(tmp_path)
        assert found in (None, tmp_path / "index-1.duckdb")
        assert not snapshot.is_intact(tmp_path)
        counts["without an index" if found is None else "with the snapshot, rebuilt by the next ingest"] += 1

    hostile.property_of(body, POINTERS, examples_n)
    add_row("CURRENT contains random bytes", examples_n, counts_as_text(counts))


LARGE = st.sampled_from([0, 1, 2, 40, 2_400, 90_000, 10**6, 10**12, -1])
TENSOR = st.builds(lambda shape: {"type": "tensor", "dtype": "float", "shape": shape}, st.lists(LARGE, max_size=5))
RANGE = st.builds(lambda low, high: {"type": "int", "value": [low, high], "__range__": ["value"]}, LARGE, LARGE)
COPIES = st.builds(
    lambda each, n: {"type": "genericlist", "value": [each] * n}, TENSOR | RANGE, st.sampled_from([0, 2, 300])
)
NESTED = st.builds(
    lambda inner, levels: json.loads('{"type":"genericlist","value":[' * levels + json.dumps(inner) + "]}" * levels),
    TENSOR | RANGE,
    st.sampled_from([0, 1, 5, 40]),
)
ARGS = st.builds(
    lambda args, n: {"args": args * n},
    st.lists(TENSOR | RANGE | COPIES | NESTED, max_size=4),
    st.sampled_from([1, 2, 20]),
)
ITERATORS = st.sampled_from([None, "RangeConfigIterator", "SplitTableBatchedEmbeddingBagsCodegenInputIterator", "x"])


@st.composite
def configurations(draw):
    """Draw a configuration of operators that may stand for very many calls, or for none."""
    config = {"input": draw(st.lists(ARGS, max_size=3))}
    if draw(st.booleans()):
        config["build"] = draw(st.lists(ARGS, max_size=3))
    info = {"input_data_generator": "PyTorch:DefaultDataGenerator", "config": [config] * draw(st.integers(1, 3))}
    info |= {key: name for key in ("input_iterator", "build_iterator") if (name := draw(ITERATORS))}
    whole = {draw(st.sampled_from(["aten::add", "torch.neg", "aten::cat"])): info}
    return hostile.replaced(whole, *draw(_wrong(whole))).decode() if draw(st.booleans()) else json.dumps(whole)


def _wrong(whole):
    return st.tuples(st.sampled_from(sorted(hostile.places(whole), key=repr)[:500]), st.sampled_from(hostile.HOSTILE))


@forms(15, 200)
def test_a_configuration_is_taken_or_refused_in_bounded_time(monkeypatch, examples_n):
    monkeypatch.setattr(job_check, "_MOST_S", 0.3)
    counts = Counter()

    def body(text):
        begun, why = time.thread_time(), ""
        try:
            job_check.check_configurations([text])
        except UsageError as error:
            why = str(error)
        assert time.thread_time() - begun < MOST_S
        assert len(why) < 1000
        counts["refused" if why else "taken"] += 1

    hostile.property_of(body, configurations(), examples_n)
    add_row("operator configurations, random", examples_n, counts_as_text(counts))


PARTS = st.sampled_from(["a", ".", r"\w", "[a-z]", "é", "^", "$", r"\b", "(?i)", "!", r"\pL"])
PATTERNS = st.recursive(
    PARTS,
    lambda inner: (
        st.builds(
            "({}){}".format, inner, st.sampled_from(["*", "+", "?", "*?", "{0,9}", "{9}", "{1000}", "{1,100000}"])
        )
        | st.builds("({}|{})*".format, inner, inner)
        | st.builds(lambda one, n: f"{one}?" * n, inner, st.integers(1, 40))
        | st.builds("{}{}".format, inner, inner)
    ),
    max_leaves=12,
)


@forms(8, 2000)
def test_a_pattern_searches_in_bounded_time_or_is_none(examples_n):
    counts = Counter()

    def body(text):
        begun = time.thread_time()
        try:
            found = patterns.compiled(text)
        except patterns.BadPattern:
            counts["refused"] += 1
        else:
            for searched in ("a" * 60 + "!", "ab" * 5_000 + "!"):
                found.search(searched)
            counts["searched"] += 1
        assert time.thread_time() - begun < MOST_S, text

    hostile.property_of(body, PATTERNS | st.text(max_size=20), examples_n)
    add_row("regular expressions, random", examples_n, counts_as_text(counts))


WORKING_MEMORY = 600 * 2**20
"""An ingest takes 450 MiB for the 170,000 good rows that the cap on unpacking lets through, as from a plain file."""
BEGINNINGS = {
    "a.jsonl": st.sampled_from([b"", b'{"a": "', b"\n", b"\xff"]),
    "hud.json": st.sampled_from([HUD + b"\n", b"[" + HUD, b"{", b""]),
    "inductor_torchbench_amp_training_cuda_performance.csv": st.just(hud_files.PERFORMANCE.encode() + b"\n"),
    "table.csv": st.just(b"model,speedup\n"),
}
BOMBS = st.sampled_from(sorted(BEGINNINGS)).flatmap(
    lambda name: st.tuples(
        st.sampled_from([f"{name}.gz", f"{name}.zst"]),
        BEGINNINGS[name],
        st.sampled_from([b"x", b"\n", b"{}\n", b"a,2.0,1\n", b"," + HUD, HUD + b"\n", b'"', b"[", b"\x00"]),
        st.integers(1, 2_000),
    )
)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("examples_n", [40])
def test_what_unpacks_without_end_is_rejected_in_bounded_memory(tmp_path, examples_n):
    context = multiprocessing.get_context("spawn")  # a process of its own, whose memory is known
    told = context.SimpleQueue()
    child = context.Process(target=_ingest_bombs, args=(tmp_path, examples_n, told))
    child.start()
    child.join(900)
    assert child.exitcode == 0
    counts, grown = told.get()
    assert grown < WORKING_MEMORY
    add_row(
        "compressed files that unpack to 16 MiB, random",
        examples_n,
        f"{counts_as_text(counts)}; {grown >> 20} MiB of memory",
    )


def _ingest_bombs(folder, examples_n, told):
    write_run(folder / "run", [make_record(model="beside")])
    ingest([folder / "run"], folder / "warm")
    before, counts = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, Counter()

    def body(drawn):
        name, beginning, chunk, times = drawn
        place = folder / "drawn"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        path = packed(place / name, beginning, (chunk * times)[: 2**20], 2**24)
        report = ingest([path, folder / "run"], place / "store")
        with query.connect(report.snapshot) as con:
            assert con.execute("SELECT count(*) FROM records WHERE model = 'beside'").fetchone() == (1,)
        reasons = [line.reason for line in report.rejected if line.path == str(path)]
        ended = ("unpacks to more than", "not read from here on", "not a table of")  # the last at its first bad row
        assert any(each in reason for reason in reasons for each in ended), drawn
        counts["rejected"] += 1

    hostile.property_of(body, BOMBS, examples_n)
    told.put((counts, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024))


MARKED = st.lists(
    st.sampled_from(
        [*"![]()<>*_`#-+.:$&|~=\\/\"'{}1a \t\r\n\x0b\x85", "http://evil.example", "<img src=x>", "    ", "\u2028"]
    )
    | st.characters(exclude_categories=["Cs"]),
    max_size=30,
).map("".join)
MARKDOWN = MarkdownIt("commonmark").enable(["strikethrough", "table"])


@forms(80, 5000)
def test_a_text_of_others_is_a_text_to_a_reader_of_markdown(examples_n):
    """Neither an image nor a link, a heading nor any emphasis: the words as they are, blanks apart."""

    def body(name):
        shown = MARKDOWN.parse(f"Run {formatting.escape(name)}.")
        assert [each.type for each in shown] == ["paragraph_open", "inline", "paragraph_close"], name
        assert {each.type for each in shown[1].children} == {"text"}, name
        read = shown[1].children[0].content if len(shown[1].children) == 1 else None
        assert read is not None
        assert _blank(read) == _blank(f"Run {name}."), name

    hostile.property_of(body, MARKED, examples_n)
    add_row("names that Markdown could take for markup, random", examples_n, "shown as they are")


def _blank(text):
    return re.sub(r"\s+", " ", text.replace("\x00", "\ufffd"))


@forms(5, 200)
def test_a_damaged_state_is_noticed_or_can_be_read(tmp_path_factory, examples_n):
    """SQLite has no checksums: a changed letter stays unnoticed, and whatever is no database any more does not."""
    whole = made_state(tmp_path_factory.mktemp("whole"))
    counts = Counter()

    def body(drawn):
        folder = tmp_path_factory.mktemp("state")
        path = folder / whole.name
        shutil.copyfile(whole, path)
        first = back_up_daily(path, NOW)
        data = bytearray(path.read_bytes())
        for share, kind in drawn:
            at = int(share * (len(data) - 1))
            if kind == "cut":
                del data[at:]
                break
            data[at : at + (1 if kind == "flipped" else 600)] = (
                b"\x00" if kind == "zeroed" else bytes([data[at] ^ 0x10])
            )
        path.write_bytes(data)
        try:
            check(back_up_daily(path, NOW + timedelta(days=1)))
            counts["whole to SQLite, and copied"] += 1
        except StateError:
            assert list((folder / BACKUPS).iterdir()) == [first]
            counts["noticed, and no copy replaced"] += 1
        with contextlib.suppress(StateError):
            marks.listed(path)
        shutil.rmtree(folder)

    damage = st.tuples(st.floats(0, 1), st.sampled_from(["flipped", "flipped", "zeroed", "changed", "cut"]))
    hostile.property_of(body, st.lists(damage, min_size=1, max_size=4), examples_n)
    add_row("state.sqlite is overwritten at random", examples_n, counts_as_text(counts))


TARGETS = st.sampled_from(
    ["a", "b", "c", "inner", "inner/d", "..", "../secret", "/etc/passwd", ".", "gone", "a/b", "x" * 300]
)


@forms(50, 500)
def test_no_links_among_artifacts_lead_out_or_never_end(tmp_path_factory, examples_n):
    counts = Counter()

    def body(links):
        folder = tmp_path_factory.mktemp("links")
        (folder / "secret").write_text("x")
        root = folder / artifacts.FOLDER
        (root / "inner").mkdir(parents=True)
        (root / "file").write_text("x")
        for name, target in links.items():
            (root / name).symlink_to(target)
        for name in (*links, "file", "a/file", "inner/a/../file"):
            found = artifacts._inside(root, root / name)
            assert found is None or (found.is_file() and found.resolve().is_relative_to(root.resolve()))
            counts["nothing" if found is None else "a file of the folder"] += 1
        assert artifacts._inside(root, root / "file") == (root / "file").resolve()
        shutil.rmtree(folder)

    named = st.sampled_from(["a", "b", "c", "inner/d", "inner/a"])
    hostile.property_of(body, st.dictionaries(named, TARGETS | st.just("file"), max_size=5), examples_n)
    add_row("links among artifacts, random", sum(counts.values()), counts_as_text(counts))
