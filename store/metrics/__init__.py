"""The metric registry: labels, units and definitions for pages, reports and docs."""

from __future__ import annotations

from store.metrics.derived import DERIVED, OPERATORS
from store.metrics.kinds import Metric
from store.metrics.kinds import count as _count
from store.metrics.kinds import gigabytes as _gigabytes
from store.metrics.kinds import milliseconds as _ms
from store.metrics.kinds import ratio as _ratio
from store.metrics.kinds import seconds as _time
from store.metrics.kinds import size as _bytes

__all__ = ["METRICS", "Metric", "metric"]

_UNSTEADY = "no value unless the experiment ran"
_REFUSED = "no value unless only waits of its threads disturbed it"

_METRICS = (
    _ms("latency_s", "Latency", "Median time of one iteration over the steady blocks.", failure=_UNSTEADY),
    _ms("latency_low_s", "Latency, low", "Lower end of the 95 % interval of the median, from order statistics."),
    _ms("latency_high_s", "Latency, high", "Upper end of the 95 % interval of the median, from order statistics."),
    _ms(
        "at_least_s",
        "Latency, at least",
        "Lower bound of a refused result's latency on a quiet machine.",
        failure=_REFUSED,
    ),
    _ms(
        "at_most_s",
        "Latency, at most",
        "Upper bound of a refused result's latency on a quiet machine.",
        failure=_REFUSED,
    ),
    Metric(
        name="latency_spread",
        label="Spread",
        unit="",
        direction="lower",
        definition="Interquartile range of the steady blocks over their median.",
        failure=_UNSTEADY,
        display_unit="%",
        scale=100.0,
    ),
    Metric(
        name="throughput_per_s",
        label="Throughput",
        unit="1/s",
        direction="higher",
        definition="Samples per second: batch size over latency.",
        failure="no value without a known batch size",
        threshold=0.05,
    ),
    _ratio(
        "speedup",
        "Speedup",
        "Baseline latency over latency: above 1 is faster than the baseline.",
        aggregation="geometric mean over models valid on both sides",
        failure="no value, with the reason next to it",
        threshold=0.05,
    ),
    _ratio("speedup_low", "Speedup, low", "Lower end of the 95 % interval of the speedup.", failure="under 6 samples"),
    _ratio(
        "speedup_high", "Speedup, high", "Upper end of the 95 % interval of the speedup.", failure="under 6 samples"
    ),
    _ratio(
        "speedup_at_least",
        "Speedup, at least",
        "Lower bound of the speedup of a refused result, from the time that its threads waited for a core.",
        failure="no value unless only waits of its threads disturbed it",
    ),
    _ratio(
        "speedup_at_most",
        "Speedup, at most",
        "Upper bound of the speedup of a refused result.",
        failure="no value unless only waits of its threads disturbed it",
    ),
    _ratio(
        "geomean",
        "Geomean speedup",
        "Geometric mean of the speedups of models that are valid on both sides and comparable.",
        aggregation="geometric mean",
        failure="no value where no model is paired",
        threshold=0.05,
    ),
    _ratio(
        "geomean_low",
        "Geomean, low",
        "Lower end of the 95 % interval of the geometric mean over models, from three models on.",
    ),
    _ratio(
        "geomean_high",
        "Geomean, high",
        "Upper end of the 95 % interval of the geometric mean over models, from three models on.",
    ),
    _count("n", "Models", "Models that are paired: valid on both sides and comparable."),
    _ms("baseline_latency_s", "Baseline latency", "Latency of the baseline result."),
    _count("baseline_steady_n", "Baseline samples", "Steady blocks of the baseline result."),
    _count("steady_n", "Samples", "Steady blocks behind the latency."),
    _time(
        "first_iteration_s", "First iteration", "Time of the first block minus that of a steady one.", failure=_UNSTEADY
    ),
    _time(
        "time_to_steady_s",
        "Time to steady",
        "What a user waits: time of all warm-up blocks with their inner loops, the first included, minus that of as "
        "many steady ones.",
        failure=_UNSTEADY,
    ),
    _time("compile_peer_s", "Compile, peer", "First block minus the mean of all others, as PyTorch/XLA's aggregator."),
    _ms("peer_exec_s", "Execution, peer", "Mean time of the blocks after the third, as PyTorch/XLA's aggregator."),
    _ms("peer_exec_std_s", "Deviation, peer", "Sample standard deviation of the blocks after the third."),
    _time(
        "compiler_time_s",
        "Compiler time",
        "Compile time that the compiler itself reports; `compiler_source` says which.",
        failure="no value where the backend reports none",
    ),
    Metric(
        name="graphs_number",
        label="Graphs",
        unit="",
        direction="lower",
        definition="Number of graphs that the backend compiled.",
    ),
    _ms("trace_s", "Trace time", "Median host time per iteration spent tracing lazy tensors, over steady blocks."),
    _time("runtime_start_s", "Runtime start", "Time to start the device runtime; no compile time includes it."),
    _time("load_time_s", "Load time", "Time to build the model and its inputs."),
    _time("start_time_s", "Process start", "Time from the request to a measuring process that is ready."),
    _bytes(
        "peak_memory_bytes",
        "Peak memory",
        "Peak memory over the steady part. On the CPU, the size of the process before the load is subtracted; on a "
        "device, it is what was allocated there, and on CUDA also what CUDA graphs keep.",
    ),
    _bytes("setup_peak_memory_bytes", "Set-up peak", "Peak memory while the model was built and compiled."),
    _count("batch_size", "Batch size", "Batch size that the model used."),
    _count("requested_batch_size", "Requested batch", "Requested batch size; none means the model's own."),
    _count("iterations_per_run", "Iterations", "Iterations of one timed block."),
    _count("repeat", "Repeats", "Timed blocks of the record."),
    _count("attempt", "Attempt", "How often the group was measured in this run."),
    _count("threads", "Threads", "Threads that the measuring process used."),
    _count("turns_n", "Turns", "Turns of the processes, disturbed ones included."),
    _count("disturbed_turns_n", "Disturbed turns", "Disturbed turns; no statistic includes them.", "lower"),
    Metric(
        name="quiet_rule",
        label="Rule of quiet turns",
        unit="",
        direction="none",
        definition="Version of the rule that judged the turns; older records have none: unknown.",
    ),
    _count("replicas_n", "Processes", "Measuring processes of the experiment."),
    _count("replicas_ran_n", "Processes that ran", "Measuring processes with steady samples.", "higher"),
    _count("fallback_ops_n", "Fallback ops", "Number of different ops that XLA did not lower.", "lower"),
    Metric(
        name="fallback_calls_per_iteration",
        label="Fallback calls",
        unit="1/iteration",
        direction="lower",
        aggregation="sum over ops",
        definition="Calls of ops that XLA did not lower, per steady iteration.",
    ),
    _count("graph_breaks_n", "Graph breaks", "Places where dynamo split the graph.", "lower"),
    Metric(
        name="calls_per_iteration",
        label="Calls",
        unit="1/iteration",
        direction="lower",
        aggregation="sum",
        definition="Calls of the op per steady iteration.",
    ),
    _count("calls_compile", "Calls in compilation", "Calls of the op while the model compiled and warmed up.", "lower"),
    _ms("time_s", "Op time", "Time of the op from the profile pass.", failure="no value without a profile"),
    _ms(
        "profiled_iteration_s",
        "Profiled iteration",
        "Time of an iteration of the profile pass that the time of the op is from.",
        failure="no value without a profile, nor of records from before it was recorded",
    ),
    _count("count", "Breaks", "How often dynamo split the graph for this reason.", "lower"),
    _count("planned_n", "Planned", "Experiments of the plan; without a plan, rows of the file."),
    _count("runnable_n", "Runnable", "Planned experiments that are not skipped."),
    _count("ran_n", "Ran", "Experiments that finished with steady samples.", "higher"),
    _count("answered_n", "Answered", "Experiments that ran, or were verified and not timed."),
    _count("verified_n", "Verified", "Experiments, of those answered, whose answer was verified.", "higher"),
    _count("verify_only_n", "Verified only", "Experiments that were verified and not timed."),
    _count("skipped_n", "Skipped", "Experiments that the plan or the runner left out, with a reason."),
    _count("never_steady_n", "Never steady", "Experiments whose times did not settle.", "lower"),
    _count(
        "disturbed_n", "Disturbed", "Experiments that other programs disturbed: refused, to be measured again.", "lower"
    ),
    _count("invalid_n", "Invalid", "Experiments with a result that cannot be used, such as a wrong answer.", "lower"),
    _count("failed_n", "Failed", "Experiments that were attempted without a usable number.", "lower"),
    _count("timeout_n", "Timed out", "Experiments that exceeded their time limit.", "lower"),
    _count("oom_n", "Out of memory", "Experiments that ran out of memory.", "lower"),
    _count("crashed_n", "Crashed", "Experiments whose process died.", "lower"),
    _count("not_run_n", "Not run", "Planned experiments that the run has not reached.", "lower"),
)

