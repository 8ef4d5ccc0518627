"""Where the hub cannot be reached its client answers from the cache; where it can, it is left alone."""

import socket

import pytest

from runner.suites.random_weights import hub_or_cache

constants = pytest.importorskip("huggingface_hub.constants")


@pytest.fixture
def hub(monkeypatch):
    """A port that listens, which stands for the hub."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("urllib.request.getproxies", dict)
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        yield server


@pytest.mark.usefixtures("hub")
def test_a_hub_that_answers_is_asked():
    with hub_or_cache():
        assert constants.HF_HUB_OFFLINE is False


def test_a_hub_that_does_not_answer_is_not_asked(hub):
    hub.close()
    with hub_or_cache():
        assert constants.HF_HUB_OFFLINE is True
    assert constants.HF_HUB_OFFLINE is False


def test_behind_a_proxy_the_client_decides(hub, monkeypatch):
    hub.close()
    monkeypatch.setattr("urllib.request.getproxies", lambda: {"https": "http://proxy"})
    with hub_or_cache():
        assert constants.HF_HUB_OFFLINE is False


def test_a_user_who_is_offline_stays_so(hub, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with hub_or_cache():
        assert constants.HF_HUB_OFFLINE is True
    assert constants.HF_HUB_OFFLINE is True
