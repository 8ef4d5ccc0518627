"""Equal configurations have equal identities."""

import msgspec

from store.identity import WORKLOAD, experiment_id, variant, workload
from store.record import Experiment, ExperimentConfig

PLAIN = ExperimentConfig(suite_name="dummy", model_name="dummy", test="eval", accelerator="cpu")


def test_a_default_that_was_typed_is_no_other_experiment():
    """A word of a command line or of a file is another object than the default it equals."""
    typed = msgspec.structs.replace(PLAIN, dtype=b"float32".decode(), matmul_precision=b"highest".decode())
    assert typed == PLAIN
    assert experiment_id(typed) == experiment_id(PLAIN)


def test_a_configuration_that_was_written_down_keeps_its_identity():
    config = msgspec.structs.replace(PLAIN, dtype="amp", xla_flags=("--a", "--b"), overrides={"b": "1", "a": "2"})
    again = msgspec.convert({**msgspec.to_builtins(config), "matmul_precision": "highest"}, ExperimentConfig)
    assert experiment_id(again) == experiment_id(config)


NAMED_OTHERWISE = {
    *(
        "suite_name",
        "model_name",
        "test",
        "accelerator",
        "dtype",
        "batch_size",
        "optimizer",
        "loss",
        "matmul_precision",
    ),
    *("operator", "source"),
}
"""Fields with a column of their own, and what the name of the model says."""


def test_every_setting_is_in_a_name_or_has_a_column():
    """Otherwise results that differ in it would be compared: annotate it with `OfWorkload` or `OfVariant`."""
    changed = {
        "overrides": {"a": "1"},
        "xla_flags": ("--a",),
        "without_fallback": ("a",),
        "cache": "warm",
        "xla": "PJRT",
    }
    silent = set()
    for field, value in msgspec.structs.asdict(PLAIN).items():
        other = changed.get(field, not value if isinstance(value, bool) else "other")
        config = msgspec.structs.replace(PLAIN, **{"xla": "PJRT"} if field == "enable_functionalization" else {})
        named = msgspec.structs.replace(config, **{field: other})
        if (variant(named), workload(named)) == (variant(config), workload(config)):
            silent.add(field)
    assert silent == NAMED_OTHERWISE


def test_every_setting_of_what_is_timed_is_in_the_record():
    assert {setting.name for setting in WORKLOAD} <= set(Experiment.__struct_fields__)


def test_an_identity_stays_what_it_was():
    """Stores and histories hold them."""
    assert experiment_id(PLAIN) == "dc5d2016bbf8548b4c84"
