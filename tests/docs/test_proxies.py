"""The proxies as docs/proxy.md configures them, before a real dashboard; where nginx and Caddy are on the path."""

import contextlib
import http.client
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.certificates import certificates
from tests.command import free_port, served
from tests.dashboard.session import session

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs/proxy.md").read_text()
NGINX, FEED = re.findall(r"```nginx\n(.*?)```", DOCUMENT, re.DOTALL)
CADDY, CADDY_BELOW = re.findall(r"```caddy\n(.*?)```", DOCUMENT, re.DOTALL)
HOST, TOOLS, BELOW = "bench.example.org", "tools.example.org", "/bench"
START_S = 30
PROXIES = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not here to ask"))
    for name in ("nginx", "caddy")
]
pytestmark = pytest.mark.slow
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class Proxy:
    """A proxy that runs, as a browser reaches it."""

    def __init__(self, port: int, host: str, context: ssl.SSLContext) -> None:
        self.port, self.host, self.context = port, host, context

    def connected(self) -> ssl.SSLSocket:
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=START_S)
        return self.context.wrap_socket(plain, server_hostname=self.host)

    def ask(self, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection(self.host)
        connection.sock = self.connected()
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        found = answer.status, dict(answer.getheaders()), "" if answer.status == 101 else answer.read().decode()
        connection.close()
        return found

    def websocket(self, path: str, origin: str) -> int:
        """Ask for a page's websocket; return the status."""
        wanted = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13"}
        return self.ask(path, **wanted, Sec_WebSocket_Key="AAAAAAAAAAAAAAAAAAAAAA==", Origin=origin)[0]


def nginx(folder: Path, server: int, port: int, certificate: Path, base: str) -> list[str]:
    """Write nginx's configuration with the document's; return the command."""
    block = NGINX.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl").replace("8501", str(server))
    block = re.sub(r"/etc/ssl/bench\.(pem|key)", str(certificate), block)
    if base:
        block = block.replace("location / {", f"location {base}/ {{").replace(HOST, TOOLS)
    feed = FEED.replace("/srv/xlabench", str(folder)).replace("allow 10.0.0.0/8", "allow 127.0.0.0/8")
    end = block.rindex("}")
    paths = "".join(f"{name}_temp_path {folder};" for name in _TEMPORARY)
    text = f"daemon off; master_process off; pid {folder}/pid; error_log stderr; events {{}} "
    text += f"http {{ access_log off; {paths} {block[:end]}{feed}{block[end:]} }}"
    (folder / "nginx.conf").write_text(text)
    return ["nginx", "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")]


def caddy(folder: Path, server: int, port: int, certificate: Path, base: str) -> list[str]:
    """The same of Caddy; it gets its certificate from us instead of an authority."""
    host = TOOLS if base else HOST
    block = (CADDY_BELOW if base else CADDY).replace("8501", str(server))
    own = f"{host}:{port} {{\n    bind 127.0.0.1\n    tls {certificate} {certificate}\n"
    text = "{\n    admin off\n    auto_https disable_redirects\n    skip_install_trust\n}\n"
    (folder / "Caddyfile").write_text(text + block.replace(f"{host} {{\n", own))
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


@contextlib.contextmanager
def proxied(name: str, folder: Path, server: int, base: str) -> Iterator[Proxy]:
    """Run a proxy before a server."""
    host, port = TOOLS if base else HOST, free_port()
    made = certificates(folder, host)
    command = {"nginx": nginx, "caddy": caddy}[name](folder, server, port, made.server, base)
    env = os.environ | {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with (folder / "log").open("w+") as said:
        popen = subprocess.Popen(command, env=env, stdout=said, stderr=said)
        try:
            until = time.monotonic() + START_S
            while not _listens(port):
                assert popen.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < until
                time.sleep(0.05)
            yield Proxy(port, host, ssl.create_default_context(cafile=str(made.authority)))
        finally:
            popen.terminate()
            popen.wait()


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@pytest.fixture(scope="module", params=["", BELOW], ids=["at the root", "below a path"])
def server(request, tmp_path_factory):
    """A dashboard as the document starts it; gives its home, its port and the path of its pages."""
    home = tmp_path_factory.mktemp("proxied")
    (home / "notices.atom").write_text("<feed/>")
    words = ["--allowed-host", TOOLS, "--base-path", BELOW] if request.param else ["--allowed-host", HOST]
    with served(home, words=words, base=request.param) as port:
        yield home, port, request.param


@pytest.mark.parametrize("name", PROXIES)
def test_pages_and_their_websockets_come_through_a_proxy_and_those_of_others_do_not(server, tmp_path, name):
    home, port, base = server
    (tmp_path / "notices.atom").write_text((home / "notices.atom").read_text())
    with proxied(name, tmp_path, port, base) as proxy:
        status, _, page = proxy.ask(f"{base}/")
        assert (status, "<title>Streamlit</title>" in page) == (200, True)
        stream = f"{base}/_stcore/stream"
        assert proxy.websocket(stream, f"https://{proxy.host}") == 101
        assert proxy.websocket(stream, "https://evil.example") == 403
        origin = f"https://{proxy.host}:{proxy.port}"
        with session(
            proxy.port, "runs", "show=New run", proxy.host, proxy.connected(), base, Origin=origin
        ) as somebody:
            assert "Label" in somebody.run()
        assert proxy.ask(f"{base}/artifact")[0] == 400
        assert proxy.ask(f"{base}/artifact?record=x&path=y", Origin="https://evil.example")[0] == 403
        assert proxy.ask(f"{base}/notices.atom")[::2] == (200, "<feed/>")
        if base:
            assert proxy.ask("/artifact")[0] in (200, 404), "nothing of ours lies beside the path"
        if name == "nginx" and not base:
            assert proxy.ask("/notices.atom")[1]["Content-Type"] == "application/atom+xml"
