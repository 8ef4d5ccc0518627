"""The byte limit, and the list of files."""

import time

import pytest

from runner.instrument.passes import Limit, artifacts, salvaged


def write(path, size):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


def test_below_the_limit_all_stays(tmp_path):
    with Limit(tmp_path, 100) as limit:
        path = write(tmp_path / "a.txt", 100)
    assert (limit.written(), limit.cut, limit.warnings()) == ([path], [], [])


def test_what_lies_beyond_the_limit_is_deleted_and_remembered(tmp_path):
    with Limit(tmp_path, 100) as limit:
        first, second = write(tmp_path / "a.txt", 60), write(tmp_path / "b.txt", 60)
    assert (limit.written(), limit.cut) == ([first], [second])
    assert limit.warnings() == ["1 artifact files were cut at the byte limit (--artifact-limit)"]


def test_what_people_read_is_kept_before_what_compilers_read(tmp_path):
    with Limit(tmp_path, 100) as limit:
        write(tmp_path / "hlo/a.ll", 60)
        kept = write(tmp_path / "hlo/b.txt", 60)
    assert limit.written() == [kept]


def test_files_of_earlier_processes_are_not_this_ones(tmp_path):
    before = write(tmp_path / "earlier.txt", 500)
    with Limit(tmp_path, 100) as limit:
        path = write(tmp_path / "a.txt", 50)
    assert limit.written() == [path]
    assert before.exists()


def test_a_dump_is_cut_while_it_is_being_written(tmp_path):
    """Else it would fill the disk before anybody looks."""
    with Limit(tmp_path, 100) as limit:
        path = write(tmp_path / "a.txt", 5000)
        deadline = time.monotonic() + 60
        while path.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not path.exists()
    assert limit.cut == [path]


@pytest.mark.parametrize(
    ("place", "kind", "repeat"),
    [
        ("0/trace.json.gz", "chrome_trace", 0),
        ("12/pytorch-profile.txt", "pytorch_profile", 12),
        ("1/dynamo-counters.json", "dynamo_counters", 1),
        ("2/pytorch-xla-metrics.txt", "pytorch_xla_metrics", 2),
        ("hlo/module_1.txt", "hlo", None),
        ("ir.stablehlo.0", "ir", None),
        ("xplane/plugins/profile/t/vm.xplane.pb", "xplane", None),
        ("output.pt", "output", None),
        ("inductor/torchinductor/model/output_code.py", "inductor", None),
        ("minify/repro.py", "minify", None),
        ("something.else", "something", None),
    ],
)
def test_a_file_has_a_kind_and_a_repeat(tmp_path, place, kind, repeat):
    path = write(tmp_path / place, 3)
    (found,) = artifacts(tmp_path, [path], [])
    assert (found.kind, found.repeat, found.path, found.bytes, found.note) == (kind, repeat, place, 3, None)


def test_a_cut_file_is_listed_with_a_note(tmp_path):
    (found,) = artifacts(tmp_path, [], [tmp_path / "hlo/big.txt"])
    assert (found.kind, found.path, found.bytes, found.note) == ("hlo", "hlo/big.txt", 0, "cut at the byte limit")


def test_of_thousands_of_cut_files_some_are_listed(tmp_path):
    assert len(artifacts(tmp_path, [], [tmp_path / f"hlo/{n}.o" for n in range(3000)])) == 20


def test_what_a_dead_process_left_is_listed_within_the_limit(tmp_path):
    write(tmp_path / "earlier.txt", 10)
    limit = Limit(tmp_path, 100)
    write(tmp_path / "0/trace.json.gz", 90)
    write(tmp_path / "hlo/kernel.o", 90)
    found = [(each.kind, each.bytes, each.note) for each in salvaged(limit)]
    assert found == [("chrome_trace", 90, None), ("hlo", 0, "cut at the byte limit")]
