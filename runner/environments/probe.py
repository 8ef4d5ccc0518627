"""What an interpreter offers, told as one line of JSON: `PYTHON -m runner.probe`, run by `runner.environments`.

Only the standard library is imported before it is known that the rest is there; older Pythons get that far, too.
"""

from __future__ import annotations

import importlib.util
import json
import platform
import sys

NEEDED = {"msgspec": "msgspec", "numpy": "numpy", "psutil": "psutil", "yaml": "pyyaml"}
"""What a measuring process imports beside torch: modules and the packages that bring them."""
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
