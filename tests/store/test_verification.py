"""One table says what a verification code is under the HUD rule; skipped is never pass."""

from typing import get_args

import pytest

from store.record import Error, Verification, VerificationCode
from store.verification import HUD_STATUSES, at_batch, hud_status, is_smaller_batch, is_vacuous


def of(code, phase="verify", kind=None, decided_by=None):
    error = Error(phase=phase, type=kind, message="no") if kind else None
    return Verification(code=code, decided_by=decided_by, error=error)


def test_every_code_has_an_entry():
    assert set(HUD_STATUSES) == set(get_args(VerificationCode))


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (of("PASS"), "pass"),
        (of("FAIL"), "fail_accuracy"),
        (of("NONDETERMINISTIC_EAGER_RUN"), "eager_two_runs_differ"),
        (of("EAGER_FAILED", kind="ValueError", decided_by="exception"), "eager_1st_run_fail"),
        (of("EAGER_FAILED", kind="RuntimeError", decided_by="oom"), "eager_1st_run_OOM"),
        (of("EAGER_FAILED", phase="load", kind="ValueError"), "model_fail_to_load"),
        (of("EXCEPTION_RAISED", kind="ValueError", decided_by="exception"), "fail_to_run"),
        (of("EXCEPTION_RAISED", kind="RuntimeError", decided_by="oom"), "OOM"),
        (of("VERIFIER_DIDNT_RUN", kind="Timeout", decided_by="timeout"), "timeout"),
        (of("VERIFIER_DIDNT_RUN", kind="SIGKILL", decided_by="oom"), "OOM"),
        (of("VERIFIER_DIDNT_RUN", kind="SIGSEGV", decided_by="crashed"), "fail_to_run"),
        (of("VERIFIER_SKIPPED", decided_by="table"), "pass_due_to_skip"),
        (of("VERIFIER_SKIPPED"), None),
        (of("PASS (batch 4)"), None),
    ],
)
def test_hud_status(found, status):
    assert hud_status(found) == status


def test_only_pass_and_what_the_tables_skip_pass_under_the_hud_rule():
    passes = {"pass", "pass_due_to_skip", "eager_variation"}  # as the view has them
    assert {code for code in HUD_STATUSES if hud_status(of(code)) in passes} == {"PASS"}
    assert hud_status(of("VERIFIER_SKIPPED", decided_by="table")) in passes


@pytest.mark.parametrize(
    ("checked", "timed", "code"),
    [(4, 4, "PASS"), (4, 64, "PASS (batch 4)"), (8, 4, "PASS"), (None, 4, "PASS"), (4, None, "PASS")],
)
def test_right_at_a_smaller_batch_than_the_timed_one_is_no_pass(checked, timed, code):
    assert at_batch(checked, timed) == code
    assert is_smaller_batch(code) == (code != "PASS")


def test_a_pass_whose_check_notices_nothing_is_vacuous():
    assert is_vacuous(Verification(code="PASS", control="vacuous"))
    assert not is_vacuous(Verification(code="PASS", control="noticed"))
    assert not is_vacuous(Verification(code="FAIL", control="vacuous"))
    assert not is_vacuous(None)
