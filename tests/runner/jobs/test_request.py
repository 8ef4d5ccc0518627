"""A request is data: nothing of it becomes a path, a shell word or code, and it means what the same flags mean."""

import argparse
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner import flags
from runner.jobs import check
from runner.jobs.request import ConfirmRequest, Needs, RunRequest, decode, encode, needs, of_flags, words
from runner.plan import LocalRequest
from runner.plan.protocol import settings

ENVIRONMENTS = ("nightly",)
BYTES = 1 << 20


def parsed(*line: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    flags.add_plan_flags(parser)
    flags.add_measure_flags(parser)
    return parser.parse_args(line)


LINES = [
    "--suite-name dummy --accelerator cpu --xla None --xla PJRT --dynamo None --dynamo inductor --test inference",
    "--smoke --repeat 5 --processes 2 --verify --dump-hlo --profile-xla --save-ir-format hlo",
    "--suite-name dummy --filter ^dummy_[a-z]+$ --exclude x --only dummy/dummy_nonzero --preset hud --dtype float16",
    "--suite-name dummy --disable-cudagraphs --trace-on-xla --xla-flags --xla_a=true\\ --xla_b=-2 --xla-flags None",
    "--until-stable 0.5% --time-budget 30 --memory-limit 2G --subprocess-timeout 60 --seed 3 --start interpreter",
    "--suite-name dummy --env nightly --inductor-config max_autotune=True --dynamo-config cache_size_limit=4",
    "--with-optimizer Adam --cache both --compile-mode max-autotune --total-partitions 3 --partition-id 2",
    "--suite-name dummy --without-fallback nonzero --without-fallback aten::bucketize.Tensor,nonzero",
    "--suite-name operators --config '{}' --exec-mode discrete --cuda-l2-cache off",
    "--suite-name dummy --backend openxla+lazytensor --backend inductor",
    "--ops-of dummy/dummy --test train --xla None",
    "--keep-model-data-on-cuda --no-optimizer --until-verdict --twins 0 --retry-new-failures 0 --artifact-limit 5M",
]


@pytest.mark.parametrize("line", LINES)
def test_a_job_means_what_the_flags_mean(line):
    """Flags to request to row to words to flags: the same request and the same settings come out."""
    import shlex

    before = parsed(*shlex.split(line))
    request = decode(encode(of_flags(before)))
    assert flags.read(parsed(*words(request)[1:])).request == request
    asked = flags.read(before)
    assert LocalRequest.of_job(request).request == asked.request
    assert settings(LocalRequest.of_job(request)) == settings(asked)


def test_a_trace_is_a_file_and_no_job_has_one(tmp_path):
    trace = tmp_path / "trace.json"
    trace.write_text("{}")
    with pytest.raises(Exception, match=r"is a file, but a job contains only data.*operators\.json"):
        of_flags(parsed("--ops-of", str(trace)))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ops_of": "dummy/nobody"}, "there is no model 'dummy/nobody'"),
        ({"ops_of": "nowhere/dummy"}, "--ops-of nowhere/dummy: "),
        ({"ops_of": "dummy/../../etc/passwd"}, "Expected `str` matching regex"),
        ({"ops_of": "/etc/passwd"}, "Expected `str` matching regex"),
        ({"ops_of": "dummy/dummy", "config": ["{}"]}, "--ops-of selects the experiments"),
        ({"ops_of": "dummy/dummy", "test": ["eval", "train"]}, "--ops-of records one test"),
    ],
)
def test_operators_of_a_model_are_those_of_one_that_there_is(given, said):
    request = {"ops_of": "dummy/dummy"}
    assert check.read(json.dumps({"kind": "run", "selection": request}), BYTES, ())
    with pytest.raises(check.BadRequest) as caught:
        check.read(json.dumps({"kind": "run", "selection": given}), BYTES, ())
    assert said in str(caught.value)


def test_a_configuration_of_operators_is_read_where_it_lies(tmp_path):
    content = '{"torch.neg": {"input_data_generator": "PyTorch:DefaultDataGenerator", "config": []}}'
    path = tmp_path / "ops.json"
    path.write_text(content + "\n")
    request = of_flags(parsed("--suite-name", "operators", "--config", str(path)))
    assert request.selection.config == (content,)
    assert str(tmp_path) not in encode(request)
    with pytest.raises(Exception, match="No such file"):
        of_flags(parsed("--suite-name", "operators", "--config", str(path) + "x"))


@pytest.mark.parametrize(
    ("beside", "says"),
    [
        ("--suite-name=dummy", "remove --suite-name "),
        ("--dtype=amp", "remove --dtype "),
        ("--total-partitions=2", "measures all of a plan"),
    ],
)
def test_what_would_be_lost_beside_a_plan_is_refused(tmp_path, beside, says):
    """The job was queued and measured the plan as if the flag had not been typed."""
    path = tmp_path / "plan.yaml"
    path.write_text(json.dumps(json.loads(plan())["plan"]))
    assert of_flags(parsed("--plan", str(path), "--env", "nightly")).plan is not None
    with pytest.raises(Exception, match=says):
        of_flags(parsed("--plan", str(path), "--env", "nightly", beside))


def test_the_words_of_a_confirmation():
    request = ConfirmRequest(old="last week", new="latest", run="abc", processes=4)
    assert words(request) == ["compare", "last week", "latest", "--confirm=suspected", "--run=abc", "--processes=4"]
    one = ConfirmRequest(old="a", new="b", experiments=("0f", "1e"))
    assert words(one)[3:] == ["--confirm=suspected", "--experiment=0f", "--experiment=1e"]


