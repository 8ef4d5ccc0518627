"""Models of the user's own on the command line: `xlabench run mymodel.py`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from runner import flags
from runner.home.settings_file import OWN_PREFIX
from runner.jobs.folder import VARIABLE
from runner.plan import selection
from runner.settings import OwnModel
from runner.suites.own import reference
from runner.suites.own.reference import MEASURED, TIMM, TORCHVISION, OwnModelError, from_python
from runner.suites.own.suite import no_source
from store.errors import UsageError
from xlabench.api import PICKLED
from xlabench.command import EXIT_DONE, Parser, add_many, say

if TYPE_CHECKING:
    from runner.home.settings_file import SettingsFile
    from runner.plan import LocalRequest
    from runner.suites.base import TriedModel
    from store.record import ExperimentConfig

_TIMEOUT_S = 1800.0
_OWN = "own"
SELECTING = (
    *("suite_name", "config", "ops_of", "filter", "exclude", "only", "models_file", "filter_by_tier"),
    *("exclude_by_tier", "smoke", "plan"),
)
"""Fields of a request that select models of suites."""


def add_own_flags(parser: Parser) -> None:
    """Add what names models of one's own."""
    group = parser.add_argument_group("your own model")
    parser.set_defaults(files_are="own")
    group.add_argument(
        "own",
        nargs="*",
        metavar="MODEL",
        help="a model of your own: mymodel.py, mymodel.py:MyNet, package.module:make, model.pt2, a folder or "
        "config.json of transformers, timm:NAME or torchvision:NAME; its results are verified",
    )
    add_many(
        group,
        "--input",
        metavar="TYPE[SIZES]",
        help="an input of the model, for example 'f32[8,3,224,224]', 'i64[8,128]<30522' or 'mask=bool[8,128]'; repeat "
        "the flag for several, in order (default: the model's example_inputs())",
    )
    group.add_argument("--pickled", type=Path, help=argparse.SUPPRESS)  # of `xlabench.measure`
    group.add_argument(
        "--quick",
        action="store_true",
        help="take a first look with one process and fewer blocks; disturbed turns count, and results are verified "
        "after the table is printed",
    )
    group.add_argument(
        "--no-verify", action="store_true", help="measure a model of your own without verifying its results"
    )


@dataclass(frozen=True, kw_only=True)
class TypedModels:
    """Models of the user's own, as a command or `[models]` of the home names them."""

    words: tuple[str, ...] = ()
    inputs: tuple[tuple[str, ...], ...] = ()
    """Inputs of each word."""
    pickled: Path | None = None
    """Folder of the module that `xlabench.measure` wrote."""

    def __bool__(self) -> bool:
        return bool(self.words) or self.pickled is not None


def read(parsed: argparse.Namespace) -> tuple[LocalRequest, TypedModels]:
    """Return what flags ask for; models of one's own are verified by default, and measured on their own.

    Raises:
        UsageError: flags that select other models are given as well, or --input is given without a model.
    """
    request = flags.read(parsed)
    words = tuple(parsed.own)
    typed = TypedModels(words=words, inputs=(tuple(parsed.input),) * len(words), pickled=parsed.pickled)
    if not typed:
        if parsed.input:
            raise UsageError("--input requires a model of your own, for example `xlabench run mymodel.py`.")
        if parsed.no_verify and not parsed.quick:
            raise UsageError("--no-verify requires a model of your own, for example `xlabench run mymodel.py`.")
        return request, typed
    if parsed.no_verify and (request.protocol.verify or request.protocol.verify_only):
        raise UsageError("--no-verify excludes --verify and --verify-only; use one.")
    if parsed.input and (other := [word for word in words if word.startswith(TIMM)]):
        raise UsageError(f"--input is for models of your own; {other[0]} has inputs of its suite (--batch-size).")
    for name in SELECTING:
        if name in request.given:
            flag = "--" + name.replace("_", "-")
            raise UsageError(f"{flag} selects models of suites; remove it or {words[0] if words else 'your model'}.")
    return request if parsed.no_verify else _verified(request), typed


