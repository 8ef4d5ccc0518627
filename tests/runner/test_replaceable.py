"""Which fallback ops can be replaced, and what a plan with replaced ones needs of its run."""

import pytest
from runner_makers import entry, machine, settings

from runner.backends import openxla
from runner.environments.machine import detect
from runner.plan import protocol
from runner.plan.local_request import cannot_replace
from store.errors import UsageError

OPS = {"bucketize.Tensor": True, "scatter_reduce.two": False, "nonzero": False, "grid_sampler_2d": True}


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr("runner.environments.machine.Machine.aten_ops", lambda _: OPS)
    return machine()


@pytest.mark.parametrize("ops", [("bucketize.Tensor",), ("nonzero",), ("grid_sampler_2d", "masked_select")])
def test_an_op_with_a_decomposition_or_a_lowering_on_request_can_be_replaced(here, ops):
    assert cannot_replace(ops, here) is None


@pytest.mark.parametrize(
    ("op", "says"),
    [
        ("scatter_reduce.two", "no decomposition of scatter_reduce.two, and PyTorch/XLA no opt-in lowering"),
        ("bucketize", "torch has no op bucketize; did you mean bucketize.Tensor?"),
        ("grid_sample_2d", "did you mean grid_sampler_2d?"),
        ("zzz", "torch has no op zzz"),
        (
            "_local_scalar_dense",
            "reads a value on the host, so there is nothing to lower; change the code that reads it",
        ),
    ],
)
def test_what_cannot_be_replaced_has_its_reason(here, op, says):
    assert says in cannot_replace(("nonzero", op), here)


def test_where_torch_cannot_be_asked_nothing_is_promised(monkeypatch):
    monkeypatch.setattr("runner.environments.machine.Machine.aten_ops", lambda _: {})
    assert "cannot be checked" in cannot_replace(("bucketize.Tensor",), machine())


@pytest.mark.skipif("torch" not in detect().packages, reason="torch is needed")
def test_torch_itself_tells_which_ops_it_can_decompose():
    found = detect().aten_ops()
    wanted = ("upsample_bicubic2d", "bucketize.Tensor", "nonzero", "scatter_reduce.two")
    assert [found[op] for op in wanted] == [True, True, False, False]


def test_the_lowerings_that_a_user_has_on_stay_on(monkeypatch):
    monkeypatch.setenv(openxla.OPT_IN_VARIABLE, "masked_select:nonzero")
    assert openxla.opt_in_variables(["bucketize.Tensor"]) == {}
    assert openxla.opt_in_variables(["nonzero", "masked_scatter"]) == {
        openxla.OPT_IN_VARIABLE: "masked_select:nonzero:masked_scatter"
    }


REPLACED = entry("openxla+lazytensor", without_fallback=("nonzero",))


def test_a_run_with_a_replaced_op_is_no_benchmark_and_verifies_its_answers():
    """Whichever way the experiment came into the plan: by a flag, a plan file or a job."""
    found = protocol.payoff_settings(settings(), [entry("openxla+lazytensor"), REPLACED])
    assert (found.purpose, found.verify) == ("payoff", "with")
    assert protocol.payoff_settings(settings(), [entry("openxla+lazytensor")]) == settings()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"purpose": "calibration"}, "not supported in a calibration"),
        ({"verify": "only"}, "use --verify instead of --verify-only"),
        ({"until_verdict": True}, "needs verdicts, which"),
    ],
)
def test_a_run_for_something_else_is_refused(changes, says):
    with pytest.raises(UsageError, match=says):
        protocol.payoff_settings(settings(**changes), [REPLACED])


def test_where_nothing_can_be_replaced_the_command_says_why_and_measures_nothing():
    skipped = entry("openxla+lazytensor", skip="no decomposition of sort", without_fallback=("sort",))
    with pytest.raises(UsageError, match="no decomposition of sort"):
        protocol.payoff_settings(settings(), [entry("openxla+lazytensor"), skipped])
    assert protocol.payoff_settings(settings(), [REPLACED, skipped]).purpose == "payoff"