@pytest.mark.parametrize(
    "line",
    ["--models-file x", "--torchbench-dir /tmp", "--env nightly=/bin/sh", "--xla-flags=--xla_dump_to=/etc"],
)
def test_flags_that_name_files_are_refused(line):
    with pytest.raises(Exception, match=r"names a file or folder|can only use environments|does not support this"):
        of_flags(parsed(line.split()[0], *line.split()[1:]))


EVIL = ("; rm -rf /", "$(id)", "`id`", "../../etc/passwd", "/bin/sh", "--home=/tmp", "-x", "a\nb", "a\0b", "é" * 300)
TEXTS = {
    "selection": ("suite_name", "dynamo", "only", "xla", "test", "accelerator", "filter"),
    "configuration": ("with_optimizer", "loss", "dtype", "compile_mode", "weights", "preset", "cache"),
    "protocol": ("start", "interleave", "save_ir_format"),
}
LISTS = ("suite_name", "dynamo", "only", "xla", "test", "accelerator", "filter", "environments")


@pytest.mark.parametrize("evil", EVIL)
def test_no_field_takes_a_path_a_flag_or_a_shell_word(evil):
    """A filter takes blanks and slashes, as it is matched with names only; it stands in its flag's own word."""
    for group, names in TEXTS.items():
        for name in names:
            value = [evil] if name in LISTS else evil
            row = json.dumps({"kind": "run", group: {name: value}})
            try:
                request = check.read(row, BYTES, ENVIRONMENTS)
            except check.BadRequest:
                continue
            assert name == "filter"
            assert words(request) == ["run", f"--filter={evil}"]
    for row in ({"kind": "run", "environments": [evil]}, {"kind": "confirm", "old": evil, "new": "b"}):
        with pytest.raises(check.BadRequest):
            check.read(json.dumps(row), BYTES, ENVIRONMENTS)


@pytest.mark.parametrize(
    "row",
    [
        "",
        "null",
        "[]",
        "{}",
        '{"kind":"shell","command":"id"}',
        '{"kind":"run","command":"id"}',
        '{"kind":"run","selection":{"path":"/etc"}}',
        '{"kind":"run","selection":{"suite_name":"dummy"}}',
        '{"kind":"run","selection":{"suite_name":["nosuch"]}}',
        '{"kind":"run","selection":{"suite_name":["dummy"],"only":["nosuch"]}}',
        '{"kind":"run","selection":{"suite_name":["dummy"],"filter":["zzz"]}}',
        '{"kind":"run","selection":{"suite_name":["dummy"],"filter":["("]}}',
        '{"kind":"run","selection":{"suite_name":["dummy"],"filter":["(a+)+b"]}}',
        '{"kind":"run","selection":{"dynamo":["nvfuser"]}}',
        '{"kind":"run","protocol":{"repeat":0}}',
        '{"kind":"run","protocol":{"repeat":1e999}}',
        '{"kind":"run","protocol":{"processes":true}}',
        '{"kind":"run","protocol":{"instruments":["rm"]}}',
        '{"kind":"run","protocol":{"verify":true,"verify_only":true}}',
        '{"kind":"run","environments":["other"]}',
        '{"kind":"run","configuration":{"inductor_config":[["cpp.cxx","/tmp/evil"]]}}',
        '{"kind":"confirm","old":"a"}',
        '{"kind":"confirm","old":"a","new":"b","processes":1}',
        "[" * 100_000,
        '{"kind":"run","environments":["' + "x" * BYTES + '"]}',
    ],
)
def test_what_is_of_another_form_is_refused_with_one_sentence(row):
    with pytest.raises(check.BadRequest) as error:
        check.read(row, BYTES, ENVIRONMENTS)
    assert "\n" not in str(error.value)


def plan(**config) -> str:
    base = {"suite_name": "dummy", "model_name": "dummy_nonzero", "test": "eval", "accelerator": "cpu"}
    experiments = [{"config": base | config, "environment": "nightly"}]
    return json.dumps(
        {"kind": "run", "environments": ["nightly"], "plan": {"schema_version": 1, "experiments": experiments}}
    )


def test_a_plan_is_data_as_well():
    request = check.read(plan(xla="PJRT", overrides={"inductor.max_autotune": "True"}), BYTES, ENVIRONMENTS)
    assert isinstance(request, RunRequest)
    assert words(request) == ["run", "--env=nightly"]
    assert needs(request) == Needs(accelerators=("cpu",), environments=("nightly",))


def test_a_plan_waits_for_the_device_that_its_settings_name():
    row = json.loads(plan())
    row["plan"]["settings"] = {"device_index": 1}
    assert needs(decode(json.dumps(row))).device_index == 1
    row["protocol"] = {"device_index": 2}
    assert needs(decode(json.dumps(row))).device_index == 2


@pytest.mark.parametrize(
    "config",
    [
        {"model_name": "nosuch"},
        {"suite_name": "nosuch"},
        {"command": "id"},
        {"dtype": "../x"},
        {"dynamo": "--home=/tmp"},
        {"xla_flags": ["--xla_dump_to=/etc"]},
        {"overrides": {"inductor.cpp.cxx": "/tmp/evil"}},
        {"overrides": {"os.system": "1"}},
        {"test": "both"},
    ],
)
def test_a_plan_with_a_wrong_experiment_is_refused(config):
    with pytest.raises(check.BadRequest):
        check.read(plan(**config), BYTES, ENVIRONMENTS)


@given(st.text(max_size=200))
def test_any_text_is_refused_or_a_request(text):
    """Nothing but the one error leaves the check."""
    try:
        check.read(text, BYTES, ENVIRONMENTS)
    except check.BadRequest:
        return
    raise AssertionError(text)