def _verified(request: LocalRequest) -> LocalRequest:
    return request if request.protocol.verify_only or request.quick else request.changed(verify=True)


def with_listed(request: LocalRequest, home: Path, file: SettingsFile) -> tuple[LocalRequest, TypedModels]:
    """Return the sources of the models that `--only own/NAME` names in `[models]` of the home, and the rest.

    Raises:
        UsageError: the home lists no such model.
    """
    only = request.selection.only
    names = [name.removeprefix(OWN_PREFIX) for name in only if name.startswith(OWN_PREFIX)]
    for name in names:
        if name not in file.models:
            raise UsageError(
                f"--only own/{name}: [models] of {home / 'xlabench.toml'} lists no such model. Add it there, or pass "
                "the file of the model."
            )
    if not names:
        return request, TypedModels()
    listed = [file.models[name] for name in names]
    typed = TypedModels(
        words=tuple(str(home / model.source) if _is_path(model.source) else model.source for model in listed),
        inputs=tuple(model.inputs for model in listed),
    )
    return _verified(request).changed(only=tuple(name for name in only if not name.startswith(OWN_PREFIX))), typed


def _is_path(source: str) -> bool:
    """Say whether a source is a file or folder, and no name of a module or of a library's model."""
    file = source.partition(":")[0]
    return "/" in file or file.endswith((".py", ".pt2", ".json")) or ":" not in source


def with_own(request: LocalRequest, typed: TypedModels, named: Mapping[str, Path]) -> LocalRequest:
    """Return the request for the models that the command names; each is tried once, where the first one is measured.

    Raises:
        UsageError: one cannot be used.
    """
    if not typed:
        return request
    zoo = [f"timm_models/{word.removeprefix(TIMM)}" for word in typed.words if word.startswith(TIMM)]
    for name in zoo:
        selection.require(request, name, f"{TIMM}{name.partition('/')[2]}")
    sources = zip(typed.words, typed.inputs, strict=True)
    own = _tried(
        request,
        [(word, inputs) for word, inputs in sources if not word.startswith(TIMM)],
        typed.pickled,
        _python(request, named),
    )
    names = (*request.selection.only, *(f"own/{own_model.model.name}" for own_model in own), *zoo)
    suites = dict.fromkeys((*request.suites, *(name.partition("/")[0] for name in names)))
    return request.changed(suite_name=tuple(suites), only=names, own=own)


def without_folders(parsed: argparse.Namespace, own: Sequence[TriedModel] = ()) -> list[str]:
    """Return the command's words as records keep them: they name a model of one's own, and no folder of its source."""
    names = {path: Path(path).name for path in (*getattr(parsed, "own", ()), *getattr(parsed, "model", ()))}
    if getattr(parsed, "pickled", None) is not None:
        names = {str(parsed.pickled): own[0].model.title}
    words = []
    for word in parsed.words:
        flag, equals, value = word.rpartition("=") if word.startswith("--") else ("", "", word)
        words.append(names[value] if flag == "--pickled" else f"{flag}{equals}{names.get(value, value)}")
    return words


def _pickled(folder: Path | None) -> OwnModel | None:
    """Return the module that `xlabench.measure` has left in a folder of its own."""
    return None if folder is None else msgspec.json.decode((folder / PICKLED).read_bytes(), type=OwnModel)


def _python(request: LocalRequest, named: Mapping[str, Path]) -> str:
    """Return the interpreter of the first environment."""
    from runner.plan.interpreters import interpreter_of

    name, python = request.environments[0] if request.environments else ("default", None)
    return interpreter_of(name, python or named.get(name))


