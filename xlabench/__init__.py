"""The command `xlabench`; `xlabench --help` lists its verbs.

The only composer: it may import every room, each verb when it is used, so that a verb needs no more packages
than its work. One module per verb; some have the verbs that belong to them, too.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence

from store.errors import XlabenchError
from store.places import with_places
from xlabench.api import MeasureError, Result, measure
from xlabench.command import EPILOG, EXIT_DONE, EXIT_INTERRUPTED, EXIT_USAGE, Parser, places_of, say

__all__ = ["MeasureError", "Result", "main", "measure"]
VERSION = "0.1.0"
"""The version; `pyproject.toml` reads it from here."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; return its exit code."""
    if arguments is None:
        _speak_utf8()
    words = list(sys.argv[1:] if arguments is None else arguments)
    parsed: argparse.Namespace | None = None
    try:
        parsed, rest = _parser(words[0] if words else "").parse_known_args(words)
        parsed.add_left_over_words(parsed, rest)
        parsed.words = words
        return int(parsed.verb(parsed))
    except KeyboardInterrupt:
        if arguments is None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would end the exit, and change its code
        return say("Interrupted.", EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader closed the pipe; without this, Python would report an error when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_DONE
    except (OSError, UnicodeEncodeError) as error:
        return _of_system(error) if isinstance(error, OSError) else _of_encoding(error, words)
    except XlabenchError as error:
        return say(with_places(str(error), *places_of(parsed)), error.exit_code)
    except RuntimeError as error:
        if not _is_interrupt(error):
            raise
        return say("Interrupted.", EXIT_INTERRUPTED)


def _speak_utf8() -> None:
    """Restart Python in UTF-8 mode if the locale has another encoding: DuckDB and our child processes need UTF-8 paths.

    Characters that the output encoding lacks are printed as escape sequences.
    """
    if sys.getfilesystemencoding() != "utf-8":
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - the very command that was typed
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _of_system(error: OSError) -> int:
    """Report what the operating system refuses; an error that a user cannot act on stays a traceback."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = f" ({error.filename})" if error.filename else ""
        return say(
            f"The disk is full{where}. Free some space and repeat the command; finished measurements are kept.", 1
        )
    if error.filename is None:
        raise error
    return say(f"{error.filename} cannot be used: {error.strerror}. Check the path and its permissions.", EXIT_USAGE)


def _of_encoding(error: UnicodeEncodeError, words: Sequence[str]) -> int:
    """Report a word of the command line that is not UTF-8: Python gives its bytes as lone surrogates."""
    not_utf8 = next((word for word in words if word.encode("utf-8", "replace").decode() != word), None)
    if not_utf8 is None:
        raise error
    return say(f"{not_utf8!r} is not UTF-8, so no record can hold it. Choose another name.", EXIT_USAGE)


def _is_interrupt(error: RuntimeError) -> bool:
    """Say whether an error is Ctrl-C in the middle of a query, which DuckDB raises as a plain RuntimeError."""
    return type(error) is RuntimeError and str(error) == "Query interrupted"


_VERBS = {
    "doctor": "doctor.add",
    "plan": "run.add_plan",
    "run": "run.add",
    "calibrate": "run.add_calibrate",
    "ingest": "ingest.add",
    "export": "sql.add_export",
    "report": "report.add",
    "compare": "compare.add",
    "repro": "repro.add",
    "serve": "serve.add",
    "jobs": "jobs.add",
    "worker": "worker.add",
    "schedule": "schedule.add",
    "notices": "notices.add",
    "sql": "sql.add",
    "mark": "mark.add",
    "prune": "prune.add",
    "backup": "sql.add_backup",
    "carry-out": "run.add_carry_out",
    "completion": "completion.add",
}
"""Verb → the function that adds it, in the order of `xlabench --help`."""


def _parser(typed: str = "") -> Parser:
    """Return the parser with the typed verb alone, whose module is the only one to import, else with all verbs."""
    parser = Parser(
        prog="xlabench",
        description="Benchmark PyTorch backends: which is faster, by how much, and why.",
        epilog="Begin with `xlabench run mymodel.py` or `xlabench run --smoke`, then `xlabench serve`. "
        f"`xlabench VERB --help` explains a verb. {EPILOG}",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {VERSION}")
    verbs = parser.add_subparsers(dest="name", required=True, metavar="VERB", parser_class=Parser)
    for place in [_VERBS[typed]] if typed in _VERBS else _VERBS.values():
        module, _, add = place.partition(".")
        getattr(importlib.import_module(f"xlabench.{module}"), add)(verbs)
    parser.set_defaults(whole=_parser)
    return parser
