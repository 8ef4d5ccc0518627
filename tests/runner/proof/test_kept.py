"""Proofs are kept in the home, one file for each backend, environment and machine."""

from __future__ import annotations

import msgspec
import pytest
from runner_makers import ENVIRONMENT, entry

from runner.proof import stored_proofs
from runner.proof.judge import RULE
from store.record import Proof

PASSED = Proof(verdict="passed", rule=RULE, taken_at=1e9)


def test_what_is_kept_is_read_again(tmp_path):
    folder, of = tmp_path / "proofs", entry("inductor")
    key = stored_proofs.key_of(of, ENVIRONMENT)
    assert stored_proofs.read(folder, key) is None
    stored_proofs.write(folder, key, stored_proofs.of(of, ENVIRONMENT, PASSED))
    assert stored_proofs.read(folder, key) == PASSED
    [found] = stored_proofs.read_all(folder)
    assert (found.backend, found.accelerator, found.test, found.machine_id) == ("inductor", "cpu", "eval", "m1")
    assert found.environment["torch"] == "2.9.1"


def test_a_proof_by_another_rule_does_not_count(tmp_path):
    old = msgspec.structs.replace(PASSED, rule=RULE - 1)
    stored_proofs.write(tmp_path, "k", stored_proofs.of(entry(), ENVIRONMENT, old))
    assert stored_proofs.read(tmp_path, "k") is None


def test_a_damaged_file_is_no_proof(tmp_path):
    (tmp_path / "k.json").write_text('{"proof": {"verdict": "pas')
    assert stored_proofs.read(tmp_path, "k") is None
    assert stored_proofs.read_all(tmp_path) == []


@pytest.mark.parametrize(
    "other",
    [
        (entry("inductor", test="train"), ENVIRONMENT),
        (entry("openxla+dynamo"), ENVIRONMENT),
        (entry("inductor"), msgspec.structs.replace(ENVIRONMENT, torch="2.10.0")),
        (entry("inductor"), msgspec.structs.replace(ENVIRONMENT, machine_id="m2")),
    ],
)
def test_another_backend_test_version_or_machine_has_a_proof_of_its_own(other):
    assert stored_proofs.key_of(*other) != stored_proofs.key_of(entry("inductor"), ENVIRONMENT)


def test_all_models_of_a_backend_share_its_proof():
    same = stored_proofs.key_of(entry("inductor", "dummy_nonzero", batch_size=3), ENVIRONMENT)
    assert same == stored_proofs.key_of(entry("inductor"), ENVIRONMENT)
