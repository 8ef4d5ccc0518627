"""The peer rule gives what `benchmarks/aggregate.py` of PyTorch/XLA prints, character for character."""

import csv
import io
import itertools
import json
from pathlib import Path

import pytest

from store import query
from store.errors import UsageError
from store.ingest import ingest
from store.report import PeerOptions, peer_report, render
from store.report.peer import titles
from store.report.pictures import PictureSize, plot
from tests.store import aggregate
from tests.store.factory import demo_runs, make_record, write_run
from tests.store.peer_records import peer_record, write_peer

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "store" / "peer_rule"
REPORTS = ("speedup", "latest", "latest_grouped", "histogram")
ALL_FOUR = ("inductor", "openxla+dynamo", "openxla+lazytensor", "eager")
TESTS = {"eval": "inference", "train": "training"}


def options_of(name):
    """Return options from a golden file's name: report.test.metric.baseline.first-backend."""
    kind, test, metric, baseline, first = name.split(",")
    backends = (first, *(backend for backend in ALL_FOUR if backend != first))
    if kind == "latest_grouped":  # aggregate.py ends with a KeyError on a backend that has no newest result
        backends = tuple(backend for backend in backends if backend != "openxla+lazytensor")
    return PeerOptions(kind=kind, test=test, metric=metric, baseline=baseline, backends=backends)


def arguments_of(options, form):
    return [
        f"--report={options.kind}",
        f"--test={TESTS[options.test]}",
        f"--metric={options.metric}",
        f"--baseline={options.baseline}",
        f"--format={form}",
        *(f"--filter={pattern}" for pattern in options.include),
        *(f"--exclude={pattern}" for pattern in options.exclude),
        "--backends",
        *options.backends,
    ]


def csv_of(con, options):
    return render(peer_report(con, options), "csv")


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generated")
    with query.connect(ingest([GOLDEN / "records.jsonl"], folder / "store").snapshot) as con:
        yield con


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.csv")), ids=lambda path: path.stem)
def test_golden_reports_are_reproduced(generated, golden):
    """The expected files are what aggregate.py printed for records.jsonl."""
    assert csv_of(generated, options_of(golden.stem)) == golden.read_text()


def test_there_are_golden_files():
    assert len(list(GOLDEN.glob("*.csv"))) >= 16


def test_it_says_how_many_records_other_rules_would_not_use(tmp_path):
    results = [
        make_record(backend="inductor"),
        make_record(backend="eager", status="disturbed"),
        make_record(backend="openxla+dynamo", verification_code="FAIL"),
    ]
    write_run(tmp_path / "runs" / "one", results)
    with query.connect(ingest([tmp_path], tmp_path / "store").snapshot) as con:
        report = peer_report(con, PeerOptions(backends=ALL_FOUR))
    assert len(report.tables[0].rows) == 1
    [note] = report.notes
    assert note.startswith("3 records, of these 1 disturbed by other programs and 1 with a wrong answer.")


def test_it_says_how_many_records_it_cannot_tell_from_others(tmp_path):
    """To this rule both are inductor: the speedup is that of the last record."""
    results = [make_record(backend="eager"), make_record(), make_record(compile_mode="max-autotune")]
    write_run(tmp_path / "runs" / "one", results)
    with query.connect(ingest([tmp_path], tmp_path / "store").snapshot) as con:
        [note] = peer_report(con, PeerOptions(backends=("eager", "inductor"))).notes
    assert note.startswith("1 record has a later one of the same model, backend, batch size and time, ")


@pytest.fixture(scope="module")
def real():
    if aggregate.checkout() is None:
        pytest.skip("$PYTORCH_XLA_DIR names no checkout of pytorch/xla with benchmarks/aggregate.py")


@pytest.fixture(scope="module")
def readable(tmp_path_factory, peer_files):
    """The peer's files without the records of which its own aggregator dies: those whose total_time is null."""
    folder = tmp_path_factory.mktemp("readable")
    for path in sorted(peer_files.glob("*.jsonl")):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        write_peer(folder / path.name, [record for record in records if record["metrics"].get("total_time")])
    return sorted(folder.glob("*.jsonl"))


