"""`xlabench completion`: scripts that complete verbs, flags, suites, backends and models; without torch."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from runner.suites import get_suite, suite_names
from runner.suites.base import SuiteContext
from xlabench.command import EXIT_DONE, Parser, Verbs, verb

_SCRIPTS = {
    "bash": """\
_xlabench() {
    local IFS=$'\\n'
    COMPREPLY=($(xlabench completion bash --words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _xlabench xlabench
""",
    "zsh": """\
_xlabench() {
    local -a found
    found=("${(@f)$(xlabench completion zsh --words "${(@)words[2,$CURRENT]}" 2>/dev/null)}")
    if [[ -n "$found" ]]; then compadd -- $found; else _files; fi
}
compdef _xlabench xlabench
""",
    "fish": """\
function __xlabench
    set -l words (commandline -opc)
    set -g __xlabench_found (xlabench completion fish --words $words[2..] (commandline -ct) 2>/dev/null)
    test -n "$__xlabench_found"
end
complete -c xlabench -n __xlabench -f -a '$__xlabench_found'
""",
}
"""Each script passes the words after `xlabench` up to the cursor; without completions, the shell offers files."""
_MODELS = ("only", "filter", "exclude", "ops_of")
"""Flags that take names of models."""
_BACKENDS = ("backend", "backends", "baseline", "baseline_backend")


def add(verbs: Verbs) -> None:
    """Add the verb and its flags."""
    parser = verb(
        verbs,
        "completion",
        _completion,
        "Print a script that completes commands in bash, zsh or fish.",
        'For the current shell: eval "$(xlabench completion bash)".',
    )
    parser.add_argument("shell", choices=_SCRIPTS, metavar="SHELL", help="bash, zsh or fish")
    # The scripts pass this flag.
    parser.add_argument("--words", dest="behind", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def _completion(parsed: argparse.Namespace) -> int:
    if parsed.behind is None:
        print(_SCRIPTS[parsed.shell], end="")
    else:
        print("\n".join(completions(parsed.whole(), parsed.behind)))
    return EXIT_DONE


def completions(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """Return what the last of some words, which is empty or has just begun, may become; none: nothing is known."""
    *before, last = words or [""]
    verbs = _verbs(parser)
    for number, word in enumerate(before):
        if verbs is not None and word in verbs.choices:
            return completions(verbs.choices[word], words[number + 1 :])
    if last.startswith("-"):
        names: Iterable[str] = (name for name in _flags(parser) if name.startswith("--"))
    elif (action := _waiting(parser, before)) is not None:
        names = _values(action, before)
    elif verbs is not None:
        names = [shown.dest for shown in verbs._choices_actions]  # noqa: SLF001 - argparse keeps what is shown there only
    else:
        positional = [action for action in parser._actions if not action.option_strings]  # noqa: SLF001 - as above
        names = [str(choice) for action in positional for choice in action.choices or ()]
    return [name for name in names if name.startswith(last)]


def _verbs(parser: argparse.ArgumentParser) -> argparse._SubParsersAction[Parser] | None:
    verbs = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001 - as above
    return verbs[0] if verbs else None


def _flags(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return the flags that help shows."""
    known = parser._option_string_actions  # noqa: SLF001 - as above
    return {name: action for name, action in known.items() if action.help != argparse.SUPPRESS}


def _waiting(parser: argparse.ArgumentParser, before: Sequence[str]) -> argparse.Action | None:
    """Return the flag that takes the next word as a value, if one does."""
    flags = _flags(parser)
    for distance, word in enumerate(reversed(before)):
        if word.startswith("-"):
            action = flags.get(word)
            takes_none = action is None or action.nargs == 0
            takes_more = action is not None and (distance == 0 or action.nargs in ("+", "*"))
            return None if takes_none or not takes_more else action
    return None


def _values(action: argparse.Action, before: Sequence[str]) -> Iterable[str]:
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    if action.dest in _BACKENDS:
        from runner.backends import NAMES

        return list(NAMES)
    return _models(action.dest, before) if action.dest in _MODELS else ()


def _models(flag: str, before: Sequence[str]) -> list[str]:
    """Return the names of models, of the suites that the command names if it does."""
    context = SuiteContext()
    named = [word for word in before if word in suite_names()]
    models = []
    for name in named or suite_names():
        suite = get_suite(name)
        if suite.unavailable(context) is None:
            prefix = f"{name}/" if flag == "ops_of" else ""
            models += [prefix + model.name for model in suite.models(context)]
    return list(dict.fromkeys(models))
