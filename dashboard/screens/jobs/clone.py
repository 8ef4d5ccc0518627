"""Clone: a job's request in the form, to be changed; or as it is, where the form has no place for all of it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard.screens.jobs import offered, operators
from runner.jobs import offers
from runner.jobs.request import Configuration, Protocol, Request, RunRequest, Selection


def fits(request: Request | None) -> bool:
    """Say whether the form can show all of a request."""
    if not isinstance(request, RunRequest) or request.plan is not None:
        return False
    chosen = request.selection
    known = {f"{offer.name}/{model}" for offer in offered.suites() for model in offer.models}
    models = _models(chosen)
    like = RunRequest(
        selection=Selection(
            suite_name=chosen.suite_name,
            only=chosen.only,
            xla=chosen.xla,
            dynamo=chosen.dynamo,
            test=chosen.test,
            accelerator=chosen.accelerator,
            config=chosen.config[:1],
            ops_of=chosen.ops_of,
        ),
        configuration=Configuration(preset=request.configuration.preset),
        protocol=_protocol(request.protocol),
        environments=request.environments,
        accelerator_model=request.accelerator_model,
    )
    return like == request and known.issuperset(models) and set(chosen.accelerator) <= set(offers.accelerators())


def fill(request: RunRequest, label: str, why: str) -> None:
    """Put a request that fits into the form; for a callback, before its boxes are drawn."""
    for name, value in _values(request, label, why).items():
        st.session_state[name] = value


def _protocol(of: Protocol) -> Protocol:
    return Protocol(processes=of.processes, verify=of.verify, instruments=of.instruments)


def _values(request: RunRequest, label: str, why: str) -> dict[str, Any]:
    chosen, how = request.selection, request.protocol
    return {
        "new_suite": list(chosen.suite_name),
        "new_model": _models(chosen),
        operators.KEY: chosen.ops_of is not None,
        "new_config": "".join(chosen.config),
        "new_backend": [name for name, pair in offers.OFFERED.items() if _is_asked(chosen, name, *pair)],
        "new_test": list(chosen.test),
        "new_accelerator": list(chosen.accelerator),
        "new_environment": list(request.environments),
        "new_device": request.accelerator_model,
        "new_preset": request.configuration.preset,
        "new_processes": how.processes,
        "new_dumps": list(how.instruments),
        "new_verify": how.verify,
        "new_label": label,
        "new_why": why,
    }


def _models(chosen: Selection) -> list[str]:
    return [chosen.ops_of] if chosen.ops_of else list(chosen.only)


def _is_asked(chosen: Selection, name: str, xla: str | None, dynamo: str | None) -> bool:
    """Say whether a selection plans a backend; those beyond the usual ones are planned by their name alone."""
    if name not in offers.PLANNED and dynamo not in chosen.dynamo:
        return False
    return (not chosen.xla or xla in chosen.xla) and (not chosen.dynamo or dynamo in chosen.dynamo)