_THEIRS = "0 where the harness has none, which is no value here"

_REPORTED_METRICS = (
    _ratio(
        "hud_speedup",
        "Speedup vs eager",
        "Median time of eager over median time of the backend, as the TorchDynamo harness measures it.",
        aggregation="geometric mean over models that passed",
        failure=_THEIRS,
        threshold=0.05,
    ),
    Metric(
        name="abs_latency_ms",
        label="Absolute latency",
        unit="ms",
        direction="lower",
        aggregation="mean over models that passed",
        failure=_THEIRS,
        threshold=0.05,
        definition="Median time of one timed block of the backend, in milliseconds, as the TorchDynamo harness.",
    ),
    _time(
        "compilation_latency_s",
        "Compilation latency",
        "Wall time of the first five iterations of the backend minus that of eager's; may be below 0.",
        aggregation="mean over models that passed",
        failure=_THEIRS,
    ),
    _ratio(
        "compression_ratio",
        "Memory compression",
        "Peak memory of eager over peak memory of the backend: above 1 needs less.",
        aggregation="arithmetic mean over models that passed",
        failure=_THEIRS,
        threshold=0.05,
    ),
    _gigabytes("eager_peak_gb", "Eager peak", "Peak memory of eager while it was warmed up, in 10^9 bytes."),
    _gigabytes("dynamo_peak_gb", "Backend peak", "Peak memory of the backend while it compiled, in 10^9 bytes."),
    _count("models_n", "Models", "Models behind the row; by the HUD's rule those with any row, failed ones, too."),
    _count("judged_n", "Models checked", "Models whose answer was compared, or skipped by the tables."),
    _count("passed_n", "Models passed", "Models that the HUD's rule counts as passed.", "higher"),
    Metric(
        name="pass_rate",
        label="Pass rate, HUD",
        unit="",
        display_unit="%",
        scale=100.0,
        direction="higher",
        threshold=0.05,
        definition="Models passed over models with a row; a model without a row is in neither.",
    ),
    Metric(
        name="pass_percent",
        label="Pass rate, whole %",
        unit="%",
        direction="higher",
        definition="The pass rate rounded to whole percents: what the HUD compares between two runs.",
    ),
    _ratio(
        "geomean_vs_eager",
        "Geomean vs eager",
        "Geometric mean of the speedups vs eager that are not 0, over models that passed: the HUD's speedup.",
        failure="0 with n = 0, as in the HUD; shown as no value",
        threshold=0.05,
    ),
    _count("geomean_vs_eager_n", "n vs eager", "Speedups vs eager in the geometric mean."),
    _ratio(
        "geomean_vs_baseline",
        "Geomean vs baseline",
        "The same mean of baseline latency over latency, for a chosen baseline that passed itself; not the HUD's.",
        threshold=0.05,
    ),
    _count("geomean_vs_baseline_n", "n vs baseline", "Speedups over the chosen baseline in the geometric mean."),
    _time(
        "compilation_mean_s",
        "Mean compilation",
        "Arithmetic mean of the compilation latencies that are not 0, over models that passed.",
    ),
    _count("compilation_n", "n, compilation", "Compilation latencies in their mean."),
    Metric(
        name="execution_mean_ms",
        label="Mean execution",
        unit="ms",
        direction="lower",
        threshold=0.05,
        definition="Arithmetic mean of the absolute latencies that are not 0, over models that passed.",
    ),
    _count("execution_n", "n, execution", "Absolute latencies in their mean."),
    _ratio(
        "compression_mean",
        "Mean compression",
        "Arithmetic mean of the memory compressions that are not 0, over models that passed.",
        threshold=0.05,
    ),
    _count("compression_n", "n, compression", "Memory compressions in their mean."),
    _gigabytes(
        "dynamo_peak_mean_gb",
        "Mean peak",
        "Arithmetic mean of the backend's peaks over models that passed; one without a peak counts as 0.",
    ),
    _count("dynamo_peak_n", "n, peak", "Models in the mean of peaks."),
    _ratio(
        "reported_speedup",
        "Published speedup",
        "Speedup as published, over the baseline that its table names; its number of samples is not known.",
    ),
    _ms("reported_latency_s", "Published latency", "Time of an iteration, as published with a speedup."),
    _ms(
        "reported_baseline_latency_s",
        "Published baseline latency",
        "Time of an iteration of the baseline, as published with it.",
    ),
    _ratio("published_geomean", "Published geomean", "Geometric mean of a table's column as published with it."),
    _time("time_baseline_s", "Eager, --xla", "Median time of eager in a run of the harness against lazy XLA."),
    _time("time_xla_s", "Lazy XLA, --xla", "Median time of lazy XLA in a run of the harness against it."),
    _ratio("prior_speedup", "Earlier speedup", "Speedup of the CSV that a run of the harness was compared with."),
    _ratio("speedup_vs_prior", "Speedup vs earlier", "Speedup over that of the CSV it was compared with."),
    _time("cache_lookup_latency_s", "Cache lookup", "Time of a lookup in dynamo's cache, as the harness measures it."),
    _count("calls_captured", "Calls captured", "Calls in the graphs that dynamo captured.", "higher"),
    _count("unique_graphs", "Unique graphs", "Graphs that dynamo gave to the backend.", "lower"),
    _count("fallbacks_to_eager", "Frames in eager", "Frames that dynamo skipped and eager ran.", "lower"),
    _count("graph_breaks", "Breaks counted", "Graph breaks as dynamo counts them.", "lower"),
    _count("unique_graph_breaks", "Break reasons", "Different reasons of graph breaks.", "lower"),
    _count("autograd_captures", "Autograd captures", "Backward passes that compiled autograd captured."),
    _count("autograd_compiles", "Autograd compiles", "Backward passes that compiled autograd compiled."),
    _count("cudagraph_skips", "CUDA graph skips", "Graphs that were not put into CUDA graphs.", "lower"),
)
"""Numbers of the views of what other tools report, and of the HUD's rule."""

METRICS: dict[str, Metric] = {metric.name: metric for metric in (*_METRICS, *_REPORTED_METRICS, *DERIVED, *OPERATORS)}
"""Every number of the views, by column name."""


def metric(name: str) -> Metric:
    """Return the metric of a column.

    Raises:
        KeyError: no view has a number of this name.
    """
    return METRICS[name]
