"""Suite `timm_models` names models that timm has, and calibrates those that need it."""

import pytest

from runner.suites import get_suite
from runner.suites.timm_models import _data
from tests.needs import need
from tests.tiers import first_of

need("timm")
torch = pytest.importorskip("torch")


def _models():
    return _data().models


def test_every_listed_model_exists():
    """Under the name that timm has for it today, with or without a tag."""
    import timm

    created = {(model.create or name).partition(".")[0] for name, model in _models().items()}
    assert created <= set(timm.list_models())


@pytest.mark.parametrize("accelerator", ["cpu", "cuda"])
def test_every_listed_model_has_a_batch_size(accelerator):
    from runner.suites.data import batch_size

    for model in _models().values():
        for test in ("eval", "train"):
            assert batch_size(None, model.batch_size, accelerator, test) >= 1


@pytest.mark.parametrize("name", first_of(["lcnet_035", "mobilenetv3_large_100"]))
def test_calibration_gives_eval_logits_of_ordinary_size(name, request_for):
    workload = get_suite("timm_models").build(request_for(name))
    with torch.no_grad():
        spread = float(workload.module(*workload.args).std())
    assert 1e-2 < spread < 1e2


def test_a_smaller_cpu_input_is_used_on_the_cpu_only(request_for):
    suite = get_suite("timm_models")
    requests = [request_for("dm_nfnet_f0", accelerator=name, batch_size=1) for name in ("cpu", "cuda")]
    with torch.device("meta"):  # its 70 million weights are no matter here
        shapes = {each.accelerator: tuple(suite.build(each).args[0].shape) for each in requests}
    assert shapes == {"cpu": (1, 3, 128, 128), "cuda": (1, 3, 192, 192)}


def test_calibration_keeps_momentum_and_mode():
    from runner.suites.building import calibrate

    module = torch.nn.Sequential(torch.nn.BatchNorm1d(3, momentum=0.25)).eval()
    rows = torch.randn(64, 3) * 5 + 2
    calibrate(module, rows)
    assert module[0].momentum == 0.25
    assert not module.training
    assert torch.allclose(module[0].running_mean, rows.mean(0), atol=1e-5)


def test_a_layer_that_sees_one_value_per_channel_keeps_its_statistics():
    """As BatchNorm1d at batch 1, which cannot train; the others take those of the batch."""
    from runner.suites.building import calibrate

    flat = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.BatchNorm1d(3))
    module = torch.nn.Sequential(torch.nn.BatchNorm2d(3), flat).eval()
    image = torch.randn(1, 3, 8, 8) * 5 + 2
    assert calibrate(module, image) is None
    assert torch.allclose(module[0].running_mean, image.mean((0, 2, 3)), atol=1e-5)
    assert (flat[2].running_mean.tolist(), flat[2].running_var.tolist()) == ([0.0] * 3, [1.0] * 3)
    assert not any(part.training for part in module.modules())


def test_a_model_that_has_no_train_mode_keeps_its_statistics_and_says_why():
    from runner.suites.building import calibrate

    class EvalOnly(torch.nn.BatchNorm1d):
        def forward(self, values):
            if self.training:
                raise ValueError("only for inference")
            return super().forward(values)

    module = EvalOnly(3)
    module.running_mean.fill_(7)
    assert "ValueError: only for inference" in calibrate(module.eval(), torch.randn(4, 3))
    assert module.running_mean.tolist() == [7.0] * 3
    assert not module.training


@pytest.mark.slow
def test_levit_at_batch_1_builds(request_for):
    workload = get_suite("timm_models").build(request_for("levit_128", batch_size=1))
    with torch.no_grad():
        assert torch.isfinite(workload.module(*workload.args)).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", first_of(["vit_base_patch16_siglip_256", "vit_base_patch14_dinov2.lvd142m"]))
def test_a_feature_extractor_trains_against_its_features(name, request_for):
    workload = get_suite("timm_models").build(request_for(name, "train", batch_size=1))
    with torch.no_grad():
        assert torch.isfinite(workload.loss(workload.module(*workload.args)))


def test_a_head_that_starts_at_zero_gets_weights(request_for):
    """Else the logits are zero on every backend, and nothing could be told apart."""
    workload = get_suite("timm_models").build(request_for("resmlp_12_224", batch_size=1))
    with torch.no_grad():
        assert float(workload.module(*workload.args).std()) > 1e-3


def test_pretrained_weights_that_cannot_be_had_are_random_and_said(request_for, monkeypatch, same_tensors):
    """The same random weights as without asking, so that a machine without a network measures the same."""
    import timm

    real = timm.create_model

    def offline(name, *, pretrained=False, **words):
        if pretrained:
            torch.rand(3)
            raise ConnectionError("no route to the hub\nand a page of advice")
        return real(name, pretrained=False, **words)

    monkeypatch.setattr(timm, "create_model", offline)
    suite = get_suite("timm_models")
    asked, plain = suite.build(request_for("test_vit2", weights="pretrained")), suite.build(request_for("test_vit2"))
    assert asked.weights == "random"
    assert asked.notes == [
        "test_vit2: pretrained weights could not be loaded (ConnectionError: no route to the hub): they are random"
    ]
    assert (plain.weights, plain.notes) == ("random", [])
    assert same_tensors(asked.module.state_dict(), plain.module.state_dict())


def test_pretrained_weights_that_are_there_are_used(request_for, monkeypatch):
    import timm

    real = timm.create_model
    monkeypatch.setattr(
        timm, "create_model", lambda name, pretrained=False: real(name, num_classes=7 if pretrained else 3)
    )
    workload = get_suite("timm_models").build(request_for("test_vit2", weights="pretrained"))
    assert (workload.weights, workload.notes, workload.module.num_classes) == ("pretrained", [], 7)
