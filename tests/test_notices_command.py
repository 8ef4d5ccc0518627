"""A real worker tells a real webhook of what an ingest brings, once, whoever is killed in between."""

import json
import time
from xml.etree import ElementTree as ET

import pytest

from runner.notices.watch import LEFT_TO_ANOTHER
from tests import warm
from tests.command import working, xlabench
from tests.runner.notices.servers import Hooks, running
from tests.store.factory import DAY, make_record, write_run

PATIENCE_S = 120.0


def night(home, name, started, *, slower=1.0, dcgan="ok"):
    """Write a run of three processes: resnet18 as fast as told, dcgan with its status."""
    records = [
        make_record(
            model=model,
            run_id=name,
            timestamp=started,
            replica=replica,
            status=status,
            message="killed by signal 11" if status != "ok" else None,
            per_iter=[0.010 * factor * (1 + 0.002 * replica + 0.001 * (step % 4)) for step in range(10)],
        )
        for model, status, factor in (("resnet18", "ok", slower), ("dcgan", dcgan, 1.0), ("vgg16", "ok", 1.0))
        for replica in range(3)
    ]
    write_run(home / "runs" / name, records)


def until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


@pytest.mark.slow
def test_what_an_ingest_brings_is_told_once_though_the_worker_is_killed(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    with running(Hooks()) as hooks:
        hooks.pause_s = 1.0  # the worker is killed while its check waits for the second answer
        (home / "xlabench.toml").write_text(f'[notices.webhook]\nurl = "{hooks.url}"\n')
        now = time.time()
        night(home, "run-1", now - DAY)
        night(home, "run-2", now - 3600, slower=1.4, dcgan="crashed")
        with working(home):
            xlabench("ingest", "--home", home, home / "runs")
            until(lambda: len(hooks.taken) == 2, "both events arrive")
        events = [found for each in hooks.taken for found in each["events"]]
        assert sorted(each["kind"] for each in events) == ["newly failing", "suspected regression"]
        # The check outlives the worker that started it, and no other can begin until it has ended.
        look = ["notices", "look", "--home", home]
        until(lambda: warm.run("xlabench", look).returncode != LEFT_TO_ANOTHER, "the killed worker's check ends")
        assert xlabench(*look).stdout == ""
        assert len(hooks.taken) == 2
    listed = json.loads(xlabench("notices", "list", "--home", home, "--format", "json").stdout)
    assert [[one["state"] for one in each["deliveries"]] for each in listed] == [["sent"], ["sent"]]
    assert len(ET.parse(home / "notices.atom").getroot().findall("{http://www.w3.org/2005/Atom}entry")) == 2


def test_a_look_that_cannot_send_is_a_problem(tmp_path):
    """It ended with 0 for cron, and no notice was ever sent."""
    (tmp_path / "xlabench.toml").write_text("[notice]\n")
    done = xlabench("notices", "look", "--home", tmp_path, code=1)
    assert done.stdout == ""
    assert done.stderr.startswith("xlabench: No notice is sent: ")
    assert "there is no setting notice" in done.stderr


def test_a_test_message_says_of_each_channel_whether_it_works(tmp_path):
    assert "No channel is configured" in xlabench("notices", "test", "--home", tmp_path, code=1).stderr
    with running(Hooks()) as hooks:
        (tmp_path / "xlabench.toml").write_text(f'[notices.webhook]\nurl = "{hooks.url}"\n')
        assert xlabench("notices", "test", "--home", tmp_path).stdout == "webhook: sent (HTTP 204)\n"
        [sent] = hooks.taken
        assert str(tmp_path) not in json.dumps(sent), "what leaves the machine names none of its folders"
        hooks.answers = [404]
        failed = xlabench("notices", "test", "--home", tmp_path, code=1)
    assert failed.stderr == "xlabench: webhook: 127.0.0.1 answered HTTP 404\n"
    assert xlabench("notices", "list", "--home", tmp_path).stdout == "There are no notices.\n"
