"""Which folder a run is measured into."""

import fcntl
import os

import msgspec
import pytest
from runner_makers import ENVIRONMENT, entry, interpreters, plan, record, settings

from runner.errors import PlanMismatch
from runner.schedule.run_folder import new_run, open_folder
from runner.settings import Settings
from store.errors import WriterBusy
from store.record import FAILED, SCHEMA_VERSION
from store.run_file import RESULTS, RUN_FILE, read_run_file, write_run_file
from store.writer import ResultsWriter
from tests.packed import pack_results

PLAN = plan(entry("eager"), entry("inductor"), entry("openxla+dynamo", skip="no torch_xla"))


def identity(*, environments=(ENVIRONMENT,), **changes):
    fields = {"plan": PLAN, "interpreters": interpreters(*environments), "settings": settings(), "label": "a label"}
    return new_run(**{**fields, "command": "xlabench run --suite-name dummy", **changes})


def other(**changes):
    return identity(environments=(msgspec.structs.replace(ENVIRONMENT, **changes),))


def write(folder, *records):
    with ResultsWriter(folder.results) as writer:
        for each in records:
            writer.append(each)


def whole(attempt=1, status="ok"):
    return [*(record(each, status, attempt) for each in PLAN.runnable), record(PLAN.skipped[0], "skipped")]


def test_a_new_run_writes_its_run_json_first(tmp_path):
    """It holds everything the rates need: plan, skips, settings, environment."""
    folder = open_folder(tmp_path, None, identity())
    assert (folder.resumed, folder.path.parent) == (False, tmp_path / "runs")
    file = read_run_file(folder.path)
    assert file == folder.file
    assert (file.plan, file.plan_id) == (list(PLAN.entries), PLAN.plan_id)
    assert (msgspec.convert(file.settings, Settings), file.environments) == (settings(), [ENVIRONMENT])
    assert (file.run.label, file.run.command) == ("a label", "xlabench run --suite-name dummy")
    assert file.schema_version == SCHEMA_VERSION


@pytest.mark.parametrize(
    ("label", "ending"), [("nightly", "-nightly"), ("a b/../c", "-a-b-..-c"), ("", "-run"), ("//", "-run")]
)
def test_a_folder_is_named_by_time_and_label_and_stays_below_runs(tmp_path, label, ending):
    path = open_folder(tmp_path, None, identity(label=label)).path
    assert path.name.endswith(ending)
    assert path.resolve().parent == (tmp_path / "runs").resolve()


def test_runs_of_one_label_started_in_the_same_millisecond_share_no_folder(tmp_path, monkeypatch):
    stamps = iter(["now", "now", "a moment later"])
    monkeypatch.setattr("runner.schedule.run_folder._stamp", lambda: next(stamps))
    folders = [open_folder(tmp_path, None, identity(), resume=False).path.name for _ in range(2)]
    assert folders == ["now-a-label", "a moment later-a-label"]


def test_of_two_that_begin_at_once_one_writes_the_run(tmp_path):
    (tmp_path / "mine").mkdir()
    with ResultsWriter(tmp_path / "mine" / RESULTS), pytest.raises(WriterBusy):
        open_folder(tmp_path, tmp_path / "mine", identity())
    assert not (tmp_path / "mine" / RUN_FILE).exists()
    assert not open_folder(tmp_path, tmp_path / "mine", identity()).resumed, "who was killed at it left nothing"


def test_a_named_folder_is_resumed_even_when_it_is_finished(tmp_path):
    first = open_folder(tmp_path, tmp_path / "mine", identity())
    write(first, *whole())
    second = open_folder(tmp_path, tmp_path / "mine", identity())
    assert (second.resumed, second.path, second.file.run.run_id) == (True, first.path, first.file.run.run_id)


def test_a_resumed_run_keeps_its_label_and_start(tmp_path):
    first = open_folder(tmp_path, tmp_path / "mine", identity())
    second = open_folder(tmp_path, tmp_path / "mine", identity(label="other", command="other"))
    assert second.file == first.file


def test_the_newest_unfinished_equal_run_is_resumed(tmp_path):
    older = open_folder(tmp_path, tmp_path / "runs" / "older", identity())
    newer = open_folder(tmp_path, tmp_path / "runs" / "newer", identity())
    for folder, start in ((older, 1000.0), (newer, 2000.0)):
        folder.file.timestamp = start
        write_run_file(folder.path, folder.file)
    write(newer, record(PLAN.entries[0]))
    found = open_folder(tmp_path, None, identity())
    assert (found.path, found.resumed) == (newer.path, True)
    write(newer, *whole()[1:])
    assert open_folder(tmp_path, None, identity()).path == older.path


