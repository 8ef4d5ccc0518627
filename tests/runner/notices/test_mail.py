"""Mail arrives once at a real server; what it refused for certain is sent again, what it may have taken never."""

import pytest

from runner.home.settings_file import Mail
from runner.notices import scan
from runner.notices.channels import mail
from store.errors import UsageError
from tests.runner.notices.homes import event

PASSWORD = "pa55word"


@pytest.fixture
def mail_home(home, post):
    """A home that tells one event by mail."""
    home.settings(
        f'[notices.mail]\nhost = "127.0.0.1"\nport = {post.port}\nsecurity = "none"\nuser = "bench"\n'
        f'password = "{PASSWORD}"\nsender = "xlabench <bench@example.org>"\n'
        'to = ["ann@example.org", "gone@example.org"]\n'
    )
    home.store = [event(1, text="größer als 5 µs\n.\nnach dem Punkt")]
    return home


def test_a_mail_arrives_once_and_says_who_did_not_get_it(mail_home, post):
    assert mail_home.look()[-1] == "notice 1 sent by mail (refused for gone@example.org)"
    [found] = post.taken
    assert found["Subject"] == f"[xlabench] {event(1).title}"
    assert found["To"] == "ann@example.org, gone@example.org"
    assert found["Message-ID"].endswith("@xlabench>")
    assert "größer als 5 µs\n.\nnach dem Punkt" in found.get_content().replace("\r", "")
    assert post.logins == [f"\0bench\0{PASSWORD}"]
    assert mail_home.look() == []
    assert len(post.taken) == 1


@pytest.mark.parametrize(
    ("day", "why"),
    [
        ("login", "535 no"),
        ("recipient", "refuses every recipient: 550 nobody"),
        ("text", "refuses the text: 554 spam"),
    ],
)
def test_what_the_server_refused_is_sent_again(mail_home, post, day, why):
    post.day = day
    said = mail_home.look()
    assert why in said[-1]
    assert said[-1].endswith("will be retried later")
    assert PASSWORD not in "\n".join(said)
    post.day = ""
    mail_home.now += scan.FIRST_WAIT_S + 1
    mail_home.look()
    assert len(post.taken) == 1


def test_a_server_that_goes_silent_after_the_text_may_have_taken_it(mail_home, post):
    post.day = "silent"
    assert mail_home.look()[-1].endswith("it may have arrived and is not sent again")
    post.day = ""
    mail_home.now += 3600
    mail_home.look()
    assert len(post.taken) == 1
    assert mail_home.states() == {"mail": ["unknown"]}


def test_a_password_is_never_sent_in_the_clear_unless_that_is_asked_for(mail_home, post):
    mail_home.settings((mail_home.path / "xlabench.toml").read_text().replace('security = "none"\n', ""))
    assert "STARTTLS extension not supported by server" in mail_home.look()[-1]
    assert (post.logins, post.taken) == ([], [])


def test_a_title_makes_no_header(mail_home, post):
    mail_home.store = [event(1, title="slower\r\nBcc: eve@example.org\n\nbody")]
    mail_home.look()
    [found] = post.taken
    assert found["Bcc"] is None
    assert found["Subject"] == "[xlabench] slower  Bcc: eve@example.org  body"


def test_the_password_may_come_from_the_environment_and_is_not_shown(mail_home, post, monkeypatch):
    monkeypatch.setenv("XLABENCH_SMTP_PASSWORD", "other")
    mail_home.look()
    assert post.logins == ["\0bench\0other"]
    settings = Mail(host="h", password=PASSWORD, sender="a@b.c", to=("a@b.c",))
    assert PASSWORD not in repr(settings) + repr(mail(settings)) + (mail_home.path / "notices.atom").read_text()


@pytest.mark.parametrize("address", ["nobody", "a@b.c\r\nBcc: x@y.z", "ü@example.org", ""])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(UsageError, match="is not a mail address"):
        mail(Mail(host="h", sender="a@b.c", to=(address,)))
