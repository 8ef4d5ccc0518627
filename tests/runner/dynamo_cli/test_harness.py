"""torchbench.py, huggingface.py and timm_models.py by their own command lines."""

import argparse
import csv
import functools

import pytest

import xlabench
from runner.dynamo import harness
from runner.flags import flagged
from runner.plan.request import Configuration, Protocol, Selection
from store.errors import UsageError
from tests.runner.dynamo_cli.command import dynamo
from tests.runner.runner_makers import entry, machine, plan

MODE = ("--performance", "--inference")
HERE = machine()


our_parser = functools.cache(xlabench._parser)


def parse(*given):
    return harness.parser("harness").parse_args(given)


def words(*given, suite="timm_models", here=HERE):
    parsed = parse(*given)
    return harness.translate(suite, parsed, harness.sides(parsed), here)


def run_flags(*given, **changes):
    """Return what `xlabench run` reads out of the translation: each flag, or its default."""
    read = vars(our_parser().parse_args(["run", *words(*given, **changes)]))
    fields = [field for kind in (Selection, Configuration, Protocol) for field in flagged(kind)]
    usual = {field.name: [] if field.many else field.default for field in fields}
    return argparse.Namespace(**usual | read | dict.fromkeys(read.get("instruments", ()), True))


def test_a_command_of_theirs_is_a_command_of_ours():
    """Joined short flags; preset hud, float32 as there; the eager baseline is planned beside the backend."""
    assert words(*MODE, "-dcuda", "-n50", "--inductor", "--float32", "-kresnet", "-xfoo", "-ca.b=1") == [
        "--preset=hud",
        "--processes=1",
        "--suite-name=timm_models",
        "--filter=resnet",
        "--exclude=foo",
        "--repeat=50",
        "--iterations-per-run=1",
        "--verify-iterations=2",
        "--inductor-config=a.b=1",
        "--subprocess-timeout=2000",
        "--test=eval",
        "--total-partitions=1",
        "--partition-id=0",
        "--xla=None",
        "--dynamo=None",
        "--dynamo=inductor",
        "--accelerator=cuda",
        "--dtype=float32",
        "--collect-dynamo-counters",
    ]


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        (["--amp", "--amp-dtype=float16"], "amp_dtype", "float16"),
        (["--amp"], "dtype", "amp"),
        (["--bfloat16"], "dtype", "bfloat16"),
        ([], "dtype", "float32"),
        (["--nopython"], "fullgraph", True),
        (["--dynamic-batch-only"], "dynamic_shapes", True),
        (["--freezing"], "freezing", True),
        (["--batch_size", "3"], "batch_size", 3),
        (["--cold_start_latency"], "cache", "cold"),
        (["--warm-start-latency"], "cache", "warm"),
        (["--disable-cudagraphs"], "cudagraphs", False),
        (["--inductor-compile-mode", "max-autotune"], "compile_mode", "max-autotune"),
        (["--disable-persistent-reductions"], "inductor_config", [("triton.persistent_reductions", "False")]),
        (["--specialize-int"], "dynamo_config", [("specialize_int", "True")]),
        (["--device-index", "1"], "device_index", 1),
        (["--exclude-exact", "a.b"], "exclude", [r"^a\.b$"]),
        (["--only", "resnet18"], "only", ["timm_models/resnet18"]),
        (["--fast"], "fast", True),
        (["--cosine"], "cosine", True),
        (["--minify"], "minify", True),
        (["--snapshot_memory"], "memory_snapshot", True),
        (["--threads", "2"], "threads", 2),
        (["--total-partitions", "15", "--partition-id", "14"], "partition_id", 14),
    ],
)
def test_each_flag_has_its_counterpart(given, name, value):
    assert getattr(run_flags(*MODE, "--inductor", *given), name) == value


def test_a_model_that_is_named_is_in_every_partition():
    """As there, where --only leaves the shards to those that measure whole suites."""
    assert run_flags(*MODE, "--inductor", "--total-partitions=2", "--partition-id=1").partition_id == 1
    named = run_flags(*MODE, "--inductor", "--total-partitions=2", "--partition-id=1", "--only=resnet18")
    assert (named.total_partitions, named.partition_id) == (1, 0)


