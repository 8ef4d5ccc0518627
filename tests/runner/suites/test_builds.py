"""What every suite's build promises: determinism in the seed, the test's mode, a finite scalar."""

import pytest

from runner.suites import get_suite, suite_names
from runner.suites.base import SuiteContext, UnknownLossError, UnknownModelError
from tests.tiers import first_of

torch = pytest.importorskip("torch")

LOSSES = {"dummy": "mean_square", "timm_models": "cross_entropy", "huggingface": "own"}
"""Suites whose default loss is that of another harness."""
ELSEWHERE = {"torchbench", "operators"}
"""Suites whose models need files: test_torchbench.py, operators/."""
OTHERS = [name for name in suite_names() if name not in LOSSES.keys() | ELSEWHERE]
SMALL = [
    "dummy/dummy",
    "timm_models/test_vit2",
    "huggingface/BertTiny",
    *(f"{name}/{get_suite(name).models(SuiteContext())[0].name}" for name in OTHERS),
    "dummy/dummy_nonzero",
    "timm_models/lcnet_035",
    "huggingface/SwitchTransformer_tiny",
    "huggingface/LlamaForCausalLM_tiny",
]
"""A model of each suite, whose build is the suite's, first; further kinds of models are thorough."""


@pytest.fixture(params=first_of(SMALL, 3 + len(OTHERS)))
def suite_and_model(request):
    suite, model = request.param.split("/")
    pytest.importorskip({"timm_models": "timm", "huggingface": "transformers"}.get(suite, "torch"))
    return get_suite(suite), model


@pytest.mark.parametrize("test", ["eval", "train"])
def test_equal_seeds_give_equal_weights_and_inputs(suite_and_model, request_for, same_tensors, test):
    suite, model = suite_and_model
    first, second = (suite.build(request_for(model, test)) for _ in range(2))
    assert same_tensors(first.module.state_dict(), second.module.state_dict())
    assert same_tensors((first.args, first.kwargs), (second.args, second.kwargs))


def test_another_seed_gives_other_weights(suite_and_model, request_for, same_tensors):
    suite, model = suite_and_model
    first, second = (suite.build(request_for(model, seed=seed)) for seed in (1, 2))
    assert not same_tensors(list(first.module.parameters()), list(second.module.parameters()))


@pytest.mark.parametrize("test", ["eval", "train"])
def test_a_step_gives_a_finite_scalar_in_the_right_mode(suite_and_model, request_for, step, test):
    suite, model = suite_and_model
    workload = suite.build(request_for(model, test))
    scalar = step(workload, test)
    assert workload.module.training == (test == "train")
    assert scalar.shape == ()
    assert torch.isfinite(scalar)


def test_training_reaches_the_parameters(suite_and_model, request_for, step):
    suite, model = suite_and_model
    workload = suite.build(request_for(model, "train"))
    step(workload, "train")
    gradients = [parameter.grad for parameter in workload.module.parameters() if parameter.grad is not None]
    assert max(float(gradient.abs().max()) for gradient in gradients) > 1e-6


def test_everything_is_float32_on_the_cpu(suite_and_model, request_for):
    suite, model = suite_and_model
    workload = suite.build(request_for(model))
    tensors = [*workload.module.parameters(), *workload.args, *workload.kwargs.values()]
    assert {tensor.device.type for tensor in tensors} == {"cpu"}
    assert {tensor.dtype for tensor in tensors if tensor.is_floating_point()} == {torch.float32}
    assert all(parameter.requires_grad for parameter in workload.module.parameters())


def test_the_requested_batch_size_is_the_resolved_one(suite_and_model, request_for):
    suite, model = suite_and_model
    workload = suite.build(request_for(model, batch_size=3))
    assert workload.batch_size == 3
    assert {len(value) for value in (*workload.args, *workload.kwargs.values())} == {3}


def test_the_first_offered_loss_is_the_default_and_another_can_be_asked_for(suite_and_model, request_for, step):
    suite, model = suite_and_model
    default = suite.build(request_for(model, "train")).loss_name
    assert default == LOSSES.get(suite.name, default)
    workload = suite.build(request_for(model, "train", loss="sum"))
    assert workload.loss_name == "sum"
    assert torch.isfinite(step(workload, "train"))


def test_unknown_names_are_refused(suite_and_model, request_for):
    suite, model = suite_and_model
    with pytest.raises(UnknownModelError, match="no model 'nope'"):
        suite.build(request_for("nope"))
    with pytest.raises(UnknownLossError, match="choose one of"):
        suite.build(request_for(model, loss="nope"))
