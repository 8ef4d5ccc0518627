"""The form for a new run; it shows the plan and an estimate before the run is queued."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec
import streamlit as st

from dashboard import access, data, jobs, settings
from dashboard.formatting import count, error_text, escape
from dashboard.jobs import planned, recurring
from runner.jobs import rerun
from runner.jobs.check import LONGEST_NAME, LONGEST_TEXT
from runner.jobs.check import SUITE as OPERATORS
from runner.jobs.request import LONGEST_CONFIG, Configuration, Protocol, RunRequest, Selection
from runner.jobs.rerun import Preview
from store.errors import UsageError, XlabenchError

PERSISTED: dict[str, Any] = {"persist_state": "session"}
"""Option of the form's boxes: their values stay while other pages are shown."""
_LISTED_AGAIN_S = 300.0
_MOST_PROCESSES = 100


def show(shown: str | None) -> None:
    """Draw the form, its plan, and the button that queues it; `shown` is the snapshot, if there is one."""
    access.ask_name("new-name")
    try:
        request = _request(shown)
    except XlabenchError as error:
        st.error(error_text(error), icon=":material/block:")
        return
    if request is None:
        st.info("Choose a suite or models.", icon=":material/info:")
        _show_missing_suites()
        return
    exact, preview = _narrowed(request)
    if isinstance(preview, str):
        st.warning(error_text(preview), icon=":material/block:")
        return
    planned.brief(shown, preview)
    if exact.selection.ops_of:
        _show_operators_note(preview, _backends())
    _start(exact, preview)
    planned.show_experiments(preview)
    _show_missing_suites()


def _narrowed(request: RunRequest) -> tuple[RunRequest, Preview | str]:
    """Return the request for exactly the chosen backends, with its plan or the reason why there is none."""
    preview = planned.of(request)
    if isinstance(preview, str) or request.selection.ops_of:
        return request, preview
    exact = rerun.only_backends(request, (*preview.runnable, *preview.skipped), _backends())
    return exact, preview if exact is request else planned.of(exact)


