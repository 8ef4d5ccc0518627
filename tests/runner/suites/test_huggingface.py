"""Suite `huggingface` names classes that transformers has, and needs no network."""

from __future__ import annotations

import inspect

import pytest

from runner.suites import get_suite
from runner.suites.base import SuiteContext
from runner.suites.huggingface import make_module, models

transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", list(models()))
def test_every_listed_class_resolves(name):
    entry = models()[name]
    config = getattr(transformers, entry.config)
    assert getattr(transformers, entry.model).config_class is config


@pytest.mark.parametrize("name", list(models()))
def test_every_field_is_known_to_its_configuration(name):
    entry = models()[name]
    config = getattr(transformers, entry.config)
    known = set(inspect.signature(config.__init__).parameters) | set(dir(config())) | {"decoder_start_token_id"}
    assert set(entry.fields) <= known


@pytest.mark.slow
@pytest.mark.parametrize("name", list(models()))
def test_every_listed_model_builds_with_the_attention_that_the_data_file_names(name):
    with torch.device("meta"):
        module = make_module(models()[name])
    assert module.config._attn_implementation == models()[name].attention
    assert module.config.use_cache is False


def test_skips_have_reasons():
    for info in get_suite("huggingface").models(SuiteContext()):
        assert all(reason.strip() for reason in info.skips.values())


def test_a_longer_sequence_is_used_beside_the_cpu(request_for):
    entry = models()["DistilBertForMaskedLM"]
    assert entry.sequence_length["cpu"] < entry.sequence_length["other"]


def test_building_opens_no_connection(monkeypatch, request_for):
    import socket

    def refuse(*args, **kwargs):
        raise AssertionError("a build opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    get_suite("huggingface").build(request_for("BertTiny"))


def test_labels_are_part_of_eval(request_for):
    workload = get_suite("huggingface").build(request_for("BertTiny"))
    with torch.no_grad():
        assert torch.isfinite(workload.module(**workload.kwargs).loss)
