"""Each instrument in a process of its own: what it leaves is what it promises."""

import gzip
import json
import subprocess
import sys
import tarfile

import pytest
from real import NEEDS, run_passes
from real_processes import LINEAR

from runner.instrument import dumps

pytestmark = NEEDS

NONZERO = {"model": "dummy_nonzero"}
PATIENCE_S = 300


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Give a new artifact folder per name."""

    def make(name):
        folder = tmp_path_factory.mktemp(name) / "attempt-1"
        folder.mkdir()
        return folder

    return make


@pytest.fixture(scope="module")
def lazy(pool, folders):
    folder = folders("lazy")
    names = ("dump_hlo", "dump_pytorch_xla_metrics", "save_output", "profile_xla", "profile_cuda_cpu_individual_ops")
    return folder, run_passes(pool, folder, "openxla+lazytensor", *names, save_ir_format="hlo", fields=NONZERO)


@pytest.fixture(scope="module")
def bridged(pool, folders):
    folder = folders("bridged")
    names = ("dump_dynamo_counters", "dump_hlo")
    return folder, run_passes(pool, folder, "openxla+dynamo", *names, save_ir_format="stablehlo", fields=NONZERO)


@pytest.fixture(scope="module")
def inductor(pool, folders):
    folder = folders("inductor")
    return folder, run_passes(pool, folder, "inductor", "dump_inductor")


@pytest.fixture(scope="module")
def profiled(pool, folders):
    """Inductor makes no kernel of its own for one linear layer, so it is done soon."""
    folder = folders("profiled")
    names = ("dump_pytorch_profiles", "profile_cuda_cpu", "profile_cuda_cpu_individual_ops")
    return folder, run_passes(pool, folder, "inductor", *names, iterations_per_run=2, fields=LINEAR)


def of_kind(found, kind):
    return [each for each in found.artifacts if each.kind == kind]


def test_the_list_of_artifacts_is_what_lies_in_the_folder(lazy, inductor, profiled):
    for folder, passes in (lazy, inductor, profiled):
        listed = {each.path: each.bytes for found in passes.values() for each in found.artifacts}
        files = {path for path in folder.rglob("*") if path.is_file()}
        assert listed == {str(path.relative_to(folder)): path.stat().st_size for path in files}


def test_hlo_is_dumped_as_text_and_what_belongs_to_kernels_is_packed(lazy):
    folder, passes = lazy
    texts = [each.path for each in of_kind(passes["dumps"], "hlo") if each.path.endswith("after_optimizations.txt")]
    assert all((folder / path).read_text().startswith("HloModule") for path in texts)
    with tarfile.open(folder / "hlo/kernels.tar.gz") as archive:
        assert any(name.endswith(".ll") for name in archive.getnames())
    assert not list(folder.glob("hlo/*.ll"))


def test_the_dumped_programs_are_described(lazy):
    _, passes = lazy
    found = [each for each in passes["dumps"].graphs if each.op_histogram.get("dot")]
    assert [(each.kind, each.op_histogram["dot"], each.flops) for each in found] == [("hlo_optimized", 2, 49152.0)]
    assert found[0].fusions >= 1
    assert found[0].bytes_accessed > 0


def test_the_ir_of_every_sync_is_saved(lazy, bridged):
    assert "HloModule" in (lazy[0] / "ir.hlo.0").read_text()
    assert "stablehlo." in (bridged[0] / "ir.stablehlo.0").read_text()


def test_pytorch_xla_reports_its_metrics_per_repeat(lazy):
    folder, passes = lazy
    assert [each.repeat for each in of_kind(passes["dumps"], "pytorch_xla_metrics")] == [0, 1]
    assert "Metric: CompileTime" in (folder / "0/pytorch-xla-metrics.txt").read_text()


def test_dynamos_counters_are_written_per_repeat(bridged):
    folder, passes = bridged
    assert [each.repeat for each in of_kind(passes["dumps"], "dynamo_counters")] == [0, 1]
    assert json.loads((folder / "1/dynamo-counters.json").read_text())["stats"]["unique_graphs"] == 1


def test_the_output_can_be_loaded_on_a_machine_without_the_device(lazy):
    """The model selects every other of 16 rows."""
    folder, _ = lazy
    import torch

    output = torch.load(folder / "output.pt")
    assert (output.shape, output.device.type, bool(output.isfinite().all())) == ((8, 32), "cpu", True)


def test_the_xla_profile_needs_no_port(lazy):
    folder, passes = lazy
    (plane,) = [each for each in of_kind(passes["xla-profile"], "xplane") if each.path.endswith(".xplane.pb")]
    assert b"SyncTensorsGraph" in (folder / plane.path).read_bytes()
    assert passes["xla-profile"].warnings == []


def test_a_fallback_op_has_its_calls_and_its_time(lazy):
    _, passes = lazy
    found = passes["pytorch-profile"]
    ops = found.metrics["xla_unlowered_ops"]
    assert [list(each) for each in ops] == [["aten::nonzero"], ["aten::nonzero"]]
    assert set(ops[0]["aten::nonzero"]) == {
        "self_cpu_time_s", "self_cuda_time_s", "total_cpu_time_s", "total_cuda_time_s", "num_of_calls"
    }  # fmt: skip
    # The op runs on the CPU inside itself; its time counts once.
    assert 0 < found.fallback_times["nonzero"] <= sum(each["aten::nonzero"]["total_cpu_time_s"] for each in ops) / 2
    # The pass's own time, not that of iterations without a profile: a share of it never passes 100 %.
    assert found.fallback_times["nonzero"] < found.profiled_iteration_s


def test_the_profile_has_the_peers_metrics_one_per_block(profiled):
    _, passes = profiled
    metrics = passes["pytorch-profile"].metrics
    assert [total / 2 for total in metrics["total_cpu_time_s"]] == pytest.approx(metrics["per_iter_cpu_time_s"])
    assert min(metrics["total_cpu_time_s"]) > 0
    assert metrics["total_cuda_time_s"] == metrics["per_iter_cuda_time_s"] == [0, 0]
    assert all(each["aten::addmm"]["num_of_calls"] == 2 for each in metrics["inductor_ops"])


def test_a_trace_holds_the_block_and_none_of_its_preparation(profiled):
    folder, _ = profiled
    trace = json.loads(gzip.decompress((folder / "0/trace.json.gz").read_bytes()))
    names = [event.get("name", "") for event in trace["traceEvents"]]
    assert "aten::addmm" in names
    # Inputs are copied, and streams seeded, before.
    assert "aten::clone" not in names
    assert "aten::addmm" in (folder / "1/pytorch-profile.txt").read_text()


def test_inductors_code_names_its_kernels_after_their_ops(inductor):
    folder, passes = inductor
    (code,) = [each.path for each in of_kind(passes["inductor-debug"], "inductor") if "output_code" in each.path]
    assert "cpp_fused_" in (folder / code).read_text()
    assert "relu" in (folder / code).read_text()
    assert not list(folder.glob("inductor/run_*"))


@pytest.mark.thorough
def test_the_runnable_graph_runs_on_its_own(inductor, tmp_path):
    folder, _ = inductor
    (program,) = folder.rglob("fx_graph_runnable.py")
    done = subprocess.run(
        [sys.executable, program], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
def test_a_dump_beyond_the_limit_is_cut_with_a_note(pool, folders):
    folder = folders("limited")
    (found,) = run_passes(pool, folder, "openxla+lazytensor", "dump_hlo", "save_output", limit=4000).values()
    assert sum(each.bytes for each in found.artifacts) <= 4000
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) <= 4000
    assert {each.note for each in found.artifacts} == {None, "cut at the byte limit"}
    assert any("cut at the byte limit" in each for each in found.warnings)


@pytest.mark.thorough
def test_what_fails_in_inductor_is_minified_to_the_op_that_fails(pool, folders):
    """A bug is planted into inductor's relu; of five operations one is left."""
    folder = folders("minified")
    planted = {"overrides": {"inductor.cpp.inject_relu_bug_TESTING_ONLY": "compile_error"}}
    (found,) = run_passes(pool, folder, "inductor", "minify", failed=True, fields=planted).values()
    assert {each.path for each in found.artifacts} == {
        "minify/minifier_launcher.py", "minify/minifier.log", "minify/repro.py"
    }  # fmt: skip
    repro = (folder / "minify/repro.py").read_text()
    assert "aten.relu" in repro
    assert "aten.addmm" not in repro
    assert found.warnings == []


def test_what_fails_in_the_model_itself_has_nothing_to_minify(pool, folders, monkeypatch):
    monkeypatch.setenv("XLABENCH_SUITES", "tests.faults.faulty_suite:SUITE")
    faulty = {"suite_name": "faulty", "model": "step_raises"}
    (found,) = run_passes(pool, folders("raising"), "openxla+dynamo", "minify", failed=True, fields=faulty).values()
    assert found.artifacts == []
    assert found.warnings == [dumps.NOTHING]