@pytest.fixture(scope="module")
def peer_con(tmp_path_factory, peer_files):
    folder = tmp_path_factory.mktemp("peer")
    with query.connect(ingest([peer_files], folder / "store").snapshot) as con:
        yield con


def selections():
    """Every selection of backends, the first of which is the baseline; the order of the others counts, too."""
    return [chosen for count in range(1, 5) for chosen in itertools.permutations(ALL_FOUR, count)]


@pytest.mark.parametrize("accelerator", ["v100", "a6000"])
def test_the_peers_files_give_what_it_prints(tmp_path, real, peer_con, readable, accelerator):
    """Every report, baseline, test, metric and selection of backends; where aggregate.py ends with an error, as it does
    for a backend without any speedup, ours may give what there is."""
    cases = [
        PeerOptions(kind=kind, test=test, metric=metric, baseline=baseline, accelerator=accelerator, backends=backends)
        for kind, test, baseline in itertools.product(REPORTS, TESTS, ("oldest", "latest"))
        for metric, chosen in (("exec", selections()), ("compile", itertools.permutations(ALL_FOUR, 2)))
        for backends in chosen
    ]
    calls = [arguments_of(options, "csv") for options in cases]
    expected = aggregate.outputs(tmp_path / "work", readable, accelerator, calls)
    printed = [(options, text.decode()) for options, text in zip(cases, expected, strict=True) if text is not None]
    assert len(printed) > len(cases) / 3
    for options, text in printed:
        assert csv_of(peer_con, options) == text, options


def test_its_pictures_are_ours_to_the_pixel(tmp_path, real, peer_con, readable):
    pytest.importorskip("matplotlib", reason="pictures need the extra `plots`")
    cases = [PeerOptions(kind=kind, accelerator="v100") for kind in REPORTS]
    calls = [["--title=second line", "--fig-width=5", *arguments_of(options, "png")] for options in cases]
    expected = aggregate.outputs(tmp_path / "work", readable, "v100", calls)
    for options, picture in zip(cases, expected, strict=True):
        report = peer_report(peer_con, options)
        assert plot(report, options, titles(options), "png", PictureSize(width=5), "second line") == picture, (
            options.kind
        )


def test_a_picture_can_be_had_as_svg(generated):
    pytest.importorskip("matplotlib", reason="pictures need the extra `plots`")
    options = PeerOptions(kind="latest", backends=ALL_FOUR)
    drawn = plot(peer_report(generated, options), options, titles(options), "svg")
    assert drawn.startswith(b"<?xml")
    assert b"XLA+LazyTensor" in drawn


def test_nothing_to_draw_is_a_usage_error(generated):
    options = PeerOptions(suite=("nothing",))
    with pytest.raises(UsageError, match="nothing to draw"):
        plot(peer_report(generated, options), options, titles(options), "png")


def test_files_count_in_the_order_in_which_they_are_named(tmp_path, real):
    """Of equal keys the last one counts, also where a file repeats a record of another."""
    first = write_peer(tmp_path / "b.jsonl", [peer_record(), peer_record(total_time=(9.0, 1.0, 1.0, 0.5, 0.5))])
    second = write_peer(tmp_path / "a.jsonl", [peer_record(), peer_record("dcgan")])
    base = write_peer(tmp_path / "c.jsonl", [peer_record(backend="eager"), peer_record("dcgan", backend="eager")])
    with query.connect(ingest([tmp_path], tmp_path / "store").snapshot) as con:
        for named in ([first, second, base], [second, base, first]):
            options = PeerOptions(kind="latest", backends=("eager", "inductor"), files=tuple(map(str, named)))
            [expected] = aggregate.run_aggregate(tmp_path / "work", named, "Example", [arguments_of(options, "csv")])
            assert csv_of(con, options) == expected


def test_the_grid_is_the_peers(tmp_path, real, peer_con, readable):
    cases = [PeerOptions(kind=kind, accelerator="v100") for kind in REPORTS]
    calls = [arguments_of(options, "tab") for options in cases]
    expected = aggregate.run_aggregate(tmp_path / "work", readable, "v100", calls)
    assert [render(peer_report(peer_con, options, grid=True), "tab") for options in cases] == expected


