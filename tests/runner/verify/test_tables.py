"""Tolerances, judges, batch sizes and skips come from the tables; the command line goes first."""

import pytest
from runner_makers import config, settings

from runner.verify.tables import criteria, deviations, tables


def of(suite, model="m", test="eval", backend="inductor", chosen=None, **changes):
    return criteria(config(backend, model, suite_name=suite, test=test, **changes), settings(**(chosen or {})))


@pytest.mark.parametrize(
    ("suite", "model", "test", "changes", "tolerance"),
    [
        ("torchbench", "alexnet", "eval", {}, 1e-4),
        ("torchbench", "alexnet", "train", {}, 1e-4),
        ("torchbench", "alexnet", "train", {"accelerator": "cuda"}, 1e-3),
        ("torchbench", "yolov3", "train", {"accelerator": "cuda"}, 8e-2),
        ("torchbench", "yolov3", "eval", {"accelerator": "cuda"}, 1e-4),
        ("torchbench", "alexnet", "eval", {"dtype": "amp"}, 1e-3),
        ("torchbench", "alexnet", "eval", {"dtype": "bfloat16"}, 1e-4),
        ("torchbench", "drq", "eval", {"dtype": "bfloat16"}, 1e-2),
        ("torchbench", "drq", "eval", {"dtype": "float16"}, 1e-2),
        ("torchbench", "mobilenet_v2", "eval", {"freezing": True}, 8e-2),
        ("huggingface", "BertTiny", "eval", {}, 1e-3),
        ("huggingface", "BertTiny", "train", {}, 1e-2),
        ("huggingface", "MT5ForConditionalGeneration", "train", {}, 2e-2),
        ("huggingface", "GPT2ForSequenceClassification", "eval", {}, 5e-3),
        ("huggingface", "GPT2ForSequenceClassification", "eval", {"accelerator": "cuda"}, 4e-3),
        ("timm_models", "resnet18", "eval", {}, 1e-3),
        ("timm_models", "resnet18", "train", {}, 1e-2),
        ("timm_models", "inception_v3", "train", {}, 4e-2),
        ("timm_models", "beit_base_patch16_224", "train", {}, 16e-2),
        ("dummy", "dummy", "train", {}, 1e-4),
        ("a_suite_of_ones_own", "m", "eval", {"dtype": "float16"}, 1e-3),
    ],
)
def test_tolerance(suite, model, test, changes, tolerance):
    assert of(suite, model, test, **changes).tolerance == pytest.approx(tolerance)


def test_the_command_line_goes_before_the_tables():
    assert of("torchbench", chosen={"tolerance": 0.5}).tolerance == 0.5
    assert not of("torchbench").cosine
    assert of("torchbench", chosen={"cosine": True}).cosine


def test_every_suite_ends_with_an_entry_that_fits_everything():
    """Else a configuration would have no tolerance."""
    for name, table in tables().items():
        last = table.tolerances[-1]
        assert (last.models, last.tests, last.dtypes, last.accelerators, last.freezing) == (None,) * 5, name


def test_every_exception_has_a_reason():
    for table in tables().values():
        assert all(entry.reason.strip() for entry in table.tolerances)
        for named in (table.cosine, table.larger_multiplier, table.skip, table.skip_train, table.non_deterministic):
            assert all(reason.strip() for reason in named.values())
    assert all(each.reason.strip() for each in deviations())


@pytest.mark.parametrize(
    ("suite", "model", "test", "least", "most"),
    [
        ("torchbench", "alexnet", "eval", 1, 4),
        ("torchbench", "pytorch_unet", "eval", 1, 2),
        ("huggingface", "BertTiny", "eval", 1, 1),
        ("timm_models", "resnet18", "eval", 1, 8),
        ("timm_models", "resnet18", "train", 2, 8),
    ],
)
def test_samples(suite, model, test, least, most):
    """Where the timed batch cannot be compared; in train enough for BatchNorm."""
    found = of(suite, model, test)
    assert (found.least_samples, found.most_samples) == (least, most)


def test_skips():
    assert "too large" in of("torchbench", "maml").skip
    assert of("torchbench", "pytorch_unet").skip is None
    assert "deterministic" in of("torchbench", "pytorch_unet", "train").skip


def test_a_model_known_to_vary_has_a_note():
    assert of("torchbench", "mobilenet_v3_large").notes[0].startswith("known to be non-deterministic")


def test_deviations_are_the_backends():
    assert [each.tolerance for each in of("dummy", backend="openxla+dynamo").deviations] == [0.5]
    assert of("dummy", backend="inductor").deviations == ()
    (known,) = of("dummy", backend="openxla+lazytensor").deviations
    assert known.names("buffer.layer1.0.bn1.running_var")
    assert known.names("buffer.running_var")
    assert not known.names("grad.running_var")


def test_larger_multiplier_and_masks():
    assert of("timm_models", "inception_v3").larger_multiplier
    assert of("torchbench", "sam").iou == 0.95
