"""Numbers that the views derive from several results, and those of single operators."""

from __future__ import annotations

from store.metrics.kinds import Metric, count, milliseconds, ratio, seconds, share, size

_ONE_PROCESS = "no value with a single process"
_NO_PROFILE = "no value without a profile"


def _sides(name: str, label: str, definition: str, unit: str = "") -> list[Metric]:
    """Return a number of two runs that are compared."""
    return [
        Metric(
            name=f"{name}_{side.lower()}",
            label=f"{label}, {side}",
            unit=unit,
            definition=f"{definition}, run {side}.",
        )
        for side in "AB"
    ]


_RATES = (
    count("load_error_n", "Not loaded", "Experiments whose model could not be built.", "lower"),
    count("compile_error_n", "Not compiled", "Experiments that failed to compile.", "lower"),
    count("run_error_n", "Run errors", "Experiments that raised an error while they ran.", "lower"),
    count("wrong_n", "Wrong answers", "Experiments that ran, and whose verification failed.", "lower"),
    Metric(
        name="ran_rate",
        label="Ran",
        unit="",
        display_unit="%",
        scale=100.0,
        direction="higher",
        threshold=0.05,
        definition="Experiments that finished with steady samples, over those of the plan.",
    ),
    Metric(
        name="verified_rate",
        label="Verified",
        unit="",
        display_unit="%",
        scale=100.0,
        direction="higher",
        threshold=0.05,
        definition="Experiments whose answer was verified, over those that answered.",
        failure="no value where no verification was requested",
    ),
)

_FALLBACK = (
    count("results_n", "Results", "Results behind the row."),
    count("steady_models_n", "Models, steady", "Models that call the op in steady iterations.", "lower"),
    count("blocked_n", "Blocked by it alone", "Models that call no other fallback op in steady iterations.", "lower"),
    count("time_n", "Profiled", "Results whose profile has the time of the op."),
    share(
        "time_share",
        "Share of time",
        "Time of the op in the profile pass, with the wait for its inputs, over the time of an iteration of this pass. "
        "Older records lack the time of that iteration: their share is over the latency, which was measured without a "
        "profiler, so it may exceed 100 %.",
        _NO_PROFILE,
    ),
    count("steady_ops_n", "Ops, steady", "Fallback ops that are called in steady iterations.", "lower"),
    count("no_lowering_n", "No lowering", "Ops that XLA has no lowering for.", "lower"),
    count("opt_in_lowering_n", "Opt-in lowering", "Ops whose lowering is off by default.", "lower"),
    count("host_read_n", "Host reads", "Ops that bring a value to the host; nothing to lower.", "lower"),
)

_PAYOFF = (
    milliseconds("with_latency_s", "With the op", "Latency of the model while the op runs on the host."),
    milliseconds("without_latency_s", "Without the op", "Latency of the model with the op replaced, in the same run."),
    ratio(
        "payoff",
        "Payoff",
        "Latency with a fallback op over the latency without it, measured in turns in one run; above 1, lowering the "
        "op pays. It is the geometric mean over the processes, each with the median over its rounds.",
        failure="no value, with the reason next to it: the op was not called, still falls back, or the answer is not "
        "verified",
        threshold=0.05,
    ),
    ratio("payoff_low", "Payoff, low", "Lower end of the payoff's 95 % interval over processes.", failure=_ONE_PROCESS),
    ratio(
        "payoff_high", "Payoff, high", "Upper end of the payoff's 95 % interval over processes.", failure=_ONE_PROCESS
    ),
    Metric(
        name="gain",
        label="Gain",
        unit="",
        definition="1 where interval and effect of the payoff lie above 1 and the machine's noise floor, "
        "-1 where they lie below, else 0.",
        failure="no value where no payoff is claimed",
    ),
    Metric(
        name="replaced_calls_per_iteration",
        label="Calls replaced",
        unit="1/iteration",
        definition="Calls per steady iteration of the replaced ops while they fall back.",
    ),
)

_MEMORY = (
    size("eager_peak_memory_bytes", "Eager peak, same run", "Peak memory of eager's result of the same run."),
    ratio(
        "memory_ratio",
        "Memory vs eager",
        "Peak memory of eager over that of the backend: above 1 needs less.",
        failure="no value without eager's result of the same run and settings",
        threshold=0.05,
    ),
)