@pytest.mark.parametrize("seed", range(3))
def test_generated_records_give_what_it_prints(tmp_path, real, seed):
    path = write_peer(tmp_path / "records.jsonl", aggregate.generated(seed))
    cases = [
        PeerOptions(kind=kind, backends=ALL_FOUR, include=("a", "^d"), exclude=("vgg", "LEX"), test=test)
        for kind in ("speedup", "latest", "histogram")
        for test in TESTS
    ]
    calls = [arguments_of(options, "csv") for options in cases]
    expected = aggregate.run_aggregate(tmp_path / "work", [path], "Example", calls)
    with query.connect(ingest([path], tmp_path / "store").snapshot) as con:
        assert [csv_of(con, options) for options in cases] == expected


def test_our_own_records_give_what_it_prints(tmp_path, real):
    """The peer's reader takes our results.jsonl as it is.

    Speedups that agree to the last digit printed may stand in another order: sums of floats end in another last bit.
    """
    demo_runs(tmp_path)
    files = sorted(tmp_path.glob("runs/*/results.jsonl"))
    options = PeerOptions(backends=ALL_FOUR, kind="latest")
    [expected] = aggregate.run_aggregate(tmp_path / "work", files, "Example", [arguments_of(options, "csv")])
    with query.connect(ingest([tmp_path], tmp_path / "store").snapshot) as con:
        assert _by_backend(csv_of(con, options)) == _by_backend(expected)


def _by_backend(text):
    """Return the header, and the sorted cells (speedup, deviation, model) of each backend."""
    header, *rows = csv.reader(io.StringIO(text.rstrip()))
    return header, [sorted(tuple(row[place : place + 3]) for row in rows) for place in range(1, len(header), 3)]


def test_test_names_of_both_are_accepted(generated):
    assert csv_of(generated, PeerOptions(test="training")) == csv_of(generated, PeerOptions(test="train"))
    with pytest.raises(UsageError, match="Choose eval or train"):
        csv_of(generated, PeerOptions(test="both"))


def test_several_accelerators_are_never_mixed(tmp_path):
    records = [peer_record(accelerator_model=name) for name in ("GPU one", "GPU two")]
    path = write_peer(tmp_path / "a.jsonl", records)
    with query.connect(ingest([path], tmp_path / "store").snapshot) as con:
        with pytest.raises(UsageError, match=r"GPU one; GPU two.*--accelerator"):
            csv_of(con, PeerOptions())
        assert "1.0,0.0" in csv_of(con, PeerOptions(accelerator="one", kind="latest"))


def test_an_accelerator_that_no_result_has_is_a_usage_error_that_names_those_there_are(tmp_path):
    records = [peer_record(accelerator_model=name) for name in ("GPU one", "GPU two")]
    path = write_peer(tmp_path / "a.jsonl", records)
    said = r"'three'; results that match the other filters have: GPU one, GPU two"
    with query.connect(ingest([path], tmp_path / "store").snapshot) as con, pytest.raises(UsageError, match=said):
        csv_of(con, PeerOptions(accelerator="three"))


def test_a_broken_expression_is_a_usage_error(generated):
    for options in (PeerOptions(include=("(",)), PeerOptions(exclude=("[",)), PeerOptions(accelerator="(")):
        with pytest.raises(UsageError, match="not a regular expression"):
            csv_of(generated, options)


def test_no_baseline_at_the_latest_timestamp_is_a_usage_error(generated):
    with pytest.raises(UsageError, match="--baseline oldest"):
        csv_of(generated, PeerOptions(backends=("openxla+lazytensor", "eager"), baseline="latest"))


@pytest.mark.parametrize("kind", REPORTS)
def test_no_data_is_said_and_not_an_error(generated, kind):
    report = peer_report(generated, PeerOptions(kind=kind, suite=("nothing",)))
    assert report.notes == ("No result matches the filters.",)
    assert all(not table.rows for table in report.tables)
    assert json.loads(render(report, "json"))["notes"]