def _start(request: RunRequest, preview: Preview) -> None:
    of_model = request.selection.ops_of
    suites = "+".join(dict.fromkeys(entry.config.suite_name for entry in preview.runnable))
    label = st.session_state.get("new_label") or (f"ops of {of_model}" if of_model else suites)
    if not preview.runnable:
        st.warning("None of this can be measured here; the reasons are above.", icon=":material/block:")
        return
    _refusal()
    with st.container(horizontal=True):
        jobs.button(
            f"Queue {count(len(preview.runnable), 'experiment')}{' and its operators' * bool(of_model)}",
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
        st.caption(f":material/lock: {error_text(decision.reason)}")


def _request(shown: str | None) -> RunRequest | None:
    """Draw the boxes; return the request, or None where nothing is chosen."""
    suites, models = _chosen_models()
    config = _configuration() if OPERATORS in suites and not models else ()
    of_model = _ask_operators(models)
    options = _measurement_options(device_models(shown))
    if not suites and not models:
        return None
    xla, dynamo = rerun.axes(_backends())
    selection = Selection(
        suite_name=tuple(suites) if not models else tuple(dict.fromkeys(model.split("/")[0] for model in models)),
        only=tuple(models),
        xla=xla,
        dynamo=dynamo,
        test=tuple(options["test"]),
        accelerator=tuple(options["accelerator"]),
        config=config,
    )
    return RunRequest(
        selection=of_operators(of_model, selection) if of_model else selection,
        configuration=Configuration(preset=options["preset"]),
        protocol=Protocol(
            processes=options["processes"], verify=options["verify"], instruments=tuple(options["instruments"])
        ),
        environments=tuple(options["environments"]),
        accelerator_model=options["device"],
    )


def _chosen_models() -> tuple[list[str], list[str]]:
    offers = {offer.name: offer for offer in offered_suites()}
    left, right = st.columns([1, 2])
    here = [name for name, offer in offers.items() if not offer.missing]
    suites = left.multiselect("Suites", here, key="new_suite", **PERSISTED)
    models_offered = [f"{name}/{model}" for name in suites or here for model in offers[name].models]
    models = right.multiselect(
        "Models",
        models_offered,
        key="new_model",
        placeholder=f"all {len(models_offered):,} of them; type to search",
        help="Without a choice, all models of the suites.",
        **PERSISTED,
    )
    return suites, models


def _configuration() -> tuple[str, ...]:
    """Draw the box for a configuration of operators; return its JSON.

    Raises:
        UsageError: the box is empty.
    """
    text = st.text_area(
        "Configuration of operators",
        key="new_config",
        max_chars=LONGEST_CONFIG,
        height=160,
        placeholder='{"torch.mm": {"input_data_generator": "PyTorch:DefaultDataGenerator", "config": […]}}',
        help="The JSON of a configuration in PARAM's format, or of the operators.json of a run.",
        **PERSISTED,
    )
    if not text or not text.strip():
        raise UsageError("Paste a configuration of operators, or leave out the suite operators.")
    return (text.strip(),)


def _show_missing_suites() -> None:
    """Draw which suites are not available on this machine, and why."""
    missing = [f"{escape(offer.name)}: {escape(offer.missing)}" for offer in offered_suites() if offer.missing]
    if missing:
        st.caption("\n".join(f"- {line}" for line in missing))


def _backends() -> list[str]:
    return list(st.session_state.get("new_backend") or rerun.PLANNED)


def _measurement_options(devices: Sequence[str]) -> dict[str, Any]:
    """Draw the boxes for how and on which of these devices to measure; return their values by name."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.multiselect(
            "Backends", list(rerun.OFFERED), default=list(rerun.PLANNED), key="new_backend", width=520, **PERSISTED
        )
        test = st.pills(
            "Tests", rerun.TESTS, selection_mode="multi", key="new_test", help="Without a choice, both.", **PERSISTED
        )
        accelerator = st.pills(
            "Accelerators",
            rerun.accelerators(),
            selection_mode="multi",
            key="new_accelerator",
            help="Without a choice, all that this machine has.",
            **PERSISTED,
        )
        device = st.selectbox(
            "Device model",
            devices,
            index=None,
            key="new_device",
            placeholder="any",
            width=260,
            accept_new_options=True,
            help="The job waits for a host with this device model. Choose that of this machine or of a result, or type "
            "another one.",
            **PERSISTED,
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        environments = st.multiselect(
            "Environments",
            rerun.environments(settings.home()),
            key="new_environment",
            placeholder="default",
            width=210,
            help="Interpreters of [environments] in xlabench.toml; default is the worker's own.",
            **PERSISTED,
        )
        preset = st.selectbox("Preset", rerun.PRESETS, key="new_preset", width=140, **PERSISTED)
        processes = st.number_input(
            "Processes",
            min_value=1,
            max_value=_MOST_PROCESSES,
            value=None,
            key="new_processes",
            placeholder="as the preset",
            width=170,
            help="Benchmark processes of each experiment.",
            **PERSISTED,
        )
        instruments = st.multiselect("Dumps and profiles", rerun.INSTRUMENTS, key="new_dumps", width=250, **PERSISTED)
        verify = st.toggle("Verify", key="new_verify", help="Compare each answer with eager.", **PERSISTED)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            "Label",
            key="new_label",
            max_chars=LONGEST_NAME,
            placeholder="name of the run: its suites",
            width=300,
            **PERSISTED,
        )
        st.text_input("Why", key="new_why", max_chars=LONGEST_TEXT, placeholder="shown in the queue", **PERSISTED)
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


OPERATORS_KEY = "new_ops"


def _ask_operators(models: Sequence[str]) -> str | None:
    """Draw the switch for a single model's operators; return the model if the switch is on."""
    if len(models) != 1 or models[0].startswith(f"{OPERATORS}/"):
        return None
    wanted = st.toggle(
        "Its operators, too",
        key=OPERATORS_KEY,
        help="The operators that the model calls are recorded when the job runs; each is measured alone, and so "
        "is the model.",
        **PERSISTED,
    )
    return models[0] if wanted else None


def of_operators(of_model: str, selection: Selection) -> Selection:
    """Return the selection of a model's operators in place of the model's own.

    Raises:
        UsageError: they are to be recorded in more than one test.
    """
    if len(selection.test) > 1:
        raise UsageError("The operators of a model are recorded in one test: choose eval or train.")
    # Without a choice they are recorded in eval; the model beside them is planned for that, too.
    return msgspec.structs.replace(selection, suite_name=(), only=(), ops_of=of_model, test=selection.test or ("eval",))


def _show_operators_note(preview: Preview, backends: Collection[str]) -> None:
    """Draw what the plan cannot show: the operators, and backends that are measured without being chosen."""
    beyond = dict.fromkeys(entry.backend for entry in (*preview.runnable, *preview.skipped))
    more = [escape(name) for name in beyond if name not in backends]
    note = (
        f" They are measured under {', '.join(more)} as well: this form chooses XLA and dynamo separately."
        if more
        else ""
    )
    st.caption(f"The operators that it calls are added when the job runs; only then is their number known.{note}")


@st.cache_resource(ttl=_LISTED_AGAIN_S, show_spinner=False)
def offered_suites() -> tuple[rerun.SuiteOffer, ...]:
    """Return all suites; callers share the cached value and must not change it."""
    return rerun.suites()


def device_models(shown: str | None) -> tuple[str, ...]:
    """Return the known models of devices: those of this machine first, then those of results."""
    return tuple(dict.fromkeys((*_local_device_models(), *(data.choices(shown).devices if shown else ()))))


@st.cache_resource(ttl=_LISTED_AGAIN_S, show_spinner=False)
def _local_device_models() -> tuple[str, ...]:
    return rerun.device_models()
