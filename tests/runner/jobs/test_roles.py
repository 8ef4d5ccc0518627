"""Who may: without a login launching stays on this machine; with one the role list decides."""

import pytest

from runner.home.settings_file import Access, Person, Roles, may

ROLES = Roles(view=("*",), note=("*@team.org",), launch=("ann@team.org",))
ANN, BOB, EVE = (Person(name, verified=True) for name in ("ann@team.org", "bob@team.org", "eve@else.org"))
HERE, OPEN = Access(loopback=True, login=False), Access(loopback=False, login=False)
LOGIN = Access(loopback=False, login=True)


@pytest.mark.parametrize(
    ("right", "who", "access", "allowed"),
    [
        ("launch", Person("anyone"), HERE, True),
        ("launch", Person("anyone"), OPEN, False),
        ("note", Person("anyone"), OPEN, True),
        ("view", Person(""), OPEN, True),
        ("launch", ANN, LOGIN, True),
        ("launch", BOB, LOGIN, False),
        ("note", BOB, LOGIN, True),
        ("note", EVE, LOGIN, False),
        ("view", EVE, LOGIN, True),
        ("launch", Person("ann@team.org"), LOGIN, False),
        ("launch", Person("ANN@team.org", verified=True), LOGIN, False),
        ("launch", ANN, Access(loopback=True, login=True), True),
        ("launch", BOB, Access(loopback=True, login=True), False),
    ],
)
def test_rights(right, who, access, allowed):
    """A name that nobody checked has no role, and a role list holds on the machine itself, too."""
    decision = may(right, who, access, ROLES)
    assert decision.allowed is allowed
    assert bool(decision.reason) is not allowed


def test_a_login_without_roles_lets_everybody_view_and_nobody_launch():
    assert may("view", ANN, LOGIN, Roles()).allowed
    assert not may("note", ANN, LOGIN, Roles()).allowed
    assert not may("launch", ANN, LOGIN, Roles()).allowed
