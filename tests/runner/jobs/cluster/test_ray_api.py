"""A cluster that is not there, or does not answer, is said in one sentence and in time."""

import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from runner.jobs.cluster.ray_api import RayCluster, Unreachable
from tests.faults.fault_rows import add_row
from tests.needs import NEEDS_RAY, need
from tests.runner.notices.servers import running

need("ray", NEEDS_RAY)
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


ANSWERS = {
    "a page": (200, b"<html>Sign in</html>"),
    "nothing": (200, b""),
    "another object": (200, b'{"data": 5, "result": null}'),
    "levels": (200, b"[" * 100_000),
    "bytes": (200, bytes(range(256)) * 100),
    "an error": (500, b"Traceback (most recent call last):"),
    "a redirect": (302, b""),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_another_server_at_its_port_is_said(name):
    """Whatever listens there answers as it likes: the worker goes on, and says so in one sentence."""
    status, body = ANSWERS[name]

    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Location", "http://127.0.0.1:1/")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with running(ThreadingHTTPServer(("127.0.0.1", 0), Other)) as server:
        cluster = RayCluster(f"http://127.0.0.1:{server.server_address[1]}", limit_s=5)
        for ask in (cluster.jobs, cluster.nodes):
            with pytest.raises(Unreachable, match=r"\Athe cluster at http://127\.0\.0\.1:\d+ cannot be used: .+\Z"):
                ask()
    add_row("another server at the port of Ray's dashboard", 2, "one sentence")