_STRUCTURE = (
    *_sides("graphs", "Programs", "Compiled programs"),
    *_sides("ops", "Operations", "Operations of the programs"),
    *_sides("fusions", "Fusions", "Fusions of the programs"),
    *_sides("flops", "FLOP", "Floating-point operations of the programs"),
    *_sides("bytes_accessed", "Bytes accessed", "Bytes that the programs read and write", "bytes"),
    count("changed_n", "Programs changed", "Programs of run B whose fingerprint does not occur in run A."),
)

_SERIES = (
    seconds("warm_up_s", "Warm-up", "Time of the first five iterations, in whole blocks, the first one included."),
    count("epoch", "Epoch", "Breaks that users marked before the result; latencies of two epochs are not compared."),
    count("streak_n", "In a row", "Number of newest outcomes of a series that are the same."),
    count("seen_n", "Runs with it", "Runs of the label that had the configuration."),
    count("missing_n", "Runs without it", "Runs of the label since the last one that had the configuration.", "lower"),
    count("runs_n", "Runs", "Runs behind the row."),
    count("processes_n", "Processes", "Processes of the result that the finding is about."),
)

_BREAK_EVEN = (
    seconds("baseline_time_to_steady_s", "Baseline's time to steady", "Time to steady of the baseline result."),
    count(
        "break_even_iterations",
        "Break-even",
        "Iterations after which the backend is ahead of the baseline, compile time included.",
        "lower",
    ),
    seconds("break_even_s", "Break-even time", "Time up to the break-even, compile time included."),
)

_CHANGES = (
    milliseconds("latency_before_s", "Before", "Median latency of the runs before the change, up to the one before."),
    milliseconds("latency_after_s", "After", "Median latency of the runs after the change, up to the next one."),
    Metric(
        name="change_ratio",
        label="Change",
        unit="x",
        direction="lower",
        threshold=0.05,
        definition="Latency after the change over latency before: above 1 is slower.",
    ),
    Metric(
        name="change_low", label="Change, low", unit="x", definition="Lower end of the 95 % interval of the change."
    ),
    Metric(
        name="change_high", label="Change, high", unit="x", definition="Upper end of the 95 % interval of the change."
    ),
    count("before_n", "Runs before", "Runs that the latency before the change rests on."),
    count("after_n", "Runs after", "Runs that the latency after the change rests on."),
    Metric(
        name="p_value",
        label="p",
        unit="",
        definition="Two-sided Mann-Whitney test of the runs before against those after the change.",
    ),
)

_MEAN_CHANGES = (
    ratio("geomean_before", "Geomean, before", "Geometric mean of the earlier run's speedups, over models of both."),
    ratio("geomean_after", "Geomean, after", "Geometric mean of the later run's speedups, over models of both."),
    ratio(
        "geomean_change",
        "Change of geomean",
        "Geometric mean of speedup after over speedup before: above 1 is better.",
        aggregation="geometric mean over results with a speedup in both runs",
        threshold=0.05,
    ),
    ratio("geomean_change_low", "Change, low", "Lower end of its 95 % interval over three or more results."),
    ratio("geomean_change_high", "Change, high", "Upper end of its 95 % interval over three or more results."),
    ratio("by_backend", "By the backend", "The backend's time before over after: its part of the change."),
    ratio("by_backend_low", "By the backend, low", "Lower end of its 95 % interval over three or more results."),
    ratio("by_backend_high", "By the backend, high", "Upper end of its 95 % interval over three or more results."),
    ratio("by_baseline", "By the baseline", "The baseline's time after over before: its part of the change."),
    ratio("by_baseline_low", "By the baseline, low", "Lower end of its 95 % interval over three or more results."),
    ratio("by_baseline_high", "By the baseline, high", "Upper end of its 95 % interval over three or more results."),
    count("only_before_n", "Only before", "Results with a speedup in the earlier run alone."),
    count("only_after_n", "Only after", "Results with a speedup in the later run alone."),
    count("otherwise_n", "Measured differently", "Results with a speedup in both runs that were not measured alike."),
)

