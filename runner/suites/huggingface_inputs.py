"""Inputs of Hugging Face models: token ids and the labels that their own loss needs."""

from __future__ import annotations

from typing import Any, Literal

InputKind = Literal["language_model", "seq2seq", "sequence_classification", "question_answering", "speech_seq2seq"]


def make_inputs(kind: InputKind, config: Any, batch_size: int, length: int) -> dict[str, Any]:
    """Return the keyword arguments of one iteration."""
    ids = _integers(config.vocab_size, (batch_size, length))
    if kind == "language_model":
        return {"input_ids": ids, "labels": _integers(config.vocab_size, ids.shape)}
    if kind == "seq2seq":
        labels = _integers(config.vocab_size, ids.shape)
        return {"input_ids": ids, "decoder_input_ids": ids.clone(), "labels": labels}
    if kind == "speech_seq2seq":
        return {"input_features": _features(config, batch_size), "labels": ids}
    if kind == "sequence_classification":
        return {"input_ids": ids, "labels": _integers(config.num_labels, (batch_size,))}
    starts, ends = _integers(length, (batch_size,)), _integers(length, (batch_size,))
    return {"input_ids": ids, "start_positions": starts, "end_positions": ends}


def _features(config: Any, batch_size: int) -> Any:
    """Return a spectrogram of the one length that the encoder takes; its first convolutions halve it."""
    import torch

    return torch.randn(batch_size, config.num_mel_bins, 2 * config.max_source_positions)


def _integers(upper: int, shape: tuple[int, ...]) -> Any:
    import torch

    return torch.randint(upper, shape)
