"""Suite `timm_models` names models that timm has, and calibrates those that need it."""

from __future__ import annotations

import pytest

from runner.suites import get_suite
from runner.suites.base import SuiteContext
from runner.suites.timm_models import _models

timm = pytest.importorskip("timm")
torch = pytest.importorskip("torch")


def test_every_listed_model_exists():
    assert set(_models()) <= set(timm.list_models())


@pytest.mark.parametrize("accelerator", ["cpu", "cuda"])
def test_every_listed_model_has_a_batch_size(accelerator):
    from runner.suites.data import batch_size

    for model in _models().values():
        for test in ("eval", "train"):
            assert batch_size(None, model.batch_size, accelerator, test) >= 1


def test_skips_have_reasons():
    for info in get_suite("timm_models").models(SuiteContext()):
        assert all(reason.strip() for reason in info.skips.values())


@pytest.mark.parametrize("name", ["lcnet_035", "mobilenetv3_large_100"])
def test_calibration_gives_eval_logits_of_ordinary_size(name, request_for):
    workload = get_suite("timm_models").build(request_for(name))
    with torch.no_grad():
        spread = float(workload.module(*workload.args).std())
    assert 1e-2 < spread < 1e2


def test_a_smaller_cpu_input_is_used_on_the_cpu_only(request_for):
    suite = get_suite("timm_models")
    shapes = {
        accelerator: tuple(suite.build(request_for("dm_nfnet_f0", accelerator=accelerator, batch_size=1)).args[0].shape)
        for accelerator in ("cpu", "cuda")
    }
    assert shapes == {"cpu": (1, 3, 128, 128), "cuda": (1, 3, 192, 192)}


def test_calibration_keeps_momentum_and_mode():
    from runner.suites.batchnorm import calibrate

    module = torch.nn.Sequential(torch.nn.BatchNorm1d(3, momentum=0.25)).eval()
    rows = torch.randn(64, 3) * 5 + 2
    calibrate(module, rows)
    assert module[0].momentum == 0.25
    assert not module.training
    assert torch.allclose(module[0].running_mean, rows.mean(0), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vit_base_patch16_siglip_256", "vit_base_patch14_dinov2"])
def test_a_feature_extractor_trains_against_its_features(name, request_for):
    workload = get_suite("timm_models").build(request_for(name, "train"))
    with torch.no_grad():
        assert torch.isfinite(workload.loss(workload.module(*workload.args)))