def test_without_a_test_inference_is_measured():
    """As in the harness of pull request 87741, whose commands name none."""
    assert run_flags("--performance", "--inductor").test == ["eval"]
    assert run_flags("--performance", "--inductor", "--freezing").freezing


def test_the_device_is_the_accelerator_that_is_there():
    assert run_flags(*MODE, "--inductor").accelerator == ["cpu"]
    cuda = machine(accelerators={"cpu": "a", "cuda": "b"})
    assert run_flags(*MODE, "--inductor", here=cuda).accelerator == ["cuda"]
    assert run_flags(*MODE, "--inductor", "-dcpu", "-dcuda").accelerator == ["cpu", "cuda"]


@pytest.mark.parametrize(("suite", "batch"), [("huggingface", 1), ("torchbench", 4), ("timm_models", 8)])
def test_accuracy_verifies_only_with_their_batch_size(suite, batch):
    parsed = run_flags("--accuracy", "--training", "--inductor", suite=suite)
    assert (parsed.verify_only, parsed.batch_size, parsed.verify_iterations, parsed.test) == (True, batch, 2, ["train"])
    assert parsed.dynamo == ["inductor"]
    assert run_flags("--accuracy", "--training", "--inductor", "--batch-size=5", suite=suite).batch_size == 5


@pytest.mark.parametrize(
    ("given", "backend", "baseline"),
    [
        (["--inductor"], (None, "inductor"), (None, None)),
        (["--backend", "aot_eager"], (None, "aot_eager"), (None, None)),
        (["--overhead"], (None, "eager"), (None, None)),
        (["--xla"], ("PJRT", None), (None, None)),
        (["--backend=openxla"], ("PJRT", "openxla"), (None, None)),
        (["--speedup-ts"], (None, "torchscript"), (None, None)),
        (["--backend=ts"], (None, "ts"), (None, None)),
        (["--backend=openxla", "--trace-on-xla"], ("PJRT", "openxla"), ("PJRT", None)),
        (["--backend=torchxla_trace_once", "--use-xla-baseline"], ("PJRT", "torchxla_trace_once"), ("PJRT", None)),
    ],
)
def test_what_is_measured_against_what(given, backend, baseline):
    found = harness.sides(parse(*MODE, *given))
    assert (found.backend, found.baseline) == (backend, baseline)


def test_xla_tolerance_belongs_to_xla():
    assert run_flags("--accuracy", "--inference", "--xla", "--xla-tolerance=0.03").tolerance == 0.03
    assert run_flags("--accuracy", "--inference", "--inductor", "--xla-tolerance=0.03").tolerance is None


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (["--inductor"], "inductor.csv"),
        (["--backend=aot_eager"], "speedup_aot_eager.csv"),
        (["--xla"], "xla.csv"),
        (["--overhead"], "overheads.csv"),
        (["--speedup-ts"], "baseline_ts.csv"),
        (["--inductor", "--output=a/b.csv", "--output-directory=c"], "c/a/b.csv"),
        (["--inductor", "--output=/x/b.csv", "--output-directory=c"], "/x/b.csv"),
    ],
)
def test_the_csv_lies_where_theirs_would_put_it(given, path):
    assert str(harness.csv_path(parse(*MODE, *given))) == path
    assert harness.csv_path(parse(*MODE, *given, "--disable-output")) is None


def test_only_models_of_the_environment_are_taken_for_torchbench(monkeypatch):
    monkeypatch.setenv("TORCHBENCH_ONLY_MODELS", "dcgan, resnet18")
    taken = run_flags(*MODE, "--inductor", suite="torchbench").only
    assert taken == ["torchbench/dcgan", "torchbench/resnet18"]
    assert run_flags(*MODE, "--inductor").only == []


