"""Mail over TLS: the server's certificate is checked before it hears a name, a password or a text."""

import ssl

import pytest

from tests.certificates import certificates
from tests.runner.notices.homes import event
from tests.runner.notices.servers import Post, running

PASSWORD = "pa55word"
WAYS = {"tls": {}, "starttls": {"starttls": True}}


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A server that our authority knows under the name localhost."""
    return certificates(tmp_path_factory.mktemp("known"), "localhost")


@pytest.fixture
def tell(home, known, monkeypatch):
    """Tell an event by mail over TLS to a server that has a certificate; return the server and what was said."""
    monkeypatch.setenv("SSL_CERT_FILE", str(known.authority))

    def told(way, certificate, host="localhost"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.server)
        with running(Post(context, **WAYS[way])) as post:
            home.settings(
                f'[notices.mail]\nhost = "{host}"\nport = {post.port}\nsecurity = "{way}"\nuser = "bench"\n'
                f'password = "{PASSWORD}"\nsender = "bench@example.org"\nto = ["ann@example.org"]\n'
            )
            home.store = [event(1)]
            return post, home.look()[-1]

    return told


@pytest.mark.parametrize("way", WAYS)
def test_a_mail_arrives_encrypted_with_the_password(tell, known, way):
    post, said = tell(way, known)
    assert said == "notice 1 sent by mail"
    assert post.encrypted == ["TLSv1.3"]
    assert post.logins == [f"\0bench\0{PASSWORD}"]
    assert [each["To"] for each in post.taken] == ["ann@example.org"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wrong", ["another name", "another authority"])
def test_a_server_that_cannot_show_who_it_is_gets_neither_password_nor_text(tell, known, tmp_path, way, wrong):
    certificate = certificates(tmp_path / "other", "localhost") if wrong == "another authority" else known
    post, said = tell(way, certificate, host="localhost" if wrong == "another authority" else "127.0.0.1")
    assert "will be retried later" in said
    assert "CERTIFICATE_VERIFY_FAILED" in said or "certificate" in said.lower()
    assert (post.logins, post.taken, post.recipients) == ([], [], [])
