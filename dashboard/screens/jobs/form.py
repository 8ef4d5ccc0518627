"""The form for a new run: what to measure, how, and why; it shows its plan and an estimate before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import access, launching, planned, recurring, settings
from dashboard.screens.jobs import offered, operators
from dashboard.words import count, error_text, escape
from runner.errors import RunnerError, UsageError
from runner.jobs import offers
from runner.jobs.bounds import LONGEST_NAME, LONGEST_TEXT
from runner.jobs.operators import SUITE as OPERATORS
from runner.jobs.request import LONGEST_CONFIG, Configuration, Protocol, RunRequest, Selection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.jobs.preview import Preview

_KEPT = offered.KEPT
_MOST_PROCESSES = 100


def show(shown: str | None) -> None:
    """Draw the form, what it would measure, and the button that queues it; `shown` is the snapshot, if there is one."""
    access.ask_name("new-name")
    try:
        request = _request(shown)
    except RunnerError as error:
        st.error(error_text(error), icon=":material/block:")
        return
    if request is None:
        st.info("Choose a suite or models.", icon=":material/info:")
        _missing()
        return
    exact, found = _narrowed(request)
    if isinstance(found, str):
        st.warning(error_text(found), icon=":material/block:")
        return
    planned.brief(shown, found)
    if exact.selection.ops_of:
        operators.say(found, _backends())
    _start(exact, found)
    planned.each_experiment(found)
    _missing()


def _narrowed(request: RunRequest) -> tuple[RunRequest, Preview | str]:
    """Return the request for the chosen backends alone, with its plan, or why there is none."""
    found = planned.of(request)
    if isinstance(found, str) or request.selection.ops_of:
        return request, found
    exact = offers.only_backends(request, (*found.runnable, *found.skipped), _backends())
    return exact, found if exact is request else planned.of(exact)


def _start(request: RunRequest, found: Preview) -> None:
    of_model = request.selection.ops_of
    label = st.session_state.get("new_label") or (f"ops of {of_model}" if of_model else _usual_label(found))
    if not found.runnable:
        st.warning("None of this can be measured here; the reasons are above.", icon=":material/block:")
        return
    _refusal()
    with st.container(horizontal=True):
        launching.button(
            f"Queue {count(len(found.runnable), 'experiment')}{' and its operators' * bool(of_model)}",
            request,
            str(label),
            key="new-start",
            why=str(st.session_state.get("new_why") or ""),
            icon=":material/play_arrow:",
            main=True,
        )
        recurring.offer(request, str(label))


def _refusal() -> None:
    decision = access.may_launch()
    if not decision.allowed and decision.reason != access.NAMELESS:
        st.caption(f":material/lock: {escape(decision.reason)}")


def _usual_label(found: Preview) -> str:
    return "+".join(dict.fromkeys(entry.config.suite_name for entry in found.runnable))


def _request(shown: str | None) -> RunRequest | None:
    """Draw the boxes; return what they ask for, None where nothing is chosen."""
    suites, models = _what()
    config = _configuration() if OPERATORS in suites and not models else ()
    of_model = operators.ask(models)
    how = _how(offered.device_models(shown))
    if not suites and not models:
        return None
    xla, dynamo = offers.axes(_backends())
    which = Selection(
        suite_name=tuple(suites) if not models else tuple(dict.fromkeys(each.split("/")[0] for each in models)),
        only=tuple(models),
        xla=xla,
        dynamo=dynamo,
        test=tuple(how["test"]),
        accelerator=tuple(how["accelerator"]),
        config=config,
    )
    return RunRequest(
        selection=operators.selection(of_model, which) if of_model else which,
        configuration=Configuration(preset=how["preset"]),
        protocol=Protocol(processes=how["processes"], verify=how["verify"], instruments=tuple(how["instruments"])),
        environments=tuple(how["environments"]),
        accelerator_model=how["device"],
    )


def _what() -> tuple[list[str], list[str]]:
    known = {offer.name: offer for offer in offered.suites()}
    left, right = st.columns([1, 2])
    here = [name for name, offer in known.items() if not offer.missing]
    suites = left.multiselect("Suites", here, key="new_suite", **_KEPT)
    models_offered = [f"{name}/{model}" for name in suites or here for model in known[name].models]
    models = right.multiselect(
        "Models",
        models_offered,
        key="new_model",
        placeholder=f"all {len(models_offered):,} of them; type to search",
        help="Without a choice, all models of the suites.",
        **_KEPT,
    )
    return suites, models


def _configuration() -> tuple[str, ...]:
    """Draw the box for a configuration of operators; return its JSON.

    Raises:
        UsageError: nothing stands there.
    """
    text = st.text_area(
        "Configuration of operators",
        key="new_config",
        max_chars=LONGEST_CONFIG,
        height=160,
        placeholder='{"torch.mm": {"input_data_generator": "PyTorch:DefaultDataGenerator", "config": […]}}',
        help="The JSON of a configuration in PARAM's form, or of the operators.json of a run.",
        **_KEPT,
    )
    if not text or not text.strip():
        raise UsageError("Paste a configuration of operators, or leave out the suite operators.")
    return (text.strip(),)


def _missing() -> None:
    """Say which suites cannot be had here, and why."""
    missing = [f"{escape(offer.name)}: {escape(offer.missing)}" for offer in offered.suites() if offer.missing]
    if missing:
        st.caption("\n".join(f"- {each}" for each in missing))


def _backends() -> list[str]:
    return list(st.session_state.get("new_backend") or offers.PLANNED)


def _how(devices: Sequence[str]) -> dict[str, Any]:
    """Draw how and on which of these devices it is measured; return the values by name."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.multiselect(
            "Backends", list(offers.OFFERED), default=list(offers.PLANNED), key="new_backend", width=520, **_KEPT
        )
        test = st.pills(
            "Tests", offers.TESTS, selection_mode="multi", key="new_test", help="None chosen: both.", **_KEPT
        )
        accelerator = st.pills(
            "Accelerators",
            offers.accelerators(),
            selection_mode="multi",
            key="new_accelerator",
            help="None chosen: all of this machine.",
            **_KEPT,
        )
        device = st.selectbox(
            "Device model",
            devices,
            index=None,
            key="new_device",
            placeholder="any",
            width=260,
            accept_new_options=True,
            help="The job waits for a host with this model: those of this machine and of results, or type another.",
            **_KEPT,
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        environments = st.multiselect(
            "Environments",
            offers.environments(settings.home()),
            key="new_environment",
            placeholder="default",
            width=210,
            help="Interpreters of [environments] in xlabench.toml; default is the worker's own.",
            **_KEPT,
        )
        preset = st.selectbox("Preset", offers.PRESETS, key="new_preset", width=140, **_KEPT)
        processes = st.number_input(
            "Processes",
            min_value=1,
            max_value=_MOST_PROCESSES,
            value=None,
            key="new_processes",
            placeholder="as the preset",
            width=170,
            help="Measuring processes of each experiment.",
            **_KEPT,
        )
        instruments = st.multiselect("Dumps and profiles", offers.INSTRUMENTS, key="new_dumps", width=250, **_KEPT)
        verify = st.toggle("Verify", key="new_verify", help="Compare each answer with eager.", **_KEPT)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            "Label",
            key="new_label",
            max_chars=LONGEST_NAME,
            placeholder="name of the run: its suites",
            width=300,
            **_KEPT,
        )
        st.text_input("Why", key="new_why", max_chars=LONGEST_TEXT, placeholder="for whoever reads the queue", **_KEPT)
    return {
        "test": test,
        "accelerator": accelerator,
        "device": str(device).strip() or None if device else None,
        "environments": environments,
        "preset": preset,
        "processes": processes,
        "instruments": instruments,
        "verify": verify,
    }
