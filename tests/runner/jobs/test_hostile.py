"""Every field of a request with every hostile text, and rows written by hand: refused, with the reason kept."""

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from runner.home.settings_file import Access, Person
from runner.jobs import check, folder, rerun
from runner.jobs.executor import JobWork, Local
from runner.jobs.queue import JobQueue, Refused
from runner.jobs.request import ConfirmRequest, JobRequest, RunRequest, Selection, encode, words
from runner.jobs.worker import Worker, run_name
from runner.schedule import devices
from store.run_file import read_run_file
from tests.runner.jobs.fake_executor import Fake, World
from tests.runner.jobs.hostile import CONFIRMING, EVIL, SEARCHED, confirming, fields, of_python, rows
from tests.store.factory import make_record, write_run
from xlabench import jobs_text

BYTES = 1 << 20
DUMMY = RunRequest(selection=Selection(suite_name=("dummy",), accelerator=("cpu",)))


@pytest.fixture
def job_queue(tmp_path: Path) -> JobQueue:
    return JobQueue(tmp_path, Person("ann"))


@pytest.mark.parametrize("kind", EVIL)
def test_no_field_of_a_run_takes_it(kind):
    """A pattern may hold some of it: it stands in its flag's own word, whatever is in it."""
    evil, said = EVIL[kind], []
    for group, name in fields():
        for row in rows(group, name, evil):
            try:
                request = check.read(json.dumps(row), BYTES, ())
            except check.BadRequest as error:
                said.append(str(error))
                continue
            assert name in SEARCHED, row
            assert words(request) == ["run", f"--{name}={evil}"]
    assert [text for text in said if not text.isprintable() or len(text) > 1000] == []


@pytest.mark.parametrize("kind", EVIL)
def test_no_field_of_a_confirmation_takes_it(kind):
    for name in CONFIRMING:
        for row in confirming(name, EVIL[kind]):
            with pytest.raises(check.BadRequest):
                check.read(json.dumps(row), BYTES, ())


def test_what_a_page_made_without_looking_is_refused_and_kept(job_queue):
    """Python's structs take anything: the queue reads each request as if it had come from outside."""
    for group, name in fields():
        kind = "HTML" if name in SEARCHED else "shell"
        with pytest.raises(Refused):
            job_queue.submit(JobRequest(request=of_python(group, name, EVIL[kind]), label="x"))
    with pytest.raises(Refused):
        job_queue.submit(JobRequest(request=ConfirmRequest(old="a", new=EVIL["flag"]), label="x"))
    kept = job_queue.actions()
    assert job_queue.listed() == []
    assert {(each.action, each.who) for each in kept} == {("refused submit", "ann")}
    assert len(kept) == len(list(fields())) + 1
    assert all(each.detail for each in kept)


PLANNED = {"suite_name": "dummy", "model_name": "dummy_nonzero", "test": "eval", "accelerator": "cpu"}
PLACES = ("config", "settings", "environment", "experiment_id", "notes", "skip_reason", "not_here", "in_spite_of")
SHOWN = ("shell", "flag", "path", "absolute path", "dots", "SQL", "HTML", "template", "code")
"""Of what is for readers only: pages show it as text, terminals too, and nobody executes it."""


def planned(place: str, name: str, evil: str) -> str:
    entry: dict[str, object] = {"config": dict(PLANNED)}
    plan: dict[str, object] = {"schema_version": 1, "experiments": [entry]}
    if place == "settings":
        plan["settings"] = {name: evil}
    elif place == "config":
        entry["config"] = PLANNED | {name: evil}
    else:
        entry[place] = [evil] if place == "notes" else evil
    return json.dumps({"kind": "run", "plan": plan})


@pytest.mark.parametrize("kind", EVIL)
def test_no_part_of_a_plan_takes_it(kind):
    from store.record import ExperimentConfig

    evil = EVIL[kind]
    names = {"config": (*ExperimentConfig.__struct_fields__, evil), "settings": ("repeat", "start", "seed", evil)}
    for place in PLACES:
        for name in names.get(place, ("",)):
            try:
                request = check.read(planned(place, name, evil), BYTES, ())
            except check.BadRequest:
                continue
            assert place in ("notes", "skip_reason", "not_here", "in_spite_of"), (place, name)
            assert kind in SHOWN
            assert words(request) == ["run"], "nothing of it becomes a word of the command"