_NOISE = (
    count("rounds_n", "Rounds", "Rounds that two processes have in common."),
    count("pairs_n", "Pairs", "Pairs of processes that measured the same."),
    Metric(
        name="log_ratio",
        label="Log ratio",
        unit="",
        definition="Median over rounds of ln of one process's time over that of another that measured the same.",
    ),
    Metric(
        name="round_variance",
        label="Variance, rounds",
        unit="",
        direction="lower",
        definition="Variance of the log ratio, estimated from the rounds of its two processes.",
        failure="no value with one round",
    ),
    Metric(
        name="floor",
        label="Noise floor",
        unit="",
        display_unit="%",
        scale=100.0,
        direction="lower",
        definition="The ratio minus one within which 95 % of identical pairs lie.",
    ),
    Metric(
        name="variance",
        label="Variance",
        unit="",
        direction="lower",
        definition="Variance of the log ratio of identical pairs, that of the default mixed in under five pairs.",
    ),
    count(
        "freedom",
        "Degrees of freedom",
        "Degrees of freedom of the variance: pairs, plus four for the default where it is mixed in.",
    ),
)

DERIVED = (
    *_RATES,
    *_FALLBACK,
    *_PAYOFF,
    *_MEMORY,
    *_STRUCTURE,
    *_SERIES,
    *_BREAK_EVEN,
    *_CHANGES,
    *_MEAN_CHANGES,
    *_NOISE,
)


def _rate(name: str, label: str, of: str, display: str, definition: str) -> Metric:
    """Return a rate, shown in thousand millions."""
    return Metric(
        name=name,
        label=label,
        unit=f"{of}/s",
        display_unit=f"{display}/s",
        scale=1e-9,
        direction="higher",
        definition=definition,
    )


OPERATORS = (
    milliseconds(
        "floor_s",
        "Empty sync",
        "Time of an empty call, cutting the graph and waiting included: the smallest time that can be measured.",
        failure="no value where it was not measured",
    ),
    milliseconds(
        "forward_s",
        "Forward",
        "Median time of the forward of a train call over the steady blocks, waited for alone.",
        failure="no value in eval, which is the forward",
    ),
    milliseconds(
        "backward_s",
        "Backward",
        "Median time of the backward of a train call over the steady blocks, waited for alone.",
        failure="no value in eval",
    ),
    ratio(
        "forward_speedup",
        "Forward speedup",
        "Forward time of the baseline over that of the backend; a ratio of medians without interval.",
        failure="no value without a speedup of the call, or over a baseline of another run",
    ),
    ratio(
        "backward_speedup",
        "Backward speedup",
        "Backward time of the baseline over that of the backend; a ratio of medians without interval.",
        failure="no value without a speedup of the call, or over a baseline of another run",
    ),
    count("operators_n", "Operators", "Operators of the model, each with its arguments, that the run has."),
    count("measured_n", "With a time", "Operators that have a time under the backend."),
    Metric(
        name="input_bytes",
        label="Input bytes",
        unit="bytes",
        display_unit="MiB",
        scale=2.0**-20,
        definition="Bytes of the tensors that are passed to a call, parameters of its module included. A call that "
        "needs all of them reads them at least once. Written bytes are not included.",
        failure="no value where it was not recorded",
    ),
    Metric(
        name="flops",
        label="FLOP",
        unit="FLOP",
        display_unit="MFLOP",
        scale=1e-6,
        definition="Floating-point operations of the matrix products and convolutions of a call, two per product, from "
        "the shapes in XLA's program of it; others are not counted.",
        failure="no value where there are none, or no XLA backend ran",
    ),
    _rate("bytes_per_s", "Input bytes per second", "bytes", "GB", "Input bytes over the latency."),
    _rate("flops_per_s", "FLOP per second", "FLOP", "GFLOP", "Floating-point operations of a call over its latency."),
    count("calls", "Calls", "Calls of the operator in one iteration of the model that it was recorded from."),
    milliseconds("calls_s", "Calls x time", "Calls in one iteration of the model, times the latency of one."),
    milliseconds(
        "model_latency_s",
        "Model's latency",
        "Latency of the model that the operators were recorded from, in the same run under the same backend.",
        failure="no value where the model did not run there",
    ),
    share(
        "model_share",
        "Share of the model",
        "Calls x time over the latency of the model under the same backend. A compiler fuses operators, so these "
        "shares can add up to more than 100 %.",
        "no value where the model did not run there",
    ),
)
