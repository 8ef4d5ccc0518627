"""Whether verdicts can be trusted: real processes and real models, judged as a user's are.

`python tests/performance/trust.py [PART …] [--home DIR] [--scale F]`; without a part all of them, about an hour and a
half on two cores. In a home that is kept, what was measured before is not measured again. `make trust` writes the
tables to docs/trust.md.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.performance.trust_parts import arrangement, disturbed, harness_cost, identical, known_change, versions
from tests.performance.trust_parts.trials import Trials

PARTS = {
    "cost": (harness_cost, "What the harness costs"),
    "ab": (known_change, "Known differences"),
    "aa": (identical, "Identical experiments"),
    "disturbed": (disturbed, "Identical experiments beside another process that bursts"),
    "versions": (versions, "Torch 2.9.1 with torch_xla 2.9.0 against 2.8"),
    "arrangement": (arrangement, "Rounds and blocks of a turn"),
}


def main() -> None:
    """Gather what is missing and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--home", type=Path, help="keep what is measured here (default: a temporary folder)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual number of processes")
    parser.add_argument("--no-gather", action="store_true", help="only tell what the home holds")
    parsed = parser.parse_args()
    if unknown := set(parsed.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; choose of {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory() as scratch:
        home = (parsed.home or Path(scratch)).absolute()
        for name in parsed.parts or PARTS:
            part, title = PARTS[name]
            # A home for each: floors of one part, from a machine in another state, are none of the next.
            trials = Trials(home / name, parsed.scale)
            began = time.monotonic()
            if not parsed.no_gather:
                part.gather(trials)
            heading = [] if len(parsed.parts) == 1 else [f"\n## {title}\n"]
            print(*heading, *part.tell(trials), sep="\n")
            print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