SOURCE = {"name": "evil.py:Net", "sha256": "0" * 64}
SOURCES = [
    {"own": ["evil.py"]},
    {"pickled": "/tmp/evil"},
    {"selection": {"own": ["evil.py"]}},
    {"selection": {"input": ["f32[2]"]}},
    {"selection": {"pickled": "/tmp/evil"}},
    {"selection": {"suite_name": ["own"]}},
    {"selection": {"only": ["evil.py:Net"]}},
    {"selection": {"only": ["own/evil.py"]}},
    {"selection": {"only": ["own/net"]}},
    {"selection": {"only": ["own/../../evil.py"]}},
    {"selection": {"only": ["torchvision:resnet18"]}},
    {"selection": {"suite_name": ["timm_models"], "only": ["own/net"]}},
    {"selection": {"ops_of": "own/net"}},
    {"selection": {"models_file": "/tmp/evil"}},
    {"plan": {"schema_version": 1, "experiments": [{"config": PLANNED | {"suite_name": "own"}}]}},
    {"plan": {"schema_version": 1, "experiments": [{"config": PLANNED | {"source": SOURCE}}]}},
    {"plan": {"schema_version": 1, "experiments": [{"config": PLANNED | {"suite_name": "own", "source": SOURCE}}]}},
]


@pytest.mark.parametrize("way", SOURCES, ids=json.dumps)
def test_no_job_names_a_source_to_be_executed(job_queue, way):
    """Neither whoever writes a row by hand nor a page that submits what a link, record or plan file says."""
    said: list[str] = []
    with pytest.raises(check.BadRequest):
        check.read(json.dumps({"kind": "run"} | way), BYTES, ())
    job_queue.submit(JobRequest(request=DUMMY, label="x"))
    write(job_queue, request=json.dumps({"kind": "run"} | way))
    world = World()
    Worker(job_queue.home, Fake(world), say=said.append).step()
    assert world.begun == []
    assert (job_queue.job(1).state, job_queue.actions(1)[-1].action) == ("failed", "refused start")
    assert said == [f"job 1 {job_queue.job(1).message}"]


def test_a_record_leads_to_no_source_where_a_page_measures_it_again(job_queue, tmp_path):
    """Whoever's run was imported, and whatever file its records name."""
    write_run(tmp_path / "run", [make_record(suite="own", model="evil.py:Net@00000000")])
    file = read_run_file(tmp_path / "run")
    entries = rerun.planned(file, [(entry.experiment_id, entry.environment) for entry in file.plan])
    assert len(entries) == 1
    with pytest.raises(Refused, match="only the command that named it knows its source"):
        job_queue.submit(JobRequest(request=rerun.rerun(file, entries), label="again"))
    assert [each.action for each in job_queue.actions()] == ["refused submit"]


def test_a_listed_source_is_for_those_who_are_listed_and_no_name_counts_without_a_login(job_queue):
    """What a job may name is a word of the server's own file, which alone leads to a source."""
    models = '[models.net]\nsource = "net.py"\nlaunch = ["ann"]\n[models.open]\nsource = "net.py"\nlaunch = ["*"]\n'
    (job_queue.home / "xlabench.toml").write_text(f'[roles]\nlaunch = ["*"]\n{models}')

    def asks(who: str, name: str, *, verified: bool) -> JobQueue:
        asking = JobQueue(job_queue.home, Person(who, verified), Access(loopback=not verified, login=verified))
        job_request = JobRequest(request=RunRequest(selection=Selection(only=(f"own/{name}",))), label=who)
        job = asking.submit(job_request)
        assert words(check.read(job.request, BYTES, (), {name})) == ["run", f"--only=own/{name}"]
        return asking

    asks("ann", "net", verified=True)
    asks("eve", "open", verified=True)
    for who, verified in (("eve", True), ("ann", False)):
        with pytest.raises(Refused, match=r"You may not launch own/net"):
            asks(who, "net", verified=verified)
    assert [each.action for each in job_queue.actions()] == ["submit", "submit", "refused submit", "refused submit"]
    write(job_queue, who="ann", verified=False, request='{"kind":"run","selection":{"only":["own/net"]}}')
    Worker(job_queue.home, Fake(World()), say=lambda _: None).step()
    assert job_queue.job(2).message.startswith("refused: You may not launch own/net")


def test_no_label_leads_out_of_the_runs(job_queue):
    for label in ("../../etc", "/etc/passwd", "..", ".", "-rf", "a/../../b", "$(id)"):
        name = run_name(job_queue.submit(JobRequest(request=DUMMY, label=label)))
        assert "/" not in name
        assert (Path("/runs") / name).resolve().parent == Path("/runs")


