"""Files of the TorchDynamo harness become records of reported numbers, or say line by line why they do not."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

import xlabench
from store import query
from store.errors import UsageError
from store.importers import IMPORTERS, Imported, UnreadableLine, facts, hud_names, importer_of
from store.importers.hud_names import FileNameParts
from store.ingest import ingest
from store.query import fetch
from tests.store import hud_files
from tests.store.hud_files import accuracy, failed, performance

NAME = "inductor_torchbench_amp_training_cuda_performance.csv"


def read(path):
    importer = importer_of(path)
    with path.open("rb") as file:
        return list(IMPORTERS[importer.name].records(file, path))


def records_of(path):
    found = read(path)
    assert all(isinstance(each, Imported) for each in found), found
    return [each.record for each in found]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (NAME, ("inductor", "torchbench", "amp", "train", "cuda", None, "performance")),
        (
            "inductor_with_cudagraphs_timm_models_bfloat16_inference_cuda_h100_accuracy.csv",
            ("inductor_with_cudagraphs", "timm_models", "bfloat16", "eval", "cuda", "h100", "accuracy"),
        ),
        (
            "inductor_huggingface_amp_bf16_inference-with-freezing_xpu_performance.csv",
            ("inductor freezing", "huggingface", "amp_bf16", "eval", "xpu", None, "performance"),
        ),
        (
            "aot_eager_mysuite_none_training_cpu_accuracy.csv",
            ("aot_eager", "mysuite", None, "train", "cpu", None, "accuracy"),
        ),
    ],
)
def test_a_file_name_says_what_was_measured(name, expected):
    found = hud_names.parse(name)
    fields = (
        found.variant,
        found.suite,
        found.dtype,
        found.test,
        found.accelerator,
        found.accelerator_model,
        found.kind,
    )
    assert fields == expected


@pytest.mark.parametrize("name", ["results.csv", "torchbench_amp_training_cuda_performance.csv", "a_b_c_d_e_f.csv"])
def test_another_name_says_nothing(name):
    assert hud_names.parse(name) is None


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(
    st.builds(
        FileNameParts,
        variant=WORDS,
        suite=WORDS | st.sampled_from(hud_names.SUITES),
        dtype=st.sampled_from([None, "amp", "amp_bf16", "float32"]),
        test=st.sampled_from(["eval", "train"]),
        accelerator=st.sampled_from(["cpu", "cuda", "tpu"]),
        kind=st.sampled_from(["performance", "accuracy"]),
        accelerator_model=st.none() | WORDS,
    )
)
def test_a_written_name_is_read_back_and_is_one_file_name(named):
    name = hud_names.file_name(named)
    assert hud_names.parse(name) == named
    assert "/" not in name


BAD = [b"cuda,m,8,fast,1", b"cuda,\xff,8", b"cuda", b"cuda,m,8" + b",1" * 40, b'cuda,"m,8']
GOOD, HEADER = performance("good", 2.0, 10.0).encode(), hud_files.PERFORMANCE.encode()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Files of all kinds, the models of each under a name of their own."""
    home = tmp_path_factory.mktemp("harness")
    hud_files.write(home / "numbers", [performance("numbers", 2.0, 10.0), failed("n")], {"numbers": "pass"})
    (home / "xla.csv").write_text(
        "dev,name,batch_size,speedup,time_baseline,time_xla\ncpu,xla,8,2.000000,0.400000,0.200000\n"
    )
    facts.write(home / "xla.csv", {"test": "eval"})
    (home / "bad").mkdir()
    (home / "bad" / NAME).write_bytes(b"\n".join([HEADER, GOOD, *BAD, GOOD]) + b"\n")
    for model in ("named", "found"):
        hud_files.write_json(home / model / "upload.jsonl", [hud_files.metric(model, "speedup", 2.0)])
    both = [hud_files.metric("both", "accuracy", "pass"), hud_files.metric("both", "speedup", 2.0)]
    hud_files.write_json(home / "both.json", both)
    return home


@pytest.fixture(scope="module")
def report(home):
    return ingest([home, home / "named" / "upload.jsonl"], home / "store")


@pytest.fixture(scope="module")
def con(report):
    with query.connect(report.snapshot) as opened:
        yield opened


