"""One iteration of a model, without a compiler."""

import msgspec
import pytest
from runner_makers import config

from runner.backends import dynamo, steps
from runner.workload import Workload
from store.record import Operator

torch = pytest.importorskip("torch")
CPU = torch.device("cpu")
OPTIMIZERS = (
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
)
"""Classes of `torch.optim` that step any dense model without a closure."""


def workload(module=None, args=None, **kwargs):
    return Workload(
        module=module or torch.nn.Linear(2, 2, bias=False),
        args=(torch.ones(1, 2),) if args is None else args,
        kwargs=kwargs,
        batch_size=1,
        loss=lambda output: output.sum(),
        loss_name="sum",
    )


class Tied(torch.nn.Module):
    """Three owners of one parameter."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
        self.inner = torch.nn.Sequential(torch.nn.Linear(2, 2))
        self.second.weight = self.inner[0].weight = self.first.weight


def test_shared_parameters_stay_shared_on_another_device():
    """Else a tied model has more parameters on XLA than under eager: another model."""
    work = workload(Tied())
    steps.move(work, torch.device("meta"))
    tied = work.module
    assert tied.first.weight.device.type == "meta"
    assert tied.first.weight is tied.second.weight is tied.inner[0].weight
    assert tied.first.bias is not tied.second.bias
    assert len(list(tied.parameters())) == 4


def test_inputs_and_a_module_loss_move_along():
    work = workload(args=([torch.ones(2)], 3), mask={"a": torch.ones(1)})
    work.loss = torch.nn.Linear(2, 1)
    steps.move(work, torch.device("meta"))
    assert (work.args[0][0].device.type, work.args[1], work.kwargs["mask"]["a"].device.type) == ("meta", 3, "meta")
    assert work.loss.weight.device.type == "meta"


def test_the_tensors_of_an_operator_are_those_of_its_call_but_for_the_reference():
    given = (torch.ones(2, dtype=torch.bfloat16), torch.ones(2))
    for dtype, wanted in (("bfloat16+float32", [torch.bfloat16, torch.float32]), ("float64", [torch.float64] * 2)):
        work = workload(args=given)
        steps.cast(work, config(dtype=dtype, operator=Operator(name="torch.add", input={})))
        assert [tensor.dtype for tensor in work.args] == wanted


@pytest.mark.parametrize(("dtype", "kept"), [("float32", True), ("amp", True), ("bfloat16", False), ("float16", False)])
def test_casting_leaves_integers_alone(dtype, kept):
    """They are indices."""
    work = workload(args=(torch.ones(2), torch.ones(2, dtype=torch.int64)), flag=torch.ones(1, dtype=torch.bool))
    steps.cast(work, config(dtype=dtype))
    wanted = torch.float32 if kept else getattr(torch, dtype)
    assert [tensor.dtype for tensor in work.args] == [wanted, torch.int64]
    assert (work.module.weight.dtype, work.kwargs["flag"].dtype) == (wanted, torch.bool)


def test_each_iteration_has_inputs_of_its_own():
    """What one does to them in place, the next does not see."""
    work = workload(args=(torch.ones(2), {"deep": [torch.zeros(1)]}), number=3)
    first, second = steps.fresh_inputs(work, 2)
    first[0][0].add_(5)
    first[0][1]["deep"][0].add_(5)
    assert torch.equal(second[0][0], torch.ones(2))
    assert torch.equal(second[0][1]["deep"][0], torch.zeros(1))
    assert torch.equal(work.args[0], torch.ones(2))
    assert second[1] == {"number": 3}


def test_eval_runs_the_module_in_eval_mode():
    work = workload(torch.nn.Dropout(0.9))
    step = steps.make_step(work, config(), CPU)
    assert torch.equal(step(*steps.fresh_inputs(work, 1)[0]), torch.ones(1, 2))
    assert not work.module.training


def test_train_returns_the_loss_and_leaves_the_gradients_of_one_iteration():
    """They are not summed over iterations; without an optimizer the weights stay."""
    work = workload()
    before = work.module.weight.detach().clone()
    step = steps.make_step(work, config(test="train"), CPU)
    for args, kwargs in steps.fresh_inputs(work, 3):
        loss = step(args, kwargs)
    assert torch.allclose(loss, before.sum())
    assert torch.equal(work.module.weight.grad, torch.ones(2, 2))
    assert torch.equal(work.module.weight, before)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_requested_optimizer_steps(optimizer):
    work = workload()
    before = work.module.weight.detach().clone()
    step = steps.make_step(work, config(test="train", optimizer=optimizer), CPU)
    step(work.args, work.kwargs)
    assert torch.allclose(before - work.module.weight, torch.full((2, 2), 0.01), atol=1e-5)


def test_amp_computes_in_half_precision_and_keeps_the_weights():
    work = workload()
    step = steps.make_step(work, config(dtype="amp"), CPU)
    assert step(work.args, work.kwargs).dtype == torch.bfloat16
    assert work.module.weight.dtype == torch.float32


def test_the_dtype_of_amp_can_be_asked_for():
    work = workload()
    step = steps.make_step(work, config(dtype="amp", amp_dtype="float16"), CPU)
    assert step(work.args, work.kwargs).dtype == torch.float16


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_offered_optimizer_is_torchs_and_steps(name):
    work = workload()
    before = work.module.weight.detach().clone()
    step = steps.make_step(work, config(test="train", optimizer=name), CPU)
    step(work.args, work.kwargs)
    assert not torch.equal(work.module.weight, before)


def test_no_optimizer_is_left_out_without_a_reason():
    """Those left out need a closure, sparse gradients, or matrices only; optimizers of newer torch may come."""
    there = {name for name in dir(torch.optim) if isinstance(getattr(torch.optim, name), type)}
    assert {"LBFGS", "SparseAdam", "Optimizer"} <= there - set(OPTIMIZERS)
    assert there - set(OPTIMIZERS) <= {"LBFGS", "SparseAdam", "Optimizer", "Muon"}


def test_the_full_output_of_train_is_prediction_loss_and_gradients_by_name():
    work = workload()
    step = steps.make_step(work, config(test="train", collect_full_output=True), CPU)
    prediction, loss, gradients = step(work.args, work.kwargs)
    assert torch.equal(prediction, work.module(*work.args))
    assert torch.allclose(loss, prediction.sum())
    assert list(gradients) == ["weight"]
    assert torch.equal(gradients["weight"], torch.ones(2, 2))


@pytest.mark.parametrize(
    ("asked", "tf32", "found"),
    [
        ("highest", True, "highest"),
        ("medium", True, "medium"),
        ("default", True, "default"),
        ("high", False, "highest"),
    ],
)
def test_without_tf32_products_are_exact_whatever_was_chosen(asked, tf32, found):
    assert steps.precision(config(matmul_precision=asked, disable_tf32=not tf32)) == found


class Order:
    """A runtime that writes down what it is asked for."""

    def __init__(self):
        self.asked = []

    def to_device(self, inputs):
        self.asked.append("to device")
        return inputs

    def after_iteration(self):
        self.asked.append("cut")

    def to_host(self, output):
        self.asked.append("to host")
        return output


def test_the_graph_is_cut_before_the_result_is_fetched():
    """Else each lazy tensor of it would be computed by a program of its own."""
    runtime = Order()

    def step(args, kwargs):
        runtime.asked.append("step")
        return args, kwargs

    assert steps.with_transfers(step, runtime)((1,), {"a": 2}) == ((1,), {"a": 2})
    assert runtime.asked == ["to device", "step", "cut", "to host"]


@pytest.mark.parametrize("optimizer", [None, "SGD"])
def test_in_train_one_graph_holds_forward_and_loss(optimizer):
    """Dynamo takes no backward() into a graph; around it the step does what it does without."""
    dynamo.forget()
    outcomes = []
    usual = config(test="train", optimizer=optimizer, collect_full_output=True)
    for asked in (usual, msgspec.structs.replace(usual, dynamo="eager", fullgraph=True)):
        torch.manual_seed(1)
        work = workload()
        step = steps.make_step(work, asked, CPU)
        step = step if asked.dynamo is None else dynamo.compile_step(step, "eager", asked)
        with torch.enable_grad():
            first, second = (step(work.args, work.kwargs) for _ in range(2))
        outcomes.append((first[1].detach(), second[1].detach(), second[2]["weight"].clone()))
    torch.testing.assert_close(outcomes[0], outcomes[1])
    assert dynamo.graphs() == 1
    assert dynamo.graph_breaks() == []


def test_a_break_in_the_forward_of_a_train_step_fails_where_one_graph_is_asked_for():
    class Broken(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)

        def forward(self, values):
            torch._dynamo.graph_break()
            return self.linear(values)

    asked = config(dynamo="eager", fullgraph=True, test="train")
    work = workload(Broken())
    step = dynamo.compile_step(steps.make_step(work, asked, CPU), "eager", asked)
    with torch.enable_grad(), pytest.raises(torch._dynamo.exc.Unsupported):
        step(work.args, work.kwargs)
