"""Settings of dynamo and inductor by their dotted names."""

import types

import pytest

from runner.backends import dynamo
from runner.backends.dynamo import BadOverride


@pytest.mark.parametrize(
    ("text", "present", "value"),
    [
        ("True", False, True),
        ("0", True, False),
        ("off", True, False),
        ("12", 3, 12),
        ("3", 0.5, 3.0),
        ("1e-3", 0.5, 0.001),
        ("max", "default", "max"),
        ("'max'", "default", "max"),
        ("None", "default", None),
        ("None", 3, None),
        ("[1, 2]", [], [1, 2]),
        ("{'a'}", set(), {"a"}),
        ("(1,)", (), (1,)),
        ("7", None, 7),
        ("some text", None, "some text"),
    ],
)
def test_a_value_has_the_type_of_the_setting(text, present, value):
    found = dynamo.parsed("--inductor-config key", text, present)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "present", "says"),
    [
        ("perhaps", True, "True or False"),
        ("2", True, "True or False"),
        ("x", 3, "of type int, like the default 3"),
        ("True", 3, "of type int"),
        ("1.5", 3, "of type int"),
        ("{}", [], "of type list"),
    ],
)
def test_a_value_of_another_type_is_refused(text, present, says):
    with pytest.raises(BadOverride, match=f"--inductor-config key={text.replace('{}', '..')}.*{says}"):
        dynamo.parsed("--inductor-config key", text, present)


@pytest.fixture
def settings(monkeypatch):
    """A configuration module as torch's are: a table, and attributes that may be nested."""
    module = types.SimpleNamespace(
        _config={"limit": 8, "triton.cudagraphs": False}, limit=8, triton=types.SimpleNamespace(cudagraphs=False)
    )
    monkeypatch.setattr(dynamo.importlib, "import_module", lambda name: module if "inductor" in name else None)
    return module


def test_nested_settings_are_set_where_they_are_read(settings):
    dynamo.apply({"inductor.triton.cudagraphs": "True", "inductor.limit": "3"})
    assert (settings.triton.cudagraphs, settings.limit) == (True, 3)


@pytest.mark.parametrize(
    ("key", "says"), [("limi", "Did you mean limit?"), ("nothing_like_it", "See the source of torch._inductor.config")]
)
def test_an_unknown_setting_is_answered_with_close_ones(settings, key, says):
    with pytest.raises(BadOverride) as refused:
        dynamo.apply({f"inductor.{key}": "1"})
    assert f"--inductor-config {key}: torch._inductor.config has no setting {key}. {says}" in str(refused.value)


def test_torchs_own_modules_hold_such_tables():
    """Both rooms, nested names and aliases of older releases."""
    pytest.importorskip("torch")
    from torch._dynamo import config as dynamo_config
    from torch._inductor import config as inductor

    before = dynamo_config.recompile_limit, inductor.triton.cudagraphs
    try:
        dynamo.apply({"dynamo.cache_size_limit": "3", "inductor.triton.cudagraphs": "True"})
        assert (dynamo_config.recompile_limit, inductor.triton.cudagraphs) == (3, True)
    finally:
        dynamo_config.recompile_limit, inductor.triton.cudagraphs = before
