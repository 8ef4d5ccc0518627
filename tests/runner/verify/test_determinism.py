"""Chance is taken out of a model before it is compared."""

from __future__ import annotations

import types

import pytest

from runner.verify.determinism import without_dropout

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


def test_other_numbers_stay():
    module = Configured()
    norm = torch.nn.LayerNorm(4, eps=1e-3)
    without_dropout(torch.nn.Sequential(module, norm))
    assert (module.config.layer_norm_eps, norm.eps) == (1e-5, 1e-3)
