"""What extra processes found is joined; a doubt about a verification is a finding."""

from runner.messages import Instrumented
from runner.schedule.examine import Extras
from store.record import Verification


def test_warnings_of_all_processes_are_joined():
    found = Extras(
        warnings=["of the scheduler"],
        instrumented=[Instrumented(artifacts=[], warnings=["of a profile"])],
    )
    assert found.all_warnings() == ["of the scheduler", "of a profile"]


def test_a_vacuous_pass_is_a_finding():
    (found,) = Extras(verification=Verification(code="PASS", control="vacuous")).findings()
    assert (found.code, "vacuous" in found.text) == ("vacuous_check", True)


def test_a_verification_without_doubt_warns_of_nothing():
    assert Extras(verification=Verification(code="PASS", control="noticed")).findings() == []
    assert Extras().findings() == Extras().all_warnings() == []
