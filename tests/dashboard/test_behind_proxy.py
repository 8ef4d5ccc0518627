"""What a proxy of docs/proxy.md relies on: pages below a path, its host name, websockets from its own pages only."""

import base64
import contextlib
import os
import socket

import pytest

from tests.command import served, xlabench
from tests.dashboard.test_routes import ask

BASE = "/team/bench"
HOST = "bench.example.org"
SECONDS = 20


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """A server as docs/proxy.md starts it."""
    home = tmp_path_factory.mktemp("proxy")
    (home / "notices.atom").write_text("<feed/>")
    with served(home, words=["--allowed-host", HOST, "--base-path", BASE], base=BASE) as port:
        yield port


@pytest.mark.parametrize("path", ["/", "/speedup", "/_stcore/health", "/notices.atom"])
def test_pages_and_routes_lie_below_the_path(port, path):
    assert ask(port, f"{BASE}{path}", Host=HOST)[0] == 200


def test_artifacts_and_the_timeline_lie_there_too_and_nowhere_else(port):
    assert ask(port, f"{BASE}/artifact", Host=HOST)[0] == 400
    assert ask(port, f"{BASE}/perfetto/index.html", Host=HOST)[0] == 200
    for path in ("/artifact", "/notices.atom", "/perfetto/index.html"):
        assert ask(port, path, Host=HOST)[0] == 404


@pytest.mark.parametrize(
    ("host", "origin", "taken"),
    [
        (HOST, f"https://{HOST}", True),
        (f"{HOST}:8443", f"https://{HOST}:8443", True),
        (HOST, "https://evil.example", False),
        ("evil.example", "https://evil.example", False),
        (HOST, "http://localhost:3000", False),
        ("127.0.0.1:8501", f"https://{HOST}", False),
    ],
)
def test_websockets_are_taken_from_pages_of_the_proxys_host_only(port, host, origin, taken):
    """A proxy has to hand on the host as the browser named it: the last case is one that does not.

    A refusal comes at once: nobody outside is asked for our address.
    """
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        f"GET {BASE}/_stcore/stream HTTP/1.1",
        f"Host: {host}",
        f"Origin: {origin}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Protocol: streamlit",
    ]
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), timeout=SECONDS)) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        status = int(connection.recv(4096).split()[1])
    assert (status == 101) == taken


@pytest.mark.parametrize("path", ["bench", "/a b", "/../x", "//x", "/<b>"])
def test_what_is_no_path_is_refused_in_one_sentence(tmp_path, path):
    said = xlabench("serve", "--no-worker", "--home", tmp_path, "--base-path", path, code=2).stderr
    assert said.startswith(f"xlabench serve: '{path}' is not a valid path; ")
    assert said.count("\n") == 1
