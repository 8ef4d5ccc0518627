"""Suite `huggingface`: models of the PyPI package transformers, with random weights and local configurations."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

import msgspec

from runner.suites import data
from runner.suites.base import BuildRequest, ModelInfo, ModelSource, Suite, SuiteContext
from runner.suites.data import Tables
from runner.workload import Workload

_FILE = "huggingface.yaml"
NO_CHECKPOINT = "no checkpoint belongs to a configuration that is built here: weights are random"


class HuggingFaceModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `huggingface.yaml`, whose header explains the fields."""

    model: str
    config: str | None
    """Configuration class; None means the one that the model class names."""
    inputs: InputKind | None
    """Kind of inputs; None means those that the class takes."""
    batch_size: dict[str, data.BatchSize]
    sequence_length: dict[str, int]
    fields: dict[str, Any] = {}
    attention: str | None = "sdpa"
    """Attention implementation; None means the default of the class."""
    aliases: tuple[str, ...] = ()


class HuggingFaceData(Tables, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`huggingface.yaml`."""

    models: dict[str, HuggingFaceModel]


class HuggingFaceSuite(Suite):
    """The loss is the model's own: labels are part of the inputs in eval too, as in the TorchDynamo harness."""

    name: str = "huggingface"
    preload: Sequence[str] = ("torch", "transformers", "transformers.modeling_utils")

    def unavailable(self, context: SuiteContext) -> str | None:
        if importlib.util.find_spec("transformers") is None:
            return "Suite huggingface needs the package transformers: pip install 'xlabench[runner]'."
        return None

    def models(self, context: SuiteContext) -> Sequence[ModelInfo]:
        """List the models of the data file in its order, then those that transformers no longer has."""
        facts = _data()
        gone = [facts.info(name) for name in facts.missing]
        return [*(facts.info(name, model.aliases) for name, model in facts.models.items()), *gone]

    def unlisted(self, context: SuiteContext, name: str) -> ModelInfo | None:
        """Return a class of transformers that the data file does not have; it is built from its default configuration.

        Names of the hub, as `Qwen/Qwen3-0.6B`, would need a network.
        """
        return ModelInfo(name=name) if name in data.transformers_models() else None

    def build(self, request: BuildRequest) -> Workload:
        """Build one model; token ids and labels are uniform over its vocabulary."""
        from runner.suites import building

        model = _model(request.model_name)
        batch_size = data.batch_size(request.batch_size, model.batch_size, request.accelerator, request.test)
        length = data.for_accelerator(model.sequence_length, request.accelerator)
        building.seed_everything(request.seed)
        module = make_module(model)
        inputs = model.inputs or kind_of(module)
        offered = {"own": building.own_loss, "sum": building.sum_of_outputs}
        if inputs in WITHOUT_LOSS:
            del offered["own"]
        loss, loss_name = building.choose_loss(request.loss, offered, suite=self.name)
        return Workload(
            module=module.train(request.test == "train"),
            args=(),
            kwargs=make_inputs(inputs, module.config, batch_size, length),
            batch_size=batch_size,
            loss=loss,
            loss_name=loss_name,
            notes=[NO_CHECKPOINT] if request.weights != "random" else [],
        )

    def source(self, request: BuildRequest) -> ModelSource:
        model = _model(request.model_name)
        fields = model.fields | ({"attn_implementation": model.attention} if model.attention else {})
        text = _SOURCE.format(
            config=model.config or f"{model.model}.config_class",
            fields=fields,
            model=model.model,
            inputs=repr(model.inputs) if model.inputs else "kind_of(module)",
            batch_size=data.batch_size(request.batch_size, model.batch_size, request.accelerator, request.test),
            length=data.for_accelerator(model.sequence_length, request.accelerator),
            seed=request.seed,
            loss="sum_of_outputs" if request.loss == "sum" else "own_loss",
        )
        return ModelSource(text=text, packages=("transformers",))


_SOURCE = """
import os

from runner.suites.building import own_loss, seed_everything, sum_of_outputs
from runner.suites.huggingface import kind_of, make_inputs


def build():
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import transformers

    seed_everything({seed})
    config = transformers.{config}(**{fields!r})
    config.use_cache = False
    module = transformers.{model}(config)
    return module, (), make_inputs({inputs}, config, {batch_size}, {length}), {loss}
"""


@cache
def _data() -> HuggingFaceData:
    return data.load(_FILE, HuggingFaceData)


def models() -> dict[str, HuggingFaceModel]:
    """Return the data file's entries by name."""
    return _data().models


def _model(name: str) -> HuggingFaceModel:
    """Return a model's entry; one that only transformers has is its class with its default configuration."""
    if name in models() or name not in data.transformers_models():
        return data.lookup(models(), name, SUITE.name)
    return HuggingFaceModel(
        model=name,
        config=None,
        inputs=None,
        attention=None,
        batch_size={"cpu": 1, "other": 8},
        sequence_length={"cpu": 64, "other": 128},
    )


def make_module(model: HuggingFaceModel) -> Any:
    """Build the network from its configuration class; the key-value cache is off, as one step uses none."""
    # Some classes ask the hub for optional kernels or adapters; offline mode turns that into an immediate answer.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import transformers

    kind = getattr(transformers, model.model)
    config_class = getattr(transformers, model.config) if model.config else kind.config_class
    config = config_class(**model.fields, **({"attn_implementation": model.attention} if model.attention else {}))
    config.use_cache = False
    if getattr(config, "pad_token_id", 0) is None:
        config.pad_token_id = 0  # else a classifier of sequences refuses more than one
    return kind(config)


SUITE = HuggingFaceSuite()


# Inputs: token ids, and the labels that the model's own loss needs.


InputKind = Literal[
    "language_model",
    "seq2seq",
    "sequence_classification",
    "token_classification",
    "question_answering",
    "speech_seq2seq",
    "image_classification",
    "features",
    "seq2seq_features",
    "image_features",
]
WITHOUT_LOSS = ("features", "seq2seq_features", "image_features")
"""Inputs of models that return features and no loss."""
_KINDS: dict[str, InputKind] = {
    "ForMaskedLM": "language_model",
    "ForCausalLM": "language_model",
    "LMHeadModel": "language_model",
    "ForSequenceClassification": "sequence_classification",
    "ForTokenClassification": "token_classification",
    "ForQuestionAnswering": "question_answering",
    "ForImageClassification": "image_classification",
}


def kind_of(module: Any) -> InputKind:
    """Return which inputs a class of transformers takes, by the end of its name.

    Raises:
        ValueError: nobody has written down inputs of that kind.
    """
    name, main = type(module).__name__, module.main_input_name
    twofold = bool(getattr(module.config, "is_encoder_decoder", False))
    kind_by_name = next((kind for end, kind in _KINDS.items() if name.endswith(end)), None)
    if kind_by_name:
        return kind_by_name
    if name.endswith("ForConditionalGeneration") and main == "input_ids":
        return "seq2seq" if twofold else "language_model"
    if name.endswith("Model") and main == "input_ids":
        return "seq2seq_features" if twofold else "features"
    if name.endswith("Model") and main == "pixel_values":
        return "image_features"
    raise ValueError(
        f"The inputs of {name} are not known ({main}, …): add an entry to runner/suites/huggingface.yaml, or a suite "
        "of your own (XLABENCH_SUITES)."
    )


def make_inputs(kind: InputKind, config: Any, batch_size: int, length: int) -> dict[str, Any]:
    """Return the keyword arguments of one iteration."""
    if kind in ("image_classification", "image_features"):
        inputs = {"pixel_values": _images(config, batch_size)}
    else:
        longest = getattr(config, "max_position_embeddings", None) or length
        ids = _integers(config.vocab_size, (batch_size, min(length, longest)))
        inputs = {"input_ids": ids}
    if kind in ("seq2seq", "seq2seq_features"):
        inputs["decoder_input_ids"] = ids.clone()
    if kind in ("language_model", "seq2seq"):
        inputs["labels"] = _integers(config.vocab_size, ids.shape)
    elif kind == "speech_seq2seq":
        inputs = {"input_features": _features(config, batch_size), "labels": ids}
    elif kind in ("sequence_classification", "image_classification"):
        inputs["labels"] = _integers(config.num_labels, (batch_size,))
    elif kind == "token_classification":
        inputs["labels"] = _integers(config.num_labels, ids.shape)
    elif kind == "question_answering":
        inputs["start_positions"] = _integers(ids.shape[1], (batch_size,))
        inputs["end_positions"] = _integers(ids.shape[1], (batch_size,))
    return inputs


def _images(config: Any, batch_size: int) -> Any:
    import torch

    size = getattr(config, "image_size", None) or 224
    height, width = size if isinstance(size, (list, tuple)) else (size, size)
    return torch.randn(batch_size, getattr(config, "num_channels", 3), height, width)


def _features(config: Any, batch_size: int) -> Any:
    """Return a spectrogram of the one length that the encoder takes; its first convolutions halve it."""
    import torch

    return torch.randn(batch_size, config.num_mel_bins, 2 * config.max_source_positions)


def _integers(upper: int, shape: tuple[int, ...]) -> Any:
    import torch

    return torch.randint(upper, shape)
