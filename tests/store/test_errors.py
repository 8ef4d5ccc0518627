from store import errors


def all_errors(kind=errors.StoreError):
    return {kind} | {found for child in kind.__subclasses__() for found in all_errors(child)}


def test_the_docstring_draws_every_error():
    for kind in all_errors():
        assert kind.__name__ in errors.__doc__


def test_every_error_has_an_exit_code_of_the_command():
    assert {kind.exit_code for kind in all_errors()} == {1, 2, 3}
