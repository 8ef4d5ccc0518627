"""What is exported and ingested again says what it said before, as far as the format has words for it."""

import json
import shutil

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from store.exporters import export
from store.identity import canonical
from tests.store.exporters import strategies
from tests.store.exporters.conftest import content
from tests.tiers import first_of

PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""Without shrinking: an example takes a second, and shrinking hundreds of them."""
few = settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("written")


def test_each_format_keeps_every_field_that_it_has(read, reimported, folder):
    """Of records of every kind; our own formats are the identity."""
    look_at_each(read, reimported, folder, strategies.telling())


@pytest.mark.thorough
@few
@given(drawn=strategies.everything(least_peers=1))  # of ours it may be that none can be written as the peer's
def test_each_format_keeps_every_field_of_any_records(read, reimported, folder, drawn):
    look_at_each(read, reimported, folder, drawn)


def look_at_each(read, reimported, folder, drawn):
    one = read(strategies.write(folder / "all", drawn))
    before = content(one)
    for form in ("jsonl", "parquet"):
        assert content(reimported(one, form)[0]) == before
    look_at_csv(one, *reimported(one, "hud-csv"))
    look_at_peer(one, *reimported(one, "peer"), drawn["peers"])


@pytest.mark.parametrize("form", first_of(["jsonl", "parquet"]))
def test_a_plan_whose_file_is_gone_is_written_from_the_index(read, reimported, folder, form):
    from tests.store.factory import make_config, make_record, write_run

    records = [make_record(), make_record(model="dcgan", status="skipped", per_iter=(), randomize_input=True)]
    planned = [make_config(model="vgg16", amp_dtype="bfloat16", include_transfers=True, weights="pretrained")]
    run = write_run(folder / f"gone-{form}", records, planned)
    one = read([run])
    shutil.rmtree(run)
    two, output = reimported(one, form)
    assert content(two) == content(one)
    assert json.loads(next(output.rglob("run.json")).read_text())["run"]["run_id"] == "run-1"


WORDS = "suite, model, test, dtype, accelerator, accelerator_model, variant, accuracy"
NUMBERS = (
    "batch_size, hud_speedup, abs_latency_ms, compilation_latency_s, compression_ratio, eager_peak_gb, dynamo_peak_gb"
)


def words_of(con):
    """A failure has no batch size in these formats, so that of several of one model one is left."""
    return set(con.execute(f"SELECT {WORDS} FROM hud_rows").fetchall())


def numbers_of(con):
    """The numbers of rows with a speedup: what failed has none in these formats."""
    query = f"SELECT model, test, variant, {NUMBERS} FROM hud_rows WHERE hud_speedup IS NOT NULL"
    return sorted(con.execute(query).fetchall(), key=repr)


@pytest.mark.thorough
@few
@given(drawn=strategies.everything())
def test_hud_json_keeps_every_field_that_it_has(read, reimported, folder, drawn):
    one = read(strategies.write(folder / "json", drawn))
    two, _ = reimported(one, "hud-json")
    assert words_of(two) == words_of(one)
    assert numbers_of(two) == numbers_of(one)


def look_at_csv(one, two, output):
    """It keeps every field to its six decimals."""
    assert words_of(two) == words_of(one)
    for ours, theirs in zip(numbers_of(one), numbers_of(two), strict=True):
        assert theirs[:4] == ours[:4]
        assert theirs[4:] == pytest.approx(ours[4:], abs=5.1e-7)
    export(two, "hud-csv", output=output.with_name("second"))
    assert files(output.with_name("second")) == files(output), "a second export writes the same lines"


FAILURE = ",0,0.000000,0.000000"
"""How the harness writes that there is no speedup: without a batch size, so that one of several of a model is left."""


def files(folder):
    """Return the lines of each file but those of failures."""
    return {
        (path.name, frozenset(line for line in path.read_text().split("\n") if FAILURE not in line))
        for path in folder.rglob("*.csv")
    }


def look_at_peer(one, two, output, peers):
    """Records of the peer come back whole, ours with the peer's keys; in the order of their files."""
    found = [json.loads(line) for line in output.read_bytes().splitlines()]
    theirs = [line for line in found if "keep_model_data_on_cuda" not in line["experiment"]]
    expected = [with_needed(record) for record in peers]
    assert sorted(theirs, key=canonical) == sorted(expected, key=canonical)
    kept = (
        "model, test, backend, accelerator, accelerator_model, batch_size, repeat, iterations_per_run, run_started, "
        "verification_code, record ->> '$.metrics.total_time', record ->> '$.metrics.error'"
    )
    whole = "SELECT * REPLACE (whole_text(records) AS record) FROM records"
    shown = "source = 'peer' OR (backend <> 'aot_eager' AND record_id IN (SELECT detail_record_id FROM results))"
    assert sorted(two.execute(f"SELECT {kept} FROM ({whole})").fetchall(), key=repr) == sorted(
        one.execute(f"SELECT {kept} FROM ({whole}) WHERE ({shown}) AND purpose = 'benchmark'").fetchall(), key=repr
    )


def with_needed(record):
    metrics = record["metrics"]
    kept = metrics if "error" in metrics or "total_time" in metrics else {}
    experiment = {"torch_xla2": None, "xla_flags": None} | record["experiment"]
    return record | {"experiment": experiment, "metrics": kept}