def _tried(
    request: LocalRequest, typed: Sequence[tuple[str, tuple[str, ...]]], pickled: Path | None, python: str
) -> tuple[TriedModel, ...]:
    """Return the models, given by word and inputs."""
    from runner.plan import interpreters
    from runner.suites.own import trial

    usual = trial.TrialRequest(
        pickled=_pickled(pickled),
        batch_size=request.configuration.batch_size,
        weights=request.configuration.weights or "random",
        seed=request.protocol.seed or 1337,
    )
    requests = [msgspec.structs.replace(usual, word=word, inputs=inputs) for word, inputs in typed]
    own_models = trial.try_models(
        requests if usual.pickled is None else [usual],
        python=python,
        variables={**os.environ, **interpreters.variables(python)},
        timeout_s=float(request.protocol.subprocess_timeout or _TIMEOUT_S),
    )
    for model in own_models:
        if model.too_large:
            say(
                f"{model.source.name} ran out of memory when it was tried ({model.too_large}). It is measured "
                "nevertheless; if that fails as well, use smaller inputs, or a smaller --batch-size.",
                EXIT_DONE,
            )
    return own_models


def models_of_records(configs: Iterable[ExperimentConfig], words: Sequence[str], python: str) -> dict[str, OwnModel]:
    """Return the models of one's own that were measured before, by their names in records.

    A record holds the name and the hash of a source only. So each model is one that the command names again, or a file
    of that name in this folder that has this hash.

    Args:
        configs: what was measured.
        words: what the command names.
        python: the interpreter that measures again.

    Raises:
        UsageError: one is neither.
    """
    wanted = {config.model_name: config for config in configs if config.suite_name == _OWN}
    if measured := [name for name in wanted if name.startswith(MEASURED)]:
        raise UsageError(from_python(measured[0]))
    try:
        named = {word: reference.read(word) for word in words}
        chosen = {
            name: next((word for word, reference in named.items() if reference.may_be(_title(config))), None)
            or _lying_here(config)
            for name, config in wanted.items()
        }
    except OwnModelError as error:
        raise UsageError(str(error)) from None
    if unused := [word for word in words if word not in chosen.values()]:
        raise UsageError(f"--model {unused[0]}: none of these experiments measured it.")
    return {name: as_measured(word, wanted[name], python, _TIMEOUT_S) for name, word in chosen.items()}


def _title(config: ExperimentConfig) -> str:
    return config.source.name if config.source else config.model_name


def _lying_here(config: ExperimentConfig) -> str:
    """Return the name of a model whose source lies in this folder as it was measured; no job looks for one.

    Raises:
        OwnModelError: it does not.
    """
    from runner.suites.own import source

    title = _title(config)
    base = title.partition(":")[0]
    if title.startswith(TORCHVISION):
        return title
    if VARIABLE in os.environ:
        raise OwnModelError(no_source(config.model_name))
    missing = f"{config.model_name} is a model of your own, and its source is in no record"
    if config.source is None or Path(base).name != base or not Path(base).exists():
        raise OwnModelError(f"{missing}: name it with --model, or run the command in the folder of {base}.")
    if source.sha256(Path(reference.read(title).place), ()) != config.source.sha256:
        raise OwnModelError(
            f"{missing}: {base} in this folder has another hash, because it has changed or reads other files. "
            "Name it with --model."
        )
    return title


def as_measured(word: str, config: ExperimentConfig, python: str, timeout_s: float) -> OwnModel:
    """Return the model that a command names, which has to be the one that was measured.

    Raises:
        UsageError: it is another one, or cannot be used.
    """
    from runner.plan.interpreters import variables
    from runner.suites.own import trial

    request = trial.TrialRequest(
        word=word,
        inputs=config.source.inputs if config.source else (),
        batch_size=config.batch_size,
        weights=config.weights,
    )
    environment = {**os.environ, **variables(python)}
    [own_model] = trial.try_models([request], python=python, variables=environment, timeout_s=timeout_s)
    if own_model.model.name != config.model_name:
        raise UsageError(f"--model {word} is {own_model.model.name}, but {config.model_name} was measured.")
    return own_model.model
