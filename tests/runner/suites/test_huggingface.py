"""Suite `huggingface` names classes that transformers has, and needs no network."""

import inspect

import pytest

from runner.suites import get_suite
from runner.suites.base import SuiteContext
from runner.suites.data import for_accelerator
from runner.suites.huggingface import make_module, models
from tests.needs import need

need("transformers")
torch = pytest.importorskip("torch")
KINDS = ("CausalLM", "MaskedLM", "QuestionAnswering", "SequenceClassification", "ConditionalGeneration")


def test_every_listed_class_resolves():
    import transformers

    for name, entry in models().items():
        config = getattr(transformers, entry.config)
        assert getattr(transformers, entry.model).config_class is config, name


def test_every_field_is_known_to_its_configuration():
    import transformers

    for name, entry in models().items():
        config = getattr(transformers, entry.config)
        known = set(inspect.signature(config.__init__).parameters) | set(dir(config())) | {"decoder_start_token_id"}
        assert set(entry.fields) <= known, name


def of_each_kind_first():
    """Give the listed models; those of a kind and an attention that came before are thorough."""
    kinds = [
        (entry.attention, next((kind for kind in KINDS if kind in entry.model), entry.model))
        for entry in models().values()
    ]
    return [
        pytest.param(name, marks=pytest.mark.thorough if kind in kinds[:number] else ())
        for number, (name, kind) in enumerate(zip(models(), kinds, strict=True))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", of_each_kind_first())
def test_every_listed_model_builds_with_the_attention_that_the_data_file_names(name, no_network):
    with torch.device("meta"):
        module = make_module(models()[name])
    assert type(module).__name__ == models()[name].model
    assert module.config._attn_implementation == models()[name].attention
    assert module.config.use_cache is False
    assert sum(parameter.numel() for parameter in module.parameters()) > (1e5 if "tiny" in name.lower() else 1e6)


def test_a_model_that_transformers_has_dropped_is_listed_with_the_reason():
    import transformers

    infos = {info.name: info for info in get_suite("huggingface").models(SuiteContext())}
    assert infos["Speech2Text2ForCausalLM"].missing == "transformers has dropped the model"
    assert not hasattr(transformers, "Speech2Text2ForCausalLM")


def test_pretrained_weights_are_said_to_be_none(request_for):
    workload = get_suite("huggingface").build(request_for("BertTiny", weights="pretrained"))
    assert workload.weights == "random"
    assert workload.notes == ["no checkpoint belongs to a configuration that is built here: weights are random"]


@pytest.mark.parametrize("accelerator", ["cpu", "cuda"])
def test_positions_suffice_for_the_sequence(accelerator):
    """A table of positions that is too short would fail on that accelerator only."""
    import transformers

    for name, entry in models().items():
        config = getattr(transformers, entry.config)(**entry.fields)
        positions = getattr(config, "max_position_embeddings", None)
        if isinstance(positions, int) and positions > 0:
            assert for_accelerator(entry.sequence_length, accelerator) <= positions, name


@pytest.mark.slow
def test_a_speech_model_takes_features(request_for):
    workload = get_suite("huggingface").build(request_for("openai/whisper-tiny", batch_size=1))
    with torch.no_grad():
        assert torch.isfinite(workload.module(**workload.kwargs).loss)


def test_a_longer_sequence_is_used_beside_the_cpu(request_for):
    entry = models()["DistilBertForMaskedLM"]
    assert entry.sequence_length["cpu"] < entry.sequence_length["other"]


def test_building_opens_no_connection(no_network, request_for):
    get_suite("huggingface").build(request_for("BertTiny"))


def test_labels_are_part_of_eval(request_for):
    workload = get_suite("huggingface").build(request_for("BertTiny"))
    with torch.no_grad():
        assert torch.isfinite(workload.module(**workload.kwargs).loss)