def test_numbers_without_samples_are_no_results(con):
    assert fetch(con, "FROM result_rows") == []
    of = "FROM records WHERE model IN ('numbers', 'n')"
    rows = fetch(con, f"SELECT DISTINCT source, purpose, steady_n, latency_s, ran {of}")
    assert rows == [{"source": "hud-csv", "purpose": "reported", "steady_n": 0, "latency_s": None, "ran": False}]
    named = """SELECT value FROM record_metrics JOIN records USING (record_id)
    WHERE model = 'numbers' AND name = 'hud_speedup'"""
    assert fetch(con, named) == [{"value": 2.0}]


def test_a_failure_says_what_became_of_it(tmp_path):
    answers = {"a": "fail_accuracy", "b": "OOM", "c": "timeout", "d": "model_fail_to_load", "e": "eager_1st_run_fail"}
    folder = hud_files.write(tmp_path / "nightly", [failed("f")], answers)
    found = {
        record["model"]["model_name"]: (record["status"], record["error"]["message"])
        for path in sorted(folder.iterdir())
        for record in records_of(path)
    }
    assert found == {
        "a": ("invalid", "fail_accuracy"),
        "b": ("oom", "OOM"),
        "c": ("timeout", "timeout"),
        "d": ("load_error", "model_fail_to_load"),
        "e": ("run_error", "eager_1st_run_fail"),
        "f": ("run_error", "no speedup: the performance run failed"),
    }


def test_an_accuracy_runs_compile_time_is_dynamos_own(tmp_path):
    """The harness gives two quantities one column name."""
    folder = hud_files.write(tmp_path / "nightly", (), [accuracy("m", "pass")])
    metrics = records_of(next(folder.iterdir()))[0]["metrics"]
    assert metrics["dynamo_compile_time_s"] == [12.5]
    assert "compilation_latency_s" not in metrics


def test_medians_against_lazy_xla_are_seconds(home, con):
    record = records_of(home / "xla.csv")[0]
    assert (record["variant"], record["reported"]) == ("openxla+lazytensor", {"kind": "xla"})
    row = fetch(con, "SELECT backend, hud_speedup, abs_latency_ms FROM hud_rows WHERE model = 'xla'")
    assert row == [{"backend": "openxla+lazytensor", "hud_speedup": 2.0, "abs_latency_ms": 200.0}]


def test_a_bad_line_is_named_and_the_others_go_in(home, report, con):
    assert report.exit_code == 3
    assert {line.path for line in report.rejected} == {str(home / "bad" / NAME)}, "no line of any other file"
    assert fetch(con, "SELECT count(*) AS n FROM records WHERE model = 'good'") == [{"n": 2}]
    assert [line.line_number for line in report.rejected] == [3, 4, 5, 6, 7]
    assert report.rejected[0].byte_offset == len(HEADER) + 1 + len(GOOD) + 1
    assert "speedup is 'fast', which is not a number" in report.rejected[0].reason


@pytest.mark.parametrize("number", ["nan", "1e308"])
def test_a_number_that_no_record_may_have_is_left_out_and_said(tmp_path, number):
    """One beyond 1e30 was in the record and in no view, without a word."""
    path = tmp_path / NAME
    path.write_text(f"dev,name,batch_size,speedup,abs_latency\ncuda,m,8,2.0,{number}\n")
    record = records_of(path)[0]
    note = f"abs_latency is {number} and was left out"
    assert (record["metrics"], record["warnings"]) == ({"hud_speedup": [2.0]}, [note])


def test_a_file_that_says_too_little_is_refused_with_what_to_say(tmp_path):
    path = hud_files.write(tmp_path / "x", [performance("m", 2.0, 10.0)]) / NAME
    path = path.rename(path.with_name("mine.csv"))
    (only,) = read(path)
    assert isinstance(only, UnreadableLine)
    assert "does not contain the backend and test" in only.reason
    assert "--fact backend=NAME" in only.reason


