"""A home and the servers that it sends to."""

import pytest

from tests.runner.notices.homes import Home
from tests.runner.notices.servers import Hooks, Post, running


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv("XLABENCH_WEBHOOK_URL", raising=False)
    monkeypatch.delenv("XLABENCH_SMTP_PASSWORD", raising=False)
    return Home(tmp_path)


@pytest.fixture
def hooks():
    with running(Hooks()) as server:
        yield server


@pytest.fixture
def post():
    with running(Post()) as server:
        yield server
