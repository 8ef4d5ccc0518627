"""What every script says: versions first, then whether the fault is shown, which is its exit code, too."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from importlib import metadata
from typing import NoReturn

from runner.repro.parts.given import ENVIRONMENT, EXPECTED, PACKAGES

_LONGEST = 2000


def shown(why: str) -> int:
    """Say that the fault is there."""
    print(f"SHOWN: {why}")
    return 0


def not_shown(why: str) -> int:
    """Say that it is not."""
    print(f"NOT SHOWN: {why}")
    return 1


def is_expected(message: str) -> bool:
    """Tell whether a message holds the expected texts in their order."""
    place = 0
    for text in EXPECTED:
        place = message.find(text, place)
        if place < 0:
            return False
        place += len(text)
    return True


def judge_message(message: str) -> int:
    """Print a message and say whether it is the expected one."""
    print(message[:_LONGEST])
    return shown("the message is the expected one") if is_expected(message) else not_shown("another message")


def run(main: Callable[[], int]) -> NoReturn:
    """Print versions, do what shows the fault, end with its answer."""
    os.environ.update(ENVIRONMENT)
    print(f"VERSIONS: python {platform.python_version()}", end="")
    for name in PACKAGES:
        try:
            print(f", {name} {metadata.version(name)}", end="")
        except metadata.PackageNotFoundError:
            print(f", {name} of an unknown version", end="")
    print(flush=True)
    sys.exit(main())
