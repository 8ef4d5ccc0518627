"""An OpenID Connect provider on this machine: whoever comes is at once the person that the test names."""

import base64
import contextlib
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT = "xlabench"


class Provider(ThreadingHTTPServer):
    """What a provider knows: its key, its client's secret, who stands before it, and the codes it has given out."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.client_secret = secrets.token_hex(16)
        self.key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
        self.person: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.ended = 0

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks",
            "end_session_endpoint": f"{self.url}/end",
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }

    def code_for(self, asked: dict[str, str]) -> str:
        code = secrets.token_hex(8)
        self.codes[code] = asked
        return code

    def token_for(self, form: dict[str, str]) -> dict[str, str] | None:
        """Return the tokens for a code, which counts once and for whom it was given; None for all else."""
        asked = self.codes.pop(form.get("code", ""), None)
        verifier = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).decode().rstrip("=")
        if asked is None or (asked["redirect_uri"], asked["code_challenge"]) != (form["redirect_uri"], challenge):
            return None
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"], **self.person}
        signed = jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.key)
        return {"id_token": signed, "access_token": secrets.token_hex(8), "token_type": "Bearer"}


class _Answers(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        path, asked = urlsplit(self.path).path, _fields(urlsplit(self.path).query)
        if path == "/authorize" and asked.get("client_id") == CLIENT:
            back = {"code": self.server.code_for(asked), "state": asked["state"]}
            self._send(302, to=f"{asked['redirect_uri']}?{urlencode(back)}")
        elif path == "/end":
            self.server.ended += 1
            self._send(302, to=asked["post_logout_redirect_uri"])
        elif path == "/jwks":
            self._send(200, {"keys": [self.server.key.as_dict(private=False)]})
        elif path == "/.well-known/openid-configuration":
            self._send(200, self.server.metadata())
        else:
            self._send(404)

    def do_POST(self) -> None:
        form = _fields(self.rfile.read(int(self.headers["Content-Length"])).decode())
        client = base64.b64encode(f"{CLIENT}:{self.server.client_secret}".encode()).decode()
        known = self.path == "/token" and self.headers.get("Authorization") == f"Basic {client}"
        token = self.server.token_for(form) if known else None
        self._send(200, token) if token else self._send(400, {"error": "invalid_grant"})

    def _send(self, status: int, said: object = None, to: str | None = None) -> None:
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if to:
            self.send_header("Location", to)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


def _fields(text: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(text).items()}


@contextlib.contextmanager
def running_provider() -> Iterator[Provider]:
    with Provider() as provider:
        threading.Thread(target=provider.serve_forever, daemon=True).start()
        yield provider
        provider.shutdown()
