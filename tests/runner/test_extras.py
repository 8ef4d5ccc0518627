"""What extra processes found is joined; a doubt about a verification is among the warnings."""

from __future__ import annotations

from runner.messages import Instrumented
from runner.schedule.extras import Extras
from store.record import Verification


def test_warnings_of_all_processes_are_joined():
    found = Extras(
        verification=Verification(code="PASS", control="vacuous"),
        warnings=["of the scheduler"],
        instrumented=[Instrumented(artifacts=[], warnings=["of a profile"])],
    )
    first, second, third = found.all_warnings()
    assert (first, third) == ("of the scheduler", "of a profile")
    assert "vacuous" in second


def test_a_verification_without_doubt_warns_of_nothing():
    assert Extras(verification=Verification(code="PASS", control="noticed")).all_warnings() == []
    assert Extras().all_warnings() == []
