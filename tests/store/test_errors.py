from store import errors


def all_errors():
    return [kind for kind in vars(errors).values() if isinstance(kind, type) and kind.__module__ == errors.__name__]


def test_the_docstring_draws_every_error():
    for kind in all_errors():
        assert kind.__name__ in errors.__doc__


def test_every_error_has_an_exit_code_of_the_command():
    assert {kind.exit_code for kind in all_errors() if kind is not errors.Signal} == {1, 2, 3}
