"""What dynamo runs eagerly under a backend's name is an error or a warning, never a clean result."""

import pytest
from runner_makers import config

from runner.backends import dynamo

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def unchanged():
    """Leave dynamo as it was."""
    dynamo.forget()
    settings = torch._dynamo.config
    with settings.patch(suppress_errors=False, recompile_limit=settings.recompile_limit, disable=False):
        yield
    torch._dynamo.reset()
    dynamo.forget()


def failing(_graph, _inputs):
    raise NotImplementedError("this backend compiles nothing")


def test_the_models_source_cannot_hide_the_errors_of_a_backend():
    """Many scripts set it, and a model half of which ran eagerly had a clean time under the backend's name."""
    torch._dynamo.config.suppress_errors = True
    step = dynamo.compile_step(lambda values: values + 1, failing, config(dynamo="inductor"))
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed):
        step(torch.ones(2))


def test_who_asks_for_hidden_errors_has_them():
    chosen = config(dynamo="inductor", overrides={"dynamo.suppress_errors": "True"})
    step = dynamo.compile_step(lambda values: values + 1, failing, chosen)
    assert step(torch.ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize(("calls", "warned"), [(2, 0), (9, 1)])
def test_a_limit_of_recompilations_is_told(calls, warned):
    """Past it dynamo keeps its graphs, so the number of graphs does not show that nothing runs compiled."""
    chosen = config(dynamo="eager", overrides={"dynamo.recompile_limit": "4"})
    step = dynamo.compile_step(lambda values, name: values + (name == "none"), "eager", chosen)
    for number in range(calls):
        step(torch.ones(2), str(number))
    found = dynamo.limits_reached()
    assert len(found) == warned
    assert all("recompile_limit reached" in sentence or "limit exceeded" in sentence for sentence in found)


@pytest.mark.parametrize("switch", ["stance", "config"])
def test_a_model_that_switches_dynamo_off_after_the_first_iterations_ran_eagerly(switch):
    step = dynamo.compile_step(lambda values: values + 1, "eager", config(dynamo="inductor"))
    step(torch.ones(2))
    assert dynamo.no_graph() is None
    with torch.compiler.set_stance("force_eager" if switch == "stance" else "default"):
        torch._dynamo.config.disable = switch == "config"
        assert "switched dynamo off" in dynamo.no_graph()


def test_a_limit_is_known_in_the_words_of_later_versions():
    torch._dynamo.utils.counters["unimplemented"] |= {
        "Dynamo recompile limit exceeded\n  Explanation: Dynamo attempted to recompile": 1,
        "Unsupported context manager\n  Hint: the recompile limit exceeded": 1,
    }
    (found,) = dynamo.limits_reached()
    assert found.startswith("dynamo stopped compiling: Dynamo recompile limit exceeded, so")