LARGEST = 2**63 - 1
BY_HAND = {
    "request": [
        '{"kind":"run","argv":["/bin/sh","-c","id"]}',
        '{"kind":"run","selection":{"suite_name":["dummy"]},"command":"id"}',
        '{"kind":"run","environments":["/bin/sh"]}',
        '{"kind":"run","environments":["x=/bin/sh"]}',
        '{"kind":"run","selection":{"models_file":"/etc/passwd"}}',
        '{"kind":"run","protocol":{"env":{"LD_PRELOAD":"/tmp/evil.so"}}}',
        '{"kind":"run","configuration":{"xla_flags":[["--xla_dump_to=/etc"]]}}',
        '{"kind":"confirm","old":"--home=/tmp","new":"b"}',
        '{"kind":"run","\\u001b]0;owned\\u0007":1}',
        "[" * 100_000,
        '{"kind":"run","environments":["' + "x" * BYTES + '"]}',
    ],
    "attempts": [-1, LARGEST],
    "tries_left": [0, -LARGEST],
    "timeout_s": [0.0, -1.0, 9e999, 1e12],
    "label": ["", " ", "x" * 100_000, "a\nb", "\x1b[2J", "x\0y"],
}


def write(job_queue: JobQueue, **values: object) -> None:
    """Change the newest row by hand, past everything of ours."""
    sets = ", ".join(f"{name} = :{name}" for name in values)
    with closing(sqlite3.connect(job_queue.state)) as con, con:
        con.execute(f"UPDATE jobs SET {sets} WHERE job_id = (SELECT max(job_id) FROM jobs)", values)


def test_rows_that_somebody_wrote_are_refused_with_their_reason_and_hold_up_no_other(job_queue):
    said: list[str] = []
    forged = [(name, value) for name, values in BY_HAND.items() for value in values]
    for name, value in forged:
        job_queue.submit(JobRequest(request=DUMMY, label="x", priority=1))
        write(job_queue, **{name: value})
    good = job_queue.submit(JobRequest(request=DUMMY, label="mine")).job_id
    world = World()
    Worker(job_queue.home, Fake(world), say=said.append).step()
    assert list(world.begun) == [(good, 1)]
    for number, what in enumerate(forged, 1):
        job = job_queue.job(number)
        assert (job.state, job.message[:9]) == ("failed", "refused: "), what
        assert len(job.message) <= 1010
        last = job_queue.actions(number)[-1]
        assert (last.action, last.who) == ("refused start", "worker")
        assert f"job {number} {job.message}" in said


def test_a_row_gives_no_more_tries_than_the_home(job_queue):
    job_queue.submit(JobRequest(request=DUMMY, label="x"))
    write(job_queue, tries_left=LARGEST)
    Worker(job_queue.home, Fake(World()), say=lambda _: None).step()
    assert (job_queue.job(1).state, job_queue.job(1).tries_left) == ("running", 2)