def test_a_person_says_what_the_file_does_not_and_it_is_read_again_as_one_that_changed(tmp_path):
    path = hud_files.write(tmp_path / "x", [performance("m", 2.0, 10.0)]) / NAME
    path = path.rename(path.with_name("mine.csv"))
    hud_files.write(tmp_path / "nightly", [performance("changed", 2.0, 10.0)])
    assert ingest([tmp_path], tmp_path / "store").exit_code == 3
    facts.write(path, {"backend": "inductor", "test": "training", "dtype": "amp"})
    facts.write(path, {"time": "2026-01-31T12:00:00Z", "label": "january"})
    hud_files.write(tmp_path / "nightly", [performance("changed", 3.0, 10.0)])
    report = ingest([tmp_path], tmp_path / "store")
    assert (report.records_n, report.rejected) == (2, [])
    with query.connect(report.snapshot) as con:
        said = "SELECT test, dtype, run_label, run_started::VARCHAR AS started FROM hud_rows WHERE model = 'm'"
        row = fetch(con, said)
        changed = fetch(con, "SELECT hud_speedup FROM hud_rows WHERE model = 'changed'")
    assert row == [{"test": "train", "dtype": "amp", "run_label": "january", "started": "2026-01-31 12:00:00"}]
    assert changed == [{"hud_speedup": 3.0}]


def test_facts_that_are_corrected_or_deleted_by_hand_are_read_again(tmp_path):
    """The error about them says so, and the next ingest found nothing to do."""
    path = hud_files.write(tmp_path / "x", [performance("m", 2.0, 10.0)]) / NAME
    place = facts.facts_path(path)
    tests = []
    for content in ('{"test": "evl"}', '{"test": "eval"}', None):
        if content is None:
            place.unlink()
        else:
            place.write_text(content)
            os.utime(place, ns=(0, 10**18 + len(tests)))  # older than the file
        report = ingest([path], tmp_path / "store")
        assert report.changed_files_n == 1
        with query.connect(report.snapshot) as con:
            tests.append([row["test"] for row in fetch(con, "SELECT test FROM hud_rows")])
    assert ingest([path], tmp_path / "store").changed_files_n == 0
    assert tests == [[], ["eval"], ["train"]]


@pytest.mark.parametrize("said", [{"colour": "red"}, {"test": "exam"}, {"time": "yesterday"}])
def test_a_fact_that_is_none_is_refused(tmp_path, said):
    path = tmp_path / NAME
    path.write_text("dev,name,batch_size\n")
    with pytest.raises(UsageError):
        facts.write(path, said)
    assert [each.name for each in tmp_path.iterdir()] == [NAME]


def test_files_of_a_folder_are_one_run_and_of_two_folders_two(tmp_path):
    rows = [performance("m", 2.0, 10.0)]
    one, two = (hud_files.write(tmp_path / name, rows, {"m": "pass"}) for name in ("one", "two"))
    ids = [
        {record["run"]["run_id"] for path in folder.iterdir() for record in records_of(path)} for folder in (one, two)
    ]
    assert [len(each) for each in ids] == [1, 1]
    assert ids[0] != ids[1]


# The JSON format


def test_json_objects_of_a_model_become_one_record(tmp_path):
    objects = [hud_files.metric("m", name, value) for name, value in (("speedup", 2.0), ("abs_latency", 10.0))]
    objects += [hud_files.metric("m", "accuracy", "pass", batch_size=4), hud_files.metric("n", "speedup", 3.0)]
    found = records_of(hud_files.write_json(tmp_path / "perf.json", objects))
    assert [record["model"]["model_name"] for record in found] == ["m", "m", "n"]
    assert found[0]["metrics"] == {"hud_speedup": [2.0], "abs_latency_ms": [10.0]}
    assert (found[1]["reported"]["accuracy"], found[1]["verification_code"]) == ("pass", "PASS")
    assert (found[0]["model"]["suite_name"], found[0]["experiment"]["dtype"]) == ("torchbench", "amp")


def test_lines_of_the_hud_are_no_lines_of_ours_whatever_the_file_is_called(con):
    """Whether the file is named or found in a folder."""
    found = fetch(con, "SELECT model, hud_speedup FROM hud_rows WHERE model IN ('named', 'found') ORDER BY 1")
    assert found == [{"model": model, "hud_speedup": 2.0} for model in ("found", "named")]