def test_a_file_gives_batch_sizes_per_model(tmp_path):
    """Both of their spellings; what the file does not name keeps its own."""
    path = tmp_path / "sizes.txt"
    path.write_text("dummy, 3\nother 4\n\n")
    changed = harness.apply(path, plan(entry("eager"), entry("eager", "dummy_nonzero"))).entries
    assert [each.config.batch_size for each in changed] == [3, None]
    assert changed[0].experiment_id == entry("eager", batch_size=3).experiment_id
    path.write_text("dummy of three\n")
    with pytest.raises(UsageError, match="line 1"):
        harness.apply(path, plan())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "the first word must be a suite"),
        (["mnist", *MODE], "'mnist' is neither a suite nor a program of the harness"),
        (["dummy", *MODE], "no backend is selected; pass --inductor, --backend NAME or --xla"),
        (["dummy", "--inductor", "--inference"], "one of the arguments --accuracy --performance is required"),
        (["dummy", *MODE, "--nvfuser"], "--nvfuser is not supported: nvfuser was removed from PyTorch"),
        (["dummy", *MODE, "--speedup-dynamo-ts"], "use --speedup-ts, or --backend ts through dynamo"),
        (["dummy", *MODE, "--inductor", "--backend=inductor"], "not allowed with argument --inductor"),
        (["dummy", *MODE, "--inductor", "--float32", "--amp"], "not allowed with argument --float32"),
        (["dummy", *MODE, "--inductor", "-dhpu"], "invalid choice: 'hpu'"),
        (["dummy", *MODE, "--inductor", "--amp-dtype=float16"], "--amp-dtype requires --amp"),
        (["dummy", *MODE, "--inductor", "--trace-on-xla"], "--trace-on-xla is not supported with inductor"),
        (["dummy", *MODE, "--inductor", "--partition-id=1"], "--partition-id 1: it must be at least 0 and less than 1"),
        (["dummy", *MODE, "--inductor", "--only=path:/a.py,class:B"], "XLABENCH_SUITES"),
        (["dummy", *MODE, "--inductor", "--only=none_such"], "there is no model 'dummy/none_such'"),
        (["dummy", *MODE, "--inductor", "-knone_such"], "No model matches --filter"),
        pytest.param(
            ["dummy", *MODE, "--backend=none_such"],
            "Nothing can be measured: dynamo has no backend none_such",
            marks=pytest.mark.thorough,
        ),
        (["dummy.py", *MODE, "--inductor", "-dxpu"], "Nothing can be measured: this machine has no xpu device"),
        (["--suite", "dummy", *MODE, "--inductor", "--baseline=/none/such.csv"], "/none/such.csv: No such file"),
    ],
)
def test_what_cannot_be_honoured_is_one_sentence_and_exit_2(tmp_path, given, says):
    """No file is left, and nothing is measured."""
    done = dynamo(*given, code=2, cwd=tmp_path, XLABENCH_HOME=tmp_path / "home")
    assert says in done.stderr
    assert (done.stderr.count("\n"), done.stdout) == (1, "")
    assert list(tmp_path.iterdir()) == []


def test_help_names_the_programs():
    assert "python -m runner.dynamo runner FLAGS" in dynamo("--help").stdout
    assert "--inductor-compile-mode" in dynamo("benchmarks/dynamo/timm_models.py", "--help").stdout


@pytest.mark.thorough
@pytest.mark.slow
def test_a_real_performance_run_writes_their_csv(tmp_path):
    """`--only` appends; the numbers are those of the records; graph breaks lie beside it."""
    out = tmp_path / "x.csv"
    given = (*MODE, "-dcpu", "-n3", "--backend=aot_eager", "--explain", f"--output={out}", "--only")
    for model in ("dummy", "dummy_nonzero"):
        said = dynamo("dummy", *given, model, XLABENCH_HOME=tmp_path / "home").stdout
        assert f"{model}: Dynamo produced" in said
    table = list(csv.DictReader(out.read_text().splitlines()))
    assert [row["name"] for row in table] == ["dummy", "dummy_nonzero"]
    assert all(float(row["speedup"]) > 0 and int(row["calls_captured"]) > 0 for row in table)
    assert int(table[1]["graph_breaks"]) > 0
    breaks = list(csv.DictReader((tmp_path / "x_graph_breaks.csv").read_text().splitlines()))
    assert {row["model"] for row in breaks} == {"dummy_nonzero"}
    records = "".join(path.read_text() for path in tmp_path.glob("home/runs/*/results.jsonl"))
    assert records.count('"protocol":"hud"') == 4
