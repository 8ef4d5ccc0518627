"""A flag of theirs as data: what the parser makes of it, and what it becomes here."""

import msgspec
import pytest

from runner.peer_cli.table import PeerFlag, PeerFlags

TABLE = PeerFlags(
    required=("mode",),
    flags=(
        PeerFlag(names=("--repeat", "-n"), takes="int", default=30, gives="--repeat={}"),
        PeerFlag(names=("--filter", "-k"), takes="text", many=True, gives="--filter={}"),
        PeerFlag(names=("--fixed",), gives="--inductor-config=a=1 --fullgraph"),
        PeerFlag(names=("--code",), takes="text", honoured="in code"),
        PeerFlag(names=("--noise",), ignored="there is none"),
        PeerFlag(names=("--gone",), takes="text", refused="it is gone; use another"),
        PeerFlag(names=("--compilers",), takes="text", several=True, gives="--dynamo={}"),
        PeerFlag(names=("--left",), group="mode", gives="--left-of-ours"),
        PeerFlag(names=("--right",), group="mode", gives="--right-of-ours"),
    ),
)


def words(*given):
    return TABLE.words(TABLE.parser("theirs", "a test").parse_args([*given, "--left"]))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], ["--repeat=30"]),
        (["-n50"], ["--repeat=50"]),
        (["-n", "50", "-kresnet", "-k", "^a$"], ["--repeat=50", "--filter=resnet", "--filter=^a$"]),
        (["--fixed"], ["--repeat=30", "--inductor-config=a=1", "--fullgraph"]),
        (["--rep", "2", "--code", "x", "--noise"], ["--repeat=2"]),
        (["--compilers", "a", "b", "--compilers", "c"], ["--repeat=30", "--dynamo=a", "--dynamo=b", "--dynamo=c"]),
    ],
)
def test_a_flag_of_theirs_gives_flags_of_ours(given, expected):
    """Defaults, joined short flags, unambiguous prefixes, repeated and listed values."""
    assert words(*given) == [*expected, "--left-of-ours"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--gone"], "--gone is not supported: it is gone; use another"),
        (["--gone", "value"], "--gone is not supported: it is gone; use another"),
        (["--right"], "not allowed with argument"),
        (["--unknown"], "unrecognized arguments: --unknown"),
    ],
)
def test_what_cannot_be_honoured_is_one_sentence_and_exit_2(capsys, given, says):
    with pytest.raises(SystemExit) as caught:
        words(*given)
    out, err = capsys.readouterr()
    assert (caught.value.code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("theirs: ")
    assert says in err


def test_of_a_required_group_one_flag_has_to_be_given(capsys):
    with pytest.raises(SystemExit):
        TABLE.parser("theirs", "a test").parse_args([])
    assert "one of the arguments --left --right is required" in capsys.readouterr().err


@pytest.mark.parametrize("fates", [{}, {"gives": "--a", "refused": "b"}])
def test_a_flag_has_exactly_one_fate(fates):
    with pytest.raises(ValueError, match="exactly one of"):
        PeerFlag(names=("--x",), **fates)


def test_a_table_with_an_unknown_key_is_refused():
    with pytest.raises(msgspec.ValidationError, match="give"):
        msgspec.convert({"flags": [{"names": ["--x"], "give": "--y"}]}, PeerFlags)


def test_the_documents_table_says_what_becomes_of_each_flag():
    lines = TABLE.markdown().splitlines()
    assert lines[2:5] == [
        "| `--repeat`, `-n`, `--filter`, `-k` | the same flag |",
        "| `--fixed` | `--inductor-config=a=1 --fullgraph` |",
        "| `--code` | in code |",
    ]
    assert lines[-3:] == [
        "Accepted, but without effect here (`--help` says why): `--noise`.",
        "",
        "Refused, with the reason and often a replacement: `--gone`.",
    ]