def test_answer_and_numbers_under_one_head_are_two_records(con):
    found = fetch(con, "SELECT accuracy, hud_speedup FROM hud_rows WHERE model = 'both'")
    assert found == [{"accuracy": "pass", "hud_speedup": 2.0}]
    assert fetch(con, "SELECT count(*) AS n FROM records WHERE model = 'both'") == [{"n": 2}]


def test_a_metric_that_repeats_is_another_row(tmp_path):
    objects = [hud_files.metric("m", "speedup", value) for value in (2.0, 3.0)]
    found = records_of(hud_files.write_json(tmp_path / "again.json", objects))
    assert [record["metrics"]["hud_speedup"] for record in found] == [[2.0], [3.0]]
    assert len({record["record_id"] for record in found}) == 2


def test_several_values_are_averaged_as_the_hud_does(tmp_path):
    one = hud_files.metric("m", "speedup", 2.0)
    one["metric"]["benchmark_values"] = [1.0, 3.0]
    assert records_of(hud_files.write_json(tmp_path / "many.json", [one]))[0]["metrics"]["hud_speedup"] == [2.0]


def test_an_array_over_several_lines_is_read_and_its_run_and_time_taken(tmp_path):
    further = {
        "schema_version": "v3",
        "timestamp": 1_760_000_000,
        "workflow_id": 77,
        "runners": [{"type": "linux.h100"}],
    }
    path = tmp_path / "upload.json"
    path.write_text(json.dumps([hud_files.metric("m", "speedup", 2.0, further=further)], indent=2))
    record = records_of(path)[0]
    assert (record["timestamp"], record["run"]["label"]) == (1_760_000_000, "77")
    assert record["experiment"]["accelerator_model"] == "linux.h100"


def test_another_benchmarks_metric_keeps_its_name(tmp_path):
    path = hud_files.write_json(tmp_path / "vllm.json", [hud_files.metric("m", "tokens_per_sec", 5.0)])
    assert records_of(path)[0]["metrics"] == {"tokens_per_sec": [5.0]}


def test_an_object_that_is_none_of_theirs_is_named(tmp_path):
    broken = hud_files.metric("m", "speedup", 2.0)
    del broken["model"]["name"]
    valueless = hud_files.metric("m", "speedup", 2.0)
    valueless["metric"]["benchmark_values"] = []
    modeless = hud_files.metric("m", "speedup", 2.0, mode="exam")
    path = hud_files.write_json(
        tmp_path / "bad.json", [hud_files.metric("m", "speedup", 2.0), broken, valueless, modeless]
    )
    path.write_text(path.read_text() + "{torn\n")
    found = read(path)
    reasons = {each.line_number: each.reason for each in found if isinstance(each, UnreadableLine)}
    assert set(reasons) == {2, 3, 4, 5}
    assert "name" in reasons[2]
    assert reasons[3] == "metric speedup has no value"
    assert "'exam'" in reasons[4]
    assert reasons[5].startswith("not JSON")


# The command


def test_the_command_says_what_a_file_does_not(tmp_path, capsys):
    path = hud_files.write(tmp_path / "x", [performance("m", 2.0, 10.0)]) / NAME
    path = path.rename(path.with_name("mine.csv"))
    database = ["--database", str(tmp_path / "store")]
    words = ["--fact", "backend=openxla+dynamo", "--fact", "test=eval"]
    assert xlabench.main(["ingest", str(path), *words, *database]) == 0
    assert xlabench.main(["report", "--rule", "hud", *database]) == 0
    assert "openxla+dynamo" in capsys.readouterr().out
    assert json.loads(facts.facts_path(path).read_text()) == {"backend": "openxla+dynamo", "test": "eval"}
    assert xlabench.main(["ingest", str(path), "--rebuild", *database]) == 0


@pytest.mark.parametrize("folders", [(), ("x",)])
def test_facts_without_a_file_are_refused(tmp_path, capsys, folders):
    hud_files.write(tmp_path / "x", [performance("m", 2.0, 10.0)])
    words = ["--fact", "test=eval", *(str(tmp_path / each) for each in folders)]
    assert xlabench.main(["ingest", *words, "--database", str(tmp_path / "store")]) == 2
    assert "Name these files instead of a folder" in capsys.readouterr().err
