"""Chance is taken out of a model before it is compared."""

import types

import pytest

from runner.verify.preparation import without_dropout

torch = pytest.importorskip("torch")


def changes(module, *inputs):
    """Tell whether two train-mode calls with different random streams differ."""
    module.train()
    torch.manual_seed(1)
    first = module(*inputs)
    torch.manual_seed(2)
    second = module(*inputs)
    return not torch.equal(first, second)


class Functional(torch.nn.Module):
    """Holds its probability itself, as attention layers do."""

    def __init__(self):
        super().__init__()
        self.attention_dropout = 0.5

    def forward(self, values):
        return torch.nn.functional.dropout(values, self.attention_dropout, self.training)


class Configured(torch.nn.Module):
    """Reads its configuration at each call."""

    def __init__(self):
        super().__init__()
        self.config = types.SimpleNamespace(hidden_dropout_prob=0.5, layer_norm_eps=1e-5)

    def forward(self, values):
        return torch.nn.functional.dropout(values, self.config.hidden_dropout_prob, self.training)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.nn.Sequential(torch.nn.Dropout(0.5)),
        lambda: torch.nn.AlphaDropout(0.5),
        Functional,
        Configured,
        lambda: torch.nn.TransformerEncoderLayer(8, 2, 8, dropout=0.5, batch_first=True),
        lambda: pytest.importorskip("timm.layers").DropPath(0.5),
        lambda: pytest.importorskip("torchvision.ops").StochasticDepth(0.5, "row"),
    ],
)
def test_dropout_of_every_kind_is_off(make):
    module, values = make(), torch.ones(4, 4, 8)
    assert changes(module, values)
    without_dropout(module)
    assert not changes(module, values)


@pytest.mark.parametrize(("probability", "ops"), [(0.5, ["relu", "relu"]), (0.0, ["relu", "clone", "relu"])])
def test_a_dropout_layer_is_no_part_of_the_captured_program(probability, ops):
    """Dynamo makes a copy of one whose probability is 0; where it was so from the start, it is timed and stays."""
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    module = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Dropout(probability), torch.nn.ReLU())
    without_dropout(module)
    found = []

    def capture(graph, _):
        found.extend(node.target.name().partition("::")[2] for node in graph.graph.nodes if node.op == "call_function")
        return make_boxed_func(graph.forward)

    compiled = torch.compile(module, backend=aot_autograd(fw_compiler=capture), fullgraph=True)
    assert compiled(torch.ones(4)).tolist() == [1.0] * 4
    assert [op.removesuffix(".default") for op in found] == ops
    torch._dynamo.reset()


def test_other_numbers_stay():
    module = Configured()
    norm = torch.nn.LayerNorm(4, eps=1e-3)
    without_dropout(torch.nn.Sequential(module, norm))
    assert (module.config.layer_norm_eps, norm.eps) == (1e-5, 1e-3)
