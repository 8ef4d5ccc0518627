"""A web server and a mail server that take notices, or behave as such servers do on a bad day."""

import base64
import contextlib
import json
import socket
import socketserver
import ssl
import threading
from contextlib import contextmanager
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Hooks(ThreadingHTTPServer):
    """Takes POSTs; `answers` are the next statuses: 0 reads and says nothing, None hangs until the end.

    Each answer comes after `pause_s`. What stands in `drips` is sent byte by byte in place of an answer, over and over.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Hook)
        self.taken: list[dict] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answers: list[int | None] = []
        self.pause_s = 0.0
        self.drips = b""
        self.location = ""
        self.got = threading.Event()
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook/s3cret-token"


class _Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server
        server.taken.append(json.loads(body))
        server.headers.append(dict(self.headers))
        server.paths.append(self.path)
        server.got.set()
        server.over.wait(server.pause_s)
        while server.drips and not server.over.wait(0.02):
            self.wfile.write(server.drips)
        status = server.answers.pop(0) if server.answers else 204
        if status is None:
            server.over.wait(60)
        if not status:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(status)
        self.send_header("Content-Length", "0")
        if server.location:
            self.send_header("Location", server.location)
        self.end_headers()

    def log_message(self, *_):
        pass


class Post(socketserver.ThreadingTCPServer):
    """Takes mail; `day` says what goes wrong: `recipient`, `text`, `silent` (after the text), `login`.

    With a context of TLS it is encrypted from the first byte, or, where `starttls` is on, once it is asked for.
    """

    daemon_threads = True

    def __init__(self, context: ssl.SSLContext | None = None, *, starttls: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Post)
        self.context, self.starttls = context, starttls
        self.encrypted: list[str] = []
        self.taken: list = []
        self.recipients: list[list[str]] = []
        self.logins: list[str] = []
        self.day = ""

    @property
    def port(self) -> int:
        return self.server_address[1]


class _Post(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        with contextlib.suppress(ssl.SSLError):  # who does not trust us leaves
            if self.server.context and not self.server.starttls:
                self.encrypt()
            self.say("220 here")
            self.talk()

    def encrypt(self) -> None:
        self.request = self.server.context.wrap_socket(self.request, server_side=True)
        self.server.encrypted.append(self.request.version())
        self.setup()

    def finish(self) -> None:
        super().finish()
        self.request.close()

    def talk(self) -> None:
        recipients: list[str] = []
        while line := self.rfile.readline():  # of another connection once it is encrypted
            word = line.decode().strip()
            verb = word.upper().split(" ")[0]
            if verb == "EHLO":
                offers = (
                    "250-STARTTLS\r\n" if self.server.starttls and not self.server.encrypted else "250-AUTH PLAIN\r\n"
                )
                self.say(f"250-here\r\n{offers}250 8BITMIME")
            elif verb == "STARTTLS":
                self.say("220 go on")
                self.encrypt()
            elif verb == "AUTH":
                self.server.logins.append(base64.b64decode(word.split(" ")[2]).decode())
                self.say("535 no" if self.server.day == "login" else "235 yes")
            elif verb == "RCPT":
                bad = self.server.day == "recipient" or "gone" in word
                recipients += [] if bad else [word]
                self.say("550 nobody" if bad else "250 yes")
            elif verb == "DATA":
                if not self.text(recipients):
                    return
            elif verb == "QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 yes")

    def text(self, recipients: list[str]) -> bool:
        self.say("354 go on")
        lines = []
        for line in self.rfile:
            if line == b".\r\n":
                break
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        if self.server.day == "text":
            self.say("554 spam")
            return True
        self.server.taken.append(message_from_bytes(b"".join(lines), policy=policy.default))
        self.server.recipients.append(recipients)
        if self.server.day == "silent":
            self.connection.shutdown(socket.SHUT_RDWR)
            return False
        self.say("250 taken")
        return True

    def say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextmanager
def running(server):
    """Serve until the block ends."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        if isinstance(server, Hooks):
            server.over.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
