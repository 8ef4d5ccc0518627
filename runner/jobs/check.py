"""Check whether a request can be carried out, and the limits of requests; a refusal is one sentence."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec

from runner import flags
from runner.errors import RunnerError
from runner.home.settings_file import OWN_PREFIX, JobLimits, Person
from runner.jobs.request import LONGEST_CONFIG, JobRequest, Request, RunRequest, XlaFlag, decode
from runner.plan import LocalRequest, plan_file, selection
from runner.plan.local_request import check as check_agreement
from runner.plan.protocol import settings
from runner.plan.selection import select
from runner.suites import get_suite
from runner.suites.base import SuiteContext
from runner.suites.operators import document
from runner.suites.operators.document import FieldError, Tensor, arguments_of
from runner.suites.operators.expand import expand
from store.errors import UsageError, XlabenchError
from store.operators import operator_name
from store.record import ExperimentConfig, Operator, UsedBy
from store.state import jobs

_MOST_EXPERIMENTS = 20_000
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./+-]{0,199}")
_LONGEST_REFUSAL = 1000
_LONGEST_NOTE = 4000
_OVERRIDE = re.compile(r"True|False|None|-?[0-9]+(\.[0-9]+)?")
_KEY = re.compile(r"(dynamo|inductor)\.[A-Za-z_][\w.]*")


class BadRequest(RunnerError):
    """A request that cannot be carried out; what it says may quote it, so no terminal obeys it, and it has an end."""

    exit_code = 2

    def __init__(self, text: str) -> None:
        super().__init__(plain(text)[:_LONGEST_REFUSAL])


def read(text: str, most_bytes: int, environments: Collection[str], models: Collection[str] = ()) -> Request:
    """Return the request of a text, checked.

    Raises:
        BadRequest: it is too long, of another form, or asks for what there is not.
    """
    size = len(text.encode(errors="surrogatepass"))
    if size > most_bytes:
        raise BadRequest(
            f"The request has {size} bytes, and [jobs] request_bytes allows {most_bytes}; "
            "split it into smaller requests."
        )
    try:
        request = decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRequest(f"The request is invalid: {error}.") from None
    check(request, environments, models)
    return request


def check(request: Request, environments: Collection[str], models: Collection[str] = ()) -> None:
    """Check what its types cannot say: that names exist, and that the flags it stands for agree.

    Args:
        request: of the right form.
        environments: names of `xlabench.toml`.
        models: names of `[models]` there that whoever asks may have.

    Raises:
        BadRequest: with the sentence that the same flags would give.
    """
    if not isinstance(request, RunRequest):
        return
    if unknown := set(request.environments) - {*environments, "default"}:
        known = ", ".join(sorted({*environments, "default"}))
        raise BadRequest(f"There is no environment {min(unknown)}; choose one of {known}.")
    try:
        if request.plan is not None:
            _check_plan(request)
        check_configurations(request.selection.config)
        local_request = before_it_runs(request)
        if request.plan is None:
            flags.check_values(request)
            settings(local_request)
            selected = select(_without_own(local_request, models))
            if not selected.choices and not selected.missing_suites:
                raise UsageError("No experiment matches. Relax the filters.")
    except RecursionError:
        raise BadRequest("The request is nested too deeply.") from None
    except (XlabenchError, ValueError, LookupError) as error:
        raise BadRequest(str(error)) from None


def before_it_runs(request: RunRequest) -> LocalRequest:
    """Return what a request asks for before anything runs: of `--ops-of`, the model alone.

    Raises:
        UsageError: its parts contradict each other.
    """
    local_request = LocalRequest.of_job(request)
    check_agreement(local_request)
    return selection.of_model_alone(local_request)


def _without_own(request: LocalRequest, models: Collection[str]) -> LocalRequest:
    """Return the selection without the models of `[models]`, which only the server's own file leads to a source.

    Raises:
        UsageError: one is not listed for whoever asks.
    """
    only = request.selection.only
    own = [name for name in only if name.startswith(OWN_PREFIX)]
    for name in own:
        if name.removeprefix(OWN_PREFIX) not in models:
            raise UsageError(
                f"You may not launch {name}: [models] of the server's xlabench.toml does not list it for you."
            )
    return request.changed(only=tuple(name for name in only if name not in own))


def _check_plan(request: RunRequest) -> None:
    """Check a plan's experiments as the file's reader does, and that no text in them names a file or is more."""
    plan = request.plan
    assert plan is not None  # noqa: S101 - asked for by the caller
    if not plan.experiments or len(plan.experiments) > _MOST_EXPERIMENTS:
        raise UsageError(
            f"The plan has {len(plan.experiments)} experiments; the number must be 1 to {_MOST_EXPERIMENTS}."
        )
    _check_texts(plan.settings.values(), "settings")
    models: dict[str, set[str]] = {}
    for number, (entry, config) in enumerate(plan_file.checked(plan)):
        where = f"experiment {number} of the plan"
        if entry.environment not in {*request.environments, "default"}:
            raise UsageError(f"{where} uses the environment {entry.environment!r}, which the request does not list.")
        _check_notes((*entry.notes, entry.skip_reason, entry.not_here, entry.in_spite_of), where)
        apart = {"xla_flags", "overrides"}
        check_source(entry.used_by, where)
        if config.suite_name == SUITE or config.operator is not None:
            check_planned(config, where)
            apart |= {"operator", "model_name"}
        else:
            _check_model(models, config.suite_name, config.model_name)
        _check_texts([value for name, value in entry.config.items() if name not in apart], where)
        _check_compiler_settings(config.xla_flags, config.overrides, where)


def _check_texts(values: Iterable[Any], where: str) -> None:
    for value in values:
        for text in value if isinstance(value, list | tuple) else (value,):
            if isinstance(text, dict) or (isinstance(text, str) and not _WORD.fullmatch(text)):
                raise UsageError(
                    f"{text!r} in {where} contains a character that a job does not accept, or is too long."
                )


def _check_notes(texts: Iterable[str | None], where: str) -> None:
    """Check what is for readers only: logs and pages show it."""
    for text in texts:
        if text is not None and (len(text) > _LONGEST_NOTE or plain(text) != text):
            raise UsageError(
                f"{where}: a note or reason is too long, or contains a character that cannot be displayed."
            )


def _check_compiler_settings(xla_flags: tuple[str, ...], overrides: dict[str, str], where: str) -> None:
    try:
        msgspec.convert(list(xla_flags), tuple[XlaFlag, ...])
    except msgspec.ValidationError:
        raise UsageError(f"{where}: a job accepts only XLA flags whose value is a number or a boolean.") from None
    for key, value in overrides.items():
        if not (_KEY.fullmatch(key) and _OVERRIDE.fullmatch(value)):
            raise UsageError(
                f"{where}: a job accepts only numbers and booleans as compiler settings, not {key}={value}."
            )


def _check_model(models: dict[str, set[str]], suite: str, model: str) -> None:
    context = SuiteContext(torchbench_dir=None)
    if get_suite(suite).unavailable(context):
        return  # the run reports this, and skips it with the reason
    if suite not in models:
        models[suite] = {name for listed in get_suite(suite).models(context) for name in (listed.name, *listed.aliases)}
    if model not in models[suite]:
        raise UsageError(f"The suite {suite} has no model {model!r}; `xlabench plan` lists them.")


LONGEST_TEXT = 4000
LONGEST_NAME = 200
_MOST_PRIORITY = 100
_DAY_S = 86_400.0


def reached(con: sqlite3.Connection, limits: JobLimits, who: str, now: float) -> str | None:
    """Say which limit of queue or time a person has reached."""
    waiting = jobs.in_states(con, ("queued", "starting", "running"))
    own_jobs = [job for job in waiting if job.who == who]
    if len(waiting) >= limits.queue:
        return f"The queue is full ({len(waiting)} jobs). Wait, or raise [jobs] queue in xlabench.toml."
    if len(own_jobs) >= limits.queue_per_person:
        return (
            f"{who} already has {len(own_jobs)} jobs in the queue. Wait, or raise [jobs] queue_per_person in "
            "xlabench.toml."
        )
    running = sum(max(0.0, now - job.started_at) for job in own_jobs if job.started_at and job.state == "running")
    hours = (jobs.spent_s(con, who, now - _DAY_S) + running) / 3600
    if hours >= limits.hours_per_person:
        return (
            f"The jobs that {who} submitted in the last 24 hours have run for {hours:.1f} hours. Wait, or raise "
            "[jobs] hours_per_person in xlabench.toml."
        )
    return None


def timeout_s(job_request: JobRequest, limits: JobLimits) -> float:
    """Return how long an attempt may run.

    Raises:
        BadRequest: longer than the home allows.
    """
    seconds = job_request.timeout_s if job_request.timeout_s is not None else limits.timeout_s
    if not 0 < seconds <= limits.longest_timeout_s:
        raise BadRequest(
            f"A job may run for {limits.longest_timeout_s:g} s at most, not {seconds:g}; "
            "choose another timeout, or raise [jobs] longest_timeout_s in xlabench.toml."
        )
    return seconds


def check_words(job_request: JobRequest, person: Person) -> None:
    """Check what people say about a request.

    Raises:
        BadRequest: it is too long, is missing, or cannot be shown.
    """
    named = {
        "label": (job_request.label, LONGEST_NAME),
        "name": (person.name, LONGEST_NAME),
        "key": (job_request.key, LONGEST_NAME),
    }
    for what, (text, longest) in {**named, "why": (job_request.why, LONGEST_TEXT)}.items():
        if len(text) > longest:
            raise BadRequest(f"The {what} has {len(text)} characters, and at most {longest} are allowed; shorten it.")
        if any(not letter.isprintable() and letter != "\n" for letter in text) or (what != "why" and "\n" in text):
            raise BadRequest(f"The {what} contains a character that cannot be displayed; enter it again.")
    if not person.name.strip() or not job_request.label.strip():
        raise BadRequest("A name is missing: enter your name and a name for the run.")
    if abs(job_request.priority) > _MOST_PRIORITY:
        raise BadRequest(f"The priority must be between -100 and 100, not {job_request.priority}.")


def plain(text: str) -> str:
    r"""Return a text as one line without anything that a terminal obeys: `\x1b` and `\n` as they are written."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in text
    )


