"""What an interpreter offers, as one line of JSON: `PYTHON -m runner.environments.probe`, run by `runner.plan`.

Only the standard library is imported before it is known that the rest is there; older Pythons get that far, too.
"""

from __future__ import annotations

import importlib.util
import json
import platform
import sys

NEEDED = {"msgspec": "msgspec", "numpy": "numpy", "psutil": "psutil", "yaml": "pyyaml"}
"""Modules that a benchmark process imports in addition to torch, and their packages."""
OLDEST = (3, 11)


def main() -> None:
    """Print what is lacking, or the machine and the environment as this interpreter sees them."""
    facts: dict[str, object] = {"python": platform.python_version(), "recent": sys.version_info[:2] >= OLDEST}
    facts["lacking"] = [package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None]
    if facts["recent"] and not facts["lacking"]:
        import msgspec

        from runner.environments import machine

        here = machine.detect()
        facts["machine"] = msgspec.to_builtins(here)
        facts["environment"] = msgspec.to_builtins(machine.describe("", here, {}, None))
    sys.stdout.write(f"\n{json.dumps(facts)}\n")


if __name__ == "__main__":
    main()