def test_a_row_names_no_process_that_is_ended_and_no_folder_that_is_used(job_queue, tmp_path, monkeypatch):
    """What the row says of process, host and folder is for readers: the worker asks the folder of the attempt."""
    monkeypatch.setenv(devices.FOLDER_VARIABLE, str(tmp_path / "locks"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        job_queue.submit(JobRequest(request=DUMMY, label="x"))
        forged = {"state": "running", "executor": "local", "host": "$(id)", "folder": str(elsewhere), "run_id": "../x"}
        write(
            job_queue, **forged, pid=bystander.pid, pid_started_at=0.0, attempts=4, tries_left=0, cancel_wanted_at=1.0
        )
        Worker(job_queue.home, Local(job_queue.home), say=lambda _: None).step()
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
    assert job_queue.job(1).state == "cancelled"
    assert list(elsewhere.iterdir()) == []


def test_a_forged_row_cannot_choose_what_is_executed(job_queue, tmp_path, monkeypatch):
    """Whatever else the row holds, its process gets the request as data, and words and environment of the worker."""
    monkeypatch.setenv(devices.FOLDER_VARIABLE, str(tmp_path / "locks"))
    script = "import os, sys; print(open(sys.argv[2]).read(), sys.argv[1:], os.getcwd(), 'EVIL' in os.environ)"
    worker = Worker(job_queue.home, Local(job_queue.home, command=(sys.executable, "-c", script)), say=lambda _: None)
    job_queue.submit(JobRequest(request=DUMMY, label="x"))
    write(
        job_queue,
        folder="/etc",
        host="evil",
        run_id="evil",
        who="--home=/etc",
        why="$(id)",
        key="; id",
        executor="evil",
    )
    _until_over(worker, job_queue)
    told = folder.of(job_queue.home, 1, 1).log_tail()
    for evil in ("/etc", "evil", "$(id)", "; id"):
        assert evil not in told
    request, _, argv = told.partition("} [")
    assert msgspec.json.decode(request + "}", type=JobWork).request == DUMMY
    place, home = folder.of(job_queue.home, 1, 1).work, job_queue.home.resolve()
    assert argv.startswith(f"'carry-out', '{place}', '--home={home}', '--output-dirname={home}/runs/")
    assert told.endswith(f"{Path.cwd()} False\n")


def _until_over(worker: Worker, job_queue: JobQueue) -> None:
    deadline = time.monotonic() + 60
    while job_queue.job(1).state != "done":
        worker.step()
        assert time.monotonic() < deadline, job_queue.job(1)
        time.sleep(0.02)


@pytest.mark.parametrize("cron", ["* * * * *; id", "$(id) * * * *", "", "* * * * * *", "x" * 100_000])
def test_a_forged_recurring_run_is_said_and_starts_nothing(job_queue, cron):
    said: list[str] = []
    job_queue.submit(JobRequest(request=DUMMY, label="x"))
    row = {"name": "\x1b[2J", "cron": cron, "request": '{"kind":"shell"}', "priority": 0, "late": 1.0, "who": "x"}
    with closing(sqlite3.connect(job_queue.state)) as con, con:
        con.execute(
            "INSERT INTO schedules (name, cron, request, priority, late_after_s, who, verified, created_at)"
            " VALUES (:name, :cron, :request, :priority, :late, :who, 0, 0)",
            row,
        )
    world = World()
    Worker(job_queue.home, Fake(world), say=said.append).step()
    assert world.begun == [(1, 1)]
    assert len([text for text in said if "recurring run" in text]) == 1


@pytest.mark.parametrize(
    ("name", "label", "why", "key"),
    [("n" * 201, "x", "", ""), ("ann", "l" * 201, "", ""), ("ann", "x", "w" * 4001, ""), ("ann", "x", "", "k" * 201)],
)
def test_words_that_are_too_long_are_refused_and_what_is_kept_of_them_has_an_end(job_queue, name, label, why, key):
    asked = JobQueue(job_queue.home, Person(name))
    with pytest.raises(Refused, match=r"and at most [0-9]+ are allowed"):
        asked.submit(JobRequest(request=DUMMY, label=label, why=why, key=key))
    [kept] = asked.actions()
    assert kept.action == "refused submit"
    assert len(kept.who) <= 200
    assert "characters" in kept.detail


def test_a_request_of_the_longest_size_is_taken_and_one_byte_more_is_not(job_queue):
    text = encode(DUMMY)
    (job_queue.home / "xlabench.toml").write_text(f"[jobs]\nrequest_bytes = {len(text)}\n")
    job_queue.submit(JobRequest(request=DUMMY, label="x"))
    (job_queue.home / "xlabench.toml").write_text(f"[jobs]\nrequest_bytes = {len(text) - 1}\n")
    world = World()
    Worker(job_queue.home, Fake(world), say=lambda _: None).step()
    assert world.begun == []
    assert f"The request has {len(text)} bytes" in job_queue.job(1).message


def test_no_terminal_obeys_a_row(job_queue):
    """`jobs show` and `list` print one line for each thing, whatever somebody has written into the table."""
    job_queue.submit(JobRequest(request=DUMMY, label="x"))
    evil = "\x1b]0;owned\x07\nrefused by nobody"
    texts = dict.fromkeys(("label", "who", "why", "message", "run_id", "folder", "request", "host"), evil)
    write(job_queue, **texts, pid=1)
    job, honest = job_queue.job(1), msgspec.structs.replace(job_queue.job(1), **dict.fromkeys(texts, "x"))
    for shown in (jobs_text.details(job, job_queue.actions(1), "text"), jobs_text.table([job], {}, "text", {1: evil})):
        assert all(line.isprintable() for line in shown.splitlines())
    assert jobs_text.details(job, (), "text").count("\n") == jobs_text.details(honest, (), "text").count("\n")
    assert jobs_text.table([job], {}, "text", {1: evil}).count("\n") == 2


def test_a_request_that_is_nested_without_an_end_can_be_printed(job_queue):
    job_queue.submit(JobRequest(request=DUMMY, label="x"))
    write(job_queue, request="[" * 100_000)
    assert json.loads(jobs_text.details(job_queue.job(1), (), "json"))["request"][:2] == "[["