# Operators in a request: no more and no larger than a job may have, and no text in them that could name a file.


SUITE = "operators"
MOST_CASES = 2_500
"""Maximum number of cases: in four backends and both tests, they make as many experiments as a job may have."""
_MOST_S = 3.0
"""Maximum CPU seconds for listing the cases, because a page waits for them."""
_DEEPEST = 30
_MOST_BYTES = 1 << 36
"""Maximum number of bytes of the tensors of one call."""
_TEXT = re.compile(r"[\w ,.<>()*=!|?:;\[\]+-]{0,4000}", re.ASCII)
"""Modes, equations and schemas; none has a slash."""
_NAME = re.compile(r"[A-Za-z][\w.:+-]{0,199}", re.ASCII)
_SOURCE = re.compile(r"[\w./+-]{1,200}", re.ASCII)
_OF_FILES = re.compile(r"\b(from_file|save)\b")
"""The ops of aten that take the name of a file."""
_SIZES = {"double": 8, "long": 8, "float": 4, "int": 4, "float16": 2, "bfloat16": 2, "int16": 2}
"""Bytes of an element by data type; all other types have one byte."""


def check_configurations(texts: Iterable[str]) -> None:
    """Check configurations before anybody expands them without a bound.

    Raises:
        UsageError: one cannot be used, or asks for more than a job may have.
    """
    texts = tuple(texts)
    if any(len(text.encode()) > LONGEST_CONFIG for text in texts):
        raise UsageError(
            f"A job's configuration may have at most {LONGEST_CONFIG} bytes; reduce the number of operators."
        )
    read = [document.of_text(document.Text("the configuration", text)) for text in texts]
    for configuration in read:
        _check_depth(configuration.ops)
    for case in expand(*read, most=MOST_CASES, most_s=_MOST_S):
        check_operator(case.operator, case.name)
        check_source(case.used_by, case.name)


