"""Proofs are kept in the home, one file for each backend, environment and machine."""

import msgspec
import pytest
from runner_makers import ENVIRONMENT, entry

from runner.proof import judge
from runner.proof.judge import RULE
from store.record import Proof

PASSED = Proof(verdict="passed", rule=RULE, taken_at=1e9)


def test_what_is_kept_is_read_again(tmp_path):
    folder, of = tmp_path / "proofs", entry("inductor")
    key = judge.proof_key(of, ENVIRONMENT)
    assert judge.read_proof(folder, key) is None
    judge.write_proof(folder, key, judge.stored_proof(of, ENVIRONMENT, PASSED))
    assert judge.read_proof(folder, key) == PASSED
    [found] = judge.read_proofs(folder)
    assert (found.backend, found.accelerator, found.test, found.machine_id) == ("inductor", "cpu", "eval", "m1")
    assert found.environment["torch"] == "2.9.1"


def test_a_proof_by_another_rule_does_not_count(tmp_path):
    old = msgspec.structs.replace(PASSED, rule=RULE - 1)
    judge.write_proof(tmp_path, "k", judge.stored_proof(entry(), ENVIRONMENT, old))
    assert judge.read_proof(tmp_path, "k") is None


def test_a_damaged_file_is_no_proof(tmp_path):
    (tmp_path / "k.json").write_text('{"proof": {"verdict": "pas')
    assert judge.read_proof(tmp_path, "k") is None
    assert judge.read_proofs(tmp_path) == []


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
    assert judge.proof_key(*other) != judge.proof_key(entry("inductor"), ENVIRONMENT)


def test_all_models_of_a_backend_share_its_proof():
    same = judge.proof_key(entry("inductor", "dummy_nonzero", batch_size=3), ENVIRONMENT)
    assert same == judge.proof_key(entry("inductor"), ENVIRONMENT)
