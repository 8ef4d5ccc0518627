"""Numbers of single operators: their floor, forward and backward, work and rates, and their part of a model."""

from __future__ import annotations

from store.metric import Metric, count, milliseconds, ratio, share


def _rate(name: str, label: str, of: str, shown: str, definition: str) -> Metric:
    """Return a rate, shown in thousand millions."""
    return Metric(
        name=name,
        label=label,
        unit=f"{of}/s",
        display_unit=f"{shown}/s",
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
        "Forward time of the baseline over the own one; a ratio of medians without interval.",
        failure="no value without a speedup of the call, or over a baseline of another run",
    ),
    ratio(
        "backward_speedup",
        "Backward speedup",
        "Backward time of the baseline over the own one; a ratio of medians without interval.",
        failure="no value without a speedup of the call, or over a baseline of another run",
    ),
    count("operators_n", "Operators", "Operators of the model, each with its arguments, that the run has."),
    count("measured_n", "With a time", "Operators that have a time under the backend."),
    Metric(
        name="input_bytes",
        label="Bytes given",
        unit="bytes",
        display_unit="MiB",
        scale=2.0**-20,
        definition="Bytes of the tensors that a call is given, parameters of its module included: a call reads them at "
        "least once where it needs all of them. What it writes is not in it.",
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
    _rate("bytes_per_s", "Bytes given per second", "bytes", "GB", "Bytes given over the latency."),
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