def _check_depth(ops: dict[str, document.OpInfo]) -> None:
    level: list[Any] = [
        part for info in ops.values() for config in info.config for part in (config.build, config.input)
    ]
    for _ in range(_DEEPEST):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return
    raise UsageError(f"A job's configuration may be nested at most {_DEEPEST} levels deep.")


def _children(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def check_planned(config: ExperimentConfig, where: str) -> None:
    """Check the operator of a plan's experiment, and that it is called what it is.

    Raises:
        UsageError: it holds none, has another's name, or more than a job may have.
    """
    operator = config.operator
    if operator is None or config.suite_name != SUITE:
        raise UsageError(f"{where}: only experiments of suite operators have an operator, and they need one.")
    check_operator(operator, where)
    named = operator_name(operator.name, {"build": operator.build, "input": operator.input})
    timed = " discrete" * operator.discrete + " cold L2" * operator.clear_cache
    if not re.fullmatch(re.escape(named) + r"( #[0-9]{1,6})?" + re.escape(timed), config.model_name):
        raise UsageError(f"{where}: {config.model_name!r} is not the name of its operator, which is {named!r}.")


def check_operator(operator: Operator, where: str) -> None:
    """Check one call.

    Raises:
        UsageError: as above.
    """
    if not _NAME.fullmatch(operator.name) or _OF_FILES.search(operator.name):
        raise UsageError(f"{where}: a job does not support the operator {operator.name!r}.")
    for generator in (operator.build_data_generator, operator.input_data_generator):
        if generator is not None and not _NAME.fullmatch(generator):
            raise UsageError(f"{where}: {generator!r} is not a data generator.")
    try:
        tensors = [tensor for part in (operator.build, operator.input) for tensor in arguments_of(part).tensors()]
    except FieldError as error:
        raise UsageError(f"{where}: {error.field}: {error.text}.") from None
    for text in _texts([operator.build, operator.input]):
        if not _TEXT.fullmatch(text) or _OF_FILES.search(text):
            raise UsageError(f"{where}: a job does not accept the text {text[:80]!r}.")
    size = sum(map(_bytes, tensors))
    if size > _MOST_BYTES:
        raise UsageError(f"{where}: its tensors have more than the {_MOST_BYTES} bytes that a job allows per call.")


def check_source(used_by: UsedBy | None, where: str) -> None:
    """Check the name of the model that an operator was recorded from.

    Raises:
        UsageError: it is none.
    """
    if used_by is not None and not _SOURCE.fullmatch(used_by.model):
        raise UsageError(f"{where}: {used_by.model[:80]!r} in used_by is not a model.")


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in arguments, the names of those by name, too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _bytes(tensor: Tensor) -> int:
    return math.prod(tensor.shape) * _SIZES.get(tensor.dtype, 1)
