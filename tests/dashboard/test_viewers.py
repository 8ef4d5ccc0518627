"""Artifacts as text and tables: long files stay within their limits, reports become numbers."""

import gzip
import json

import pytest

from dashboard.viewers import readers, text

REPORT = """Metric: CompileTime
  TotalSamples: 2
  Accumulator: 01m02s003ms500.000us
  ValueRate: 011ms521.303us / second
Metric: TensorsGraphSize
  TotalSamples: 7
  Accumulator: 26.00
Metric: TransferToDeviceBytes
  Accumulator: 1.50KB
Counter: aten::nonzero
  Value: 3
"""
PROFILE = """--------------  ------------  ------------
          Name    Self CPU %      Self CPU
--------------  ------------  ------------
   aten::addmm        11.36%      33.638us
   aten::copy_         2.65%       1.500ms
--------------  ------------  ------------
Self CPU time total: 1.5ms
"""


def write(path, content):
    path.write_text(content)
    return path


def test_a_long_text_is_shown_by_pages(tmp_path):
    path = write(tmp_path / "m.txt", "".join(f"line {n}\n" for n in range(1, 1001)))
    first, last = text.page(path, 0), text.page(path, 2)
    assert first.text.splitlines()[0] == "line 1"
    assert (first.first, first.more) == (1, True)
    assert (last.text.splitlines()[-1], last.first, last.more) == ("line 1000", 801, False)


def test_a_search_gives_lines_with_their_numbers_and_neighbours(tmp_path):
    path = write(tmp_path / "m.txt", "a\nb\nc\nan ADD here\ne\nf\ng\nh\ni\nadd\n")
    found = text.search(path, "add")
    assert (found.lines_n, found.whole) == (2, True)
    assert [line.split(maxsplit=1) for line in found.text.splitlines() if line != "…"] == [
        ["2", "b"],
        ["3", "c"],
        ["4", "an ADD here"],
        ["5", "e"],
        ["6", "f"],
        ["8", "h"],
        ["9", "i"],
        ["10", "add"],
    ]
    assert text.search(path, "nothing of it").lines_n == 0


def test_a_search_ends_after_its_most_hits_and_says_so(tmp_path):
    path = write(tmp_path / "m.txt", "hit\n" * 5000)
    found = text.search(path, "hit")
    assert (found.lines_n, found.whole) == (text.MOST_HITS, False)
    assert len(found.text.splitlines()) == text.MOST_HITS


def test_a_line_of_megabytes_is_cut(tmp_path):
    path = write(tmp_path / "m.txt", "x" * 5_000_000 + "\nsecond\n")
    shown = text.page(path, 0).text.splitlines()
    assert shown[0].endswith("(line cut)")
    assert len(shown[0]) < text.LONGEST_LINE + 20
    assert shown[1] == "second"


def test_a_file_of_gigabytes_is_read_up_to_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "MOST_READ", 2**22)
    path = tmp_path / "huge.txt"
    with path.open("wb") as stream:
        stream.write(b"first\n")
        stream.truncate(6 * 2**30)
    shown = text.page(path, 0)
    assert shown.text.startswith("first\n")
    assert len(shown.text) < 2 * text.LONGEST_LINE
    assert text.search(path, "first").whole is False
    assert text.last_lines(path, 2) is not None


def test_a_packed_text_that_unpacks_to_more_than_the_limit_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "MOST_READ", 100_000)
    path = tmp_path / "bomb.txt.gz"
    path.write_bytes(gzip.compress(b"zeros\n" * 1_000_000))
    found = text.search(path, "needle")
    assert (found.lines_n, found.whole) == (0, False)


def test_bytes_that_are_no_text_are_shown_without_an_error(tmp_path):
    path = tmp_path / "m.log"
    path.write_bytes(b"ok\n\xff\xfe\x00\n")
    assert text.page(path, 0).text.startswith("ok\n")
    assert text.last_lines(path, 1)


def test_a_metrics_report_becomes_seconds_and_numbers(tmp_path):
    table = readers.xla_metrics(write(tmp_path / "m.txt", REPORT)).set_index("name")
    assert table.loc["CompileTime", "total_s"] == pytest.approx(62.0035)
    assert table.loc["CompileTime", "samples_n"] == 2
    assert table.loc["TensorsGraphSize", "total"] == 26
    assert table.loc["TransferToDeviceBytes", "total"] == 1536
    assert (table.loc["aten::nonzero", "kind"], table.loc["aten::nonzero", "total"]) == ("counter", 3)


def test_a_profile_table_becomes_numbers_in_milliseconds(tmp_path):
    table = readers.profile(write(tmp_path / "p.txt", PROFILE))
    assert list(table.columns) == ["Name", "Self CPU %", "Self CPU, ms"]
    assert table.iloc[0].to_list() == ["aten::addmm", 11.36, pytest.approx(0.033638)]
    assert table.iloc[1]["Self CPU, ms"] == pytest.approx(1.5)


def test_dynamos_counters_keep_their_groups(tmp_path):
    content = json.dumps({"stats": {"unique_graphs": 2}, "unimplemented": {}, "graph_break": {"why <b>": 1}})
    table = readers.dynamo(write(tmp_path / "c.json", content))
    assert table.to_numpy().tolist() == [["stats", "unique_graphs", 2], ["graph_break", "why <b>", 1]]


@pytest.mark.parametrize("read", [readers.dynamo, readers.xla_metrics, readers.profile])
def test_a_file_of_another_kind_gives_no_table(tmp_path, read):
    assert read(write(tmp_path / "x", "no report at all")) is None
    assert read(tmp_path / "gone") is None


def events(*rows):
    return [
        {"ph": "X", "cat": "cpu_op", "name": name, "pid": pid, "tid": tid, "ts": begin, "dur": took}
        for name, pid, tid, begin, took in rows
    ]


def write_trace(path, found):
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": found, "other": 1}).encode()))
    return path


def test_self_time_leaves_out_what_was_called_inside(tmp_path):
    found = events(
        ("outer", 1, 1, 0.0, 100.0), ("inner", 1, 1, 10.0, 30.0), ("leaf", 1, 1, 15.0, 5.0), ("inner", 1, 1, 50.0, 10.0)
    )
    other = [
        {"ph": "M", "name": "process_name", "pid": "Spans", "tid": "x"},
        *events(("inner", "Spans", "x", 12.0, 4.0)),
    ]
    table = readers.top_ops(write_trace(tmp_path / "trace.json.gz", found + other)).set_index("name")
    assert table.loc["outer", "self_s"] == pytest.approx(60e-6)
    assert table.loc["inner", ["calls_n", "self_s", "total_s"]].to_list() == [
        3,
        pytest.approx(39e-6),
        pytest.approx(44e-6),
    ]
    assert table.loc["leaf", "mean_s"] == pytest.approx(5e-6)
    assert table["self_s"].sum() == pytest.approx(104e-6)


def test_a_trace_that_is_too_large_or_broken_says_so(tmp_path, monkeypatch):
    whole = write_trace(tmp_path / "trace.json.gz", events(("a", 1, 1, 0.0, 1.0)))
    for name, content in (("cut.json.gz", whole.read_bytes()[:-20]), ("no.json", b"[1, 2"), ("x.json.gz", b"plain")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(readers.NotSummed):
            readers.top_ops(tmp_path / name)
    monkeypatch.setattr(readers, "LARGEST", 10)
    with pytest.raises(readers.NotSummed, match="open the timeline"):
        readers.top_ops(whole)