def test_a_finished_run_is_left_alone(tmp_path):
    first = open_folder(tmp_path, None, identity())
    write(first, *whole())
    second = open_folder(tmp_path, None, identity())
    assert second.path != first.path
    assert second.file.run.run_id != first.file.run.run_id


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_finished_run_whose_results_are_packed_is_left_alone(tmp_path, suffix):
    first = open_folder(tmp_path, None, identity())
    write(first, *whole())
    pack_results(first.path, suffix)
    assert open_folder(tmp_path, None, identity()).path != first.path
    assert not first.results.exists()


@pytest.mark.parametrize("status", sorted(FAILED))
def test_failures_count_as_finished(tmp_path, status):
    first = open_folder(tmp_path, None, identity())
    write(first, *whole(status=status))
    assert open_folder(tmp_path, None, identity()).path != first.path


def test_a_run_that_broke_off_in_a_second_attempt_is_unfinished(tmp_path):
    """It is resumed, as its group is measured again."""
    first = open_folder(tmp_path, None, identity())
    write(first, *whole(status="crashed"), record(PLAN.entries[0], attempt=2))
    assert open_folder(tmp_path, None, identity()).path == first.path


def test_a_broken_run_json_elsewhere_stops_nothing(tmp_path):
    """One damaged folder must not keep every new run from starting."""
    (tmp_path / "runs" / "broken").mkdir(parents=True)
    (tmp_path / "runs" / "broken" / RUN_FILE).write_text("{")
    assert not open_folder(tmp_path, None, identity()).resumed


