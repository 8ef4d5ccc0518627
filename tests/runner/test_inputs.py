"""What each iteration is called with."""

import pytest
from runner_makers import config, settings

from runner.messages import Load
from runner.process.timed_step import Inputs, NoBatchDimension, TimedStep
from runner.workload import Workload

torch = pytest.importorskip("torch")


class Runtime:
    """Says what it was asked to bring to the device."""

    def __init__(self):
        self.brought = []

    def to_device(self, inputs):
        self.brought.append(inputs)
        return inputs


def workload(*args, batch_size=2, **kwargs):
    return Workload(
        module=torch.nn.Identity(),
        args=args,
        kwargs=kwargs,
        batch_size=batch_size,
        loss=torch.sum,
        loss_name="sum",
    )


def inputs(work, seed=1, **changes):
    return Inputs(work, config(**changes), seed)


def test_iterations_see_copies_of_the_models_own_inputs():
    work, runtime = workload(torch.ones(2)), Runtime()
    first, second = inputs(work).fresh(2, runtime)
    first[0][0].zero_()
    assert torch.equal(second[0][0], torch.ones(2))
    assert runtime.brought == []


def test_randomized_floating_inputs_are_new_in_each_iteration_and_each_block():
    """Of any structure and precision; integers, flags and what is no tensor stay."""
    work = workload(
        {"deep": (torch.zeros(3, dtype=torch.bfloat16), [torch.zeros(2, dtype=torch.float16)])},
        7,
        index=torch.arange(3),
        mask=torch.tensor([True, False]),
    )
    runtime = Runtime()
    made = inputs(work, randomize_input=True)
    seen = [*made.fresh(2, runtime), *made.fresh(2, runtime)]
    halves = [args[0]["deep"][0] for args, _ in seen]
    assert {each.dtype for each in halves} == {torch.bfloat16}
    assert len({tuple(each.tolist()) for each in halves}) == 4
    assert seen[0][0][0]["deep"][1][0].dtype == torch.float16
    assert all(args[1] == 7 and kwargs["index"].tolist() == [0, 1, 2] for args, kwargs in seen)
    assert all(kwargs["mask"].tolist() == [True, False] for _, kwargs in seen)
    assert len(runtime.brought) == 4


def test_every_backend_draws_the_same_sequence():
    """Else two of them would be measured on different inputs."""

    def drawn(seed):
        made = inputs(workload(torch.zeros(3)), seed=seed, randomize_input=True)
        torch.manual_seed(torch.randint(1000, ()).item())
        return [args[0].tolist() for args, _ in made.fresh(3, Runtime())]

    assert drawn(5) == drawn(5)
    assert drawn(5) != drawn(6)


def test_what_the_iteration_brings_itself_stays_on_the_host():
    work, runtime = workload(torch.ones(2)), Runtime()
    made = inputs(work, include_transfers=True)
    work.args = (torch.ones(2, device="meta"),)
    ((args, _),) = made.fresh(1, runtime)
    assert args[0].device.type == "cpu"
    assert runtime.brought == []


def test_the_batch_is_marked_on_every_copy_and_nothing_else():
    """Copies do not inherit marks."""
    work = workload(torch.ones(2, 3), torch.ones(3, 2), mask=torch.ones(2, dtype=torch.bool))
    made = inputs(work, dynamic_shapes=True, dynamic_batch_only=True)
    for args, kwargs in made.fresh(2, Runtime()):
        assert [marks(tensor) for tensor in (*args, kwargs["mask"])] == [{0}, None, {0}]


def marks(tensor):
    return getattr(tensor, "_dynamo_weak_dynamic_indices", None)


def test_the_batch_alone_becomes_a_symbol():
    """As dynamo captures it: the first dimension of a batch is one, the other is a number."""
    captured = []

    def capture(graph, example):
        del example
        found = [node.meta["example_value"] for node in graph.graph.find_nodes(op="placeholder")]
        captured.extend(tuple(value.shape) for value in found if isinstance(value, torch.Tensor))
        return graph.forward

    work = workload(torch.ones(6, 3), batch_size=6)
    ((args, _),) = inputs(work, dynamic_shapes=True, dynamic_batch_only=True).fresh(1, Runtime())
    torch._dynamo.reset()
    torch.compile(lambda values: values * 2, backend=capture, dynamic=None)(*args)
    ((batch, features),) = captured
    assert isinstance(batch, torch.SymInt)
    assert features == 3


@pytest.mark.parametrize(
    ("size", "says"),
    [(None, "does not know the batch size of dummy"), (1, "a batch of 1 cannot be dynamic"), (5, "no input of dummy")],
)
def test_what_has_no_batch_dimension_is_one_sentence(size, says):
    work = workload(torch.ones(2, 3), batch_size=size)
    with pytest.raises(NoBatchDimension, match=says):
        inputs(work, dynamic_shapes=True, dynamic_batch_only=True)


def test_the_largest_seed_that_the_flag_takes_seeds_every_stream():
    """NumPy's own seeds end at 2³² - 1."""
    numpy = pytest.importorskip("numpy")
    load = Load(
        config=config(), settings=settings(seed=2**63 - 1), batch_size=None, torchbench_dir=None, requested_at=0.0
    )
    step, drawn = TimedStep(load), []
    for _ in range(2):
        step.seed_host()
        drawn.append((float(torch.rand(1)), numpy.random.random_sample()))
    assert drawn[0] == drawn[1]
