"""A cluster that is not there, or does not answer, is said in one sentence and in time."""

from __future__ import annotations

import socket

import pytest

from tests.needs import NEEDS_RAY

pytest.importorskip("ray", reason=NEEDS_RAY)

from runner.jobs.cluster.ray_api import RayCluster, Unreachable

pytestmark = pytest.mark.slow  # importing ray takes seconds


def test_one_that_is_not_there():
    with pytest.raises(Unreachable, match=r"\Athe cluster at http://127\.0\.0\.1:1 cannot be used: .+\Z"):
        RayCluster("http://127.0.0.1:1").nodes()


def test_one_that_does_not_answer_is_not_waited_for():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        cluster = RayCluster(f"http://127.0.0.1:{silent.getsockname()[1]}", limit_s=0.3)
        with pytest.raises(Unreachable, match=r"no answer in 0.3 s"):
            cluster.jobs()
