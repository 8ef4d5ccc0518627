"""Equal configurations have equal identities."""

import msgspec

from store.identity import experiment_id
from store.record import ExperimentConfig

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


def test_an_identity_stays_what_it_was():
    """Stores and histories hold them."""
    assert experiment_id(PLAIN) == "dc5d2016bbf8548b4c84"
