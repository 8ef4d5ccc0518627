"""Inputs of Hugging Face models: token ids and the labels that their own loss needs."""

from __future__ import annotations

from typing import Any, Literal

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
