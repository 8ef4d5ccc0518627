"""Starting and stopping the server, and what it refuses."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from dashboard.server import serve, streamlit_options
from tests import warm
from tests.tiers import first_of

ROOT = Path(__file__).resolve().parents[2]
SERVE = "import sys; from dashboard.server import serve; sys.exit(serve(sys.argv[1], port=int(sys.argv[2])))"


@pytest.fixture
def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_taken_port_gives_one_sentence_and_exit_code_2(tmp_path, port, capsys):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", port))
        holder.listen()
        assert serve(tmp_path, port=port) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert f"port {port} on 127.0.0.1 is taken" in message
    assert "--port" in message


@pytest.mark.parametrize(("address", "port"), [("127.0.0.1", 0), ("127.0.0.1", 70000), ("203.0.113.9", 8501)])
def test_impossible_address_gives_one_sentence_and_exit_code_2(tmp_path, address, port, capsys):
    assert serve(tmp_path, address, port) == 2
    assert capsys.readouterr().err.count("\n") == 1


LOGIN = """
[auth]
redirect_uri = "https://bench.example.org/oauth2callback"
cookie_secret = "a secret of this test, long enough"
client_id = "xlabench"
client_secret = "nobody's"
server_metadata_url = "https://login.invalid/.well-known/openid-configuration"
"""


@pytest.mark.parametrize(
    ("broken", "part"),
    first_of(
        [
            (LOGIN.replace("cookie_secret", "cookies_secret"), "cookie_secret"),
            (LOGIN.replace("[auth]", "[auth"), "secrets.toml"),
            (LOGIN.replace("a secret of this test, long enough", "guessed"), "openssl rand -hex 32"),
            ("[auth]", "redirect_uri"),
            (LOGIN.encode("utf-16").decode("latin-1"), "secrets"),
        ],
    ),
)
def test_a_login_that_cannot_work_serves_nobody(tmp_path, port, broken, part):
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "secrets.toml").write_text(broken, encoding="latin-1")
    with (tmp_path / "said").open("wb+") as said:
        server = warm.serve("-c", [SERVE, tmp_path / "store", str(port)], said)
        output, _ = server.communicate(timeout=60)
    assert server.returncode == 2
    assert output.count("\n") == 1, output
    assert output.startswith("xlabench serve: ")
    assert part in output


def test_a_limit_of_memory_that_is_none_gives_one_sentence_and_exit_code_2(tmp_path, port, capsys, monkeypatch):
    """The server started, and each page failed."""
    monkeypatch.setenv("XLABENCH_QUERY_MEMORY", "lots")
    assert serve(tmp_path, port=port) == 2
    sentence = "xlabench serve: $XLABENCH_QUERY_MEMORY is 'lots', which is not a size such as 1GB.\n"
    assert capsys.readouterr().err == sentence


def test_only_named_hosts_are_answered_and_nothing_is_sent_out():
    options = streamlit_options("127.0.0.1", 8501, ["bench.example"])
    assert options["server.allowedHosts"] == ["localhost", "127.0.0.1", "::1", "bench.example"]
    assert options["browser.gatherUsageStats"] is False
    assert options["client.showErrorDetails"] == "none"
    assert options["server.fileWatcherType"] == "none"


def test_no_garbage_is_collected_between_the_run_of_a_page_and_its_answer():
    """It would go over every cached frame, after each changed filter of every reader."""
    assert streamlit_options("127.0.0.1", 8501)["runner.postScriptGC"] is False


@pytest.mark.parametrize("number", first_of([signal.SIGTERM, signal.SIGINT]))
def test_a_server_for_all_addresses_asks_nobody_outside_how_it_is_reached_and_ends_cleanly(tmp_path, port, number):
    """SIGINT ends the server of every test that needs one, too."""
    command = ["serve", "--home", str(tmp_path), "--address", "0.0.0.0", "--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, "-m", "xlabench", *command],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1).close()
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "Traceback" not in output
    assert f"http://{socket.gethostname()}:{port}" in output
    assert "External URL" not in output
    assert "external IP" not in output
    assert "restart" not in output, "nothing was served before the options of the command were read"


STILL_READING = """
import sys
import duckdb
from dashboard import server
from xlabench import main

def read() -> None:
    con = duckdb.connect()
    con.sql("SELECT 1").show()
    con.sql("SELECT count(*) FROM range(10_000_000_000) AS t(i) WHERE hash(i) = 0").show()

server._prepare = read
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("numbers", [[signal.SIGINT], [signal.SIGINT, signal.SIGINT], [signal.SIGTERM]])
def test_a_signal_ends_a_server_that_still_reads_the_data_of_its_first_page(tmp_path, port, numbers):
    """The interpreter would abort, or DuckDB's binding would report a hundred of its objects as lost.

    After a second Ctrl-C, uvicorn would print the tracebacks of all that it cancels.
    """
    command = ["serve", "--home", str(tmp_path), "--port", str(port), "--no-worker"]
    process = subprocess.Popen(
        [sys.executable, "-c", STILL_READING, *command],
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = []
        while not (any("URL" in line for line in said) and any("int32" in line for line in said)):
            said.append(process.stdout.readline())
            assert said[-1], said
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.05)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    assert output.strip() == ""