@pytest.mark.parametrize(
    "changed",
    [
        {"plan": plan(entry("eager"))},
        {"settings": settings(repeat=3)},
        {"environments": (msgspec.structs.replace(ENVIRONMENT, torch="2.10.0"),)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_run_of_another_kind_is_not_picked_up(tmp_path, changed):
    first = open_folder(tmp_path, None, identity())
    assert open_folder(tmp_path, None, identity(**changed)).path != first.path


@pytest.mark.parametrize(
    ("field", "now"),
    [
        ("python", "3.12.1"),
        ("torch", "2.10.0"),
        ("torch_git", "abc"),
        ("torch_xla", None),
        ("torch_xla_git", "abc"),
        ("torchvision", "0.25"),
        ("transformers", "5.0"),
        ("timm", "1.1"),
        ("torchbench_commit", "abc"),
        ("machine_id", "m2"),
    ],
)
def test_a_named_folder_of_other_versions_or_machine_is_refused_by_field(tmp_path, field, now):
    open_folder(tmp_path, tmp_path / "mine", identity())
    with pytest.raises(PlanMismatch, match=rf"{field} .*\(now {now}\).*--no-resume") as caught:
        open_folder(tmp_path, tmp_path / "mine", other(**{field: now}))
    assert caught.value.exit_code == 2


def test_a_named_folder_with_another_plan_is_refused(tmp_path):
    open_folder(tmp_path, tmp_path / "mine", identity())
    with pytest.raises(PlanMismatch, match="another plan"):
        open_folder(tmp_path, tmp_path / "mine", identity(plan=plan(entry("eager"))))


def test_a_named_folder_with_other_settings_is_refused_by_name(tmp_path):
    open_folder(tmp_path, tmp_path / "mine", identity())
    with pytest.raises(PlanMismatch, match=r"other measurement settings \(seed, repeat\)"):
        open_folder(tmp_path, tmp_path / "mine", identity(settings=settings(repeat=3, seed=7)))


def test_a_setting_that_an_older_run_did_not_know_is_named(tmp_path):
    first = open_folder(tmp_path, tmp_path / "mine", identity())
    del first.file.settings["seed"]
    write_run_file(first.path, first.file)
    with pytest.raises(PlanMismatch, match=r"settings \(seed\)"):
        open_folder(tmp_path, tmp_path / "mine", identity())


def test_another_host_of_the_same_kind_may_resume(tmp_path):
    open_folder(tmp_path, tmp_path / "mine", identity())
    assert open_folder(tmp_path, tmp_path / "mine", other(host="elsewhere")).resumed


@pytest.mark.parametrize("before", [None, "/venvs/old/bin/python"])
def test_an_interpreter_that_has_moved_may_resume(tmp_path, before):
    """Nor do runs of earlier versions, which did not write down where it lay, lose what they measured."""
    first = open_folder(tmp_path, tmp_path / "mine", other(executable=before))
    assert first.file.environments[0].executable == before
    assert open_folder(tmp_path, tmp_path / "mine", other(executable="/venvs/new/bin/python")).resumed


def test_results_without_a_run_json_are_not_touched(tmp_path):
    """They may be a foreign file that someone wants to keep."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / RESULTS).write_text("{}\n")
    with pytest.raises(PlanMismatch, match="use another --output-dirname"):
        open_folder(tmp_path, tmp_path / "mine", identity(), resume=False)
    assert (tmp_path / "mine" / RESULTS).read_text() == "{}\n"


def test_not_resuming_puts_the_old_run_aside_and_deletes_nothing(tmp_path):
    first = open_folder(tmp_path, tmp_path / "mine", identity())
    write(first, *whole())
    (first.path / "logs").mkdir()
    (first.path / "logs" / "one.log").write_text("words")
    before = {path.name: path.read_bytes() for path in first.path.rglob("*") if path.is_file()}
    second = open_folder(tmp_path, tmp_path / "mine", identity(plan=plan(entry("eager"))), resume=False)
    assert (second.path, second.resumed) == (first.path, False)
    assert {path.name: path.stat().st_size > 0 for path in second.path.iterdir()} == {RUN_FILE: True, RESULTS: False}
    (aside,) = tmp_path.glob("mine.old-*")
    assert {path.name: path.read_bytes() for path in aside.rglob("*") if path.is_file()} == before


def test_a_run_that_is_being_measured_is_not_put_aside(tmp_path):
    """Its logs would land in the new run."""
    first = open_folder(tmp_path, tmp_path / "mine", identity())
    descriptor = os.open(first.results, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(WriterBusy):
        open_folder(tmp_path, tmp_path / "mine", identity(), resume=False)
    assert read_run_file(tmp_path / "mine") == first.file
    os.close(descriptor)


def test_not_resuming_without_a_folder_starts_anew(tmp_path):
    first = open_folder(tmp_path, None, identity())
    second = open_folder(tmp_path, None, identity(), resume=False)
    assert second.path != first.path
    assert first.path.exists()


FREE = {"timeout_s": 60.0, "memory_limit_bytes": 1 << 30, "artifact_limit_bytes": 5, "print_subprocess": True}


@pytest.mark.parametrize("name", FREE)
def test_what_changes_no_number_may_change_when_a_run_is_resumed(tmp_path, name):
    """And the resumed run obeys it."""
    first = open_folder(tmp_path, tmp_path / "mine", identity())
    changed = settings(**{name: FREE[name]})
    second = open_folder(tmp_path, tmp_path / "mine", identity(settings=changed))
    assert second.resumed
    assert (first.settings, second.settings) == (settings(), changed)
    assert second.file == first.file


@pytest.mark.parametrize(
    "changed",
    [
        {"verify": "with"},
        {"instruments": ("dump_hlo",)},
        {"collect_dynamo_counters": True},
        {"device_index": 1},
        {"save_ir_format": "hlo"},
        {"tolerance": 0.1},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_changes_a_record_may_not(tmp_path, changed):
    """Half the records of the run would lack it."""
    open_folder(tmp_path, tmp_path / "mine", identity())
    with pytest.raises(PlanMismatch, match=rf"other measurement settings \({next(iter(changed))}\)"):
        open_folder(tmp_path, tmp_path / "mine", identity(settings=settings(**changed)))


def test_settings_with_several_instruments_are_resumed(tmp_path):
    """A file holds a list where the settings hold a tuple."""
    wanted = identity(settings=settings(instruments=("dump_hlo", "save_output")))
    open_folder(tmp_path, tmp_path / "mine", wanted)
    assert open_folder(tmp_path, tmp_path / "mine", wanted).resumed


def two(**changes):
    other_one = msgspec.structs.replace(ENVIRONMENT, name="old", torch="2.8.0", **changes)
    return identity(environments=(ENVIRONMENT, other_one))


def test_every_environment_is_written_down_and_compared(tmp_path):
    first = open_folder(tmp_path, tmp_path / "mine", two())
    assert [each.name for each in first.file.environments] == ["default", "old"]
    assert open_folder(tmp_path, tmp_path / "mine", two()).resumed
    with pytest.raises(PlanMismatch, match=r"environment old: timm None \(now 1\.2\)"):
        open_folder(tmp_path, tmp_path / "mine", two(timm="1.2"))


def test_their_order_does_not_matter(tmp_path):
    open_folder(tmp_path, tmp_path / "mine", two())
    turned = identity(environments=tuple(reversed(two().environments)))
    assert open_folder(tmp_path, tmp_path / "mine", turned).resumed


def test_a_run_that_lacks_a_replica_is_unfinished(tmp_path):
    twice = identity(settings=settings(processes=2))
    first = open_folder(tmp_path, None, twice)
    write(first, *whole())
    assert open_folder(tmp_path, None, twice).path == first.path
    write(first, *(record(each, "ok", 1, 1) for each in PLAN.runnable))
    assert open_folder(tmp_path, None, twice).path != first.path
