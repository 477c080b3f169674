"""Random cases for the oracle, one JSON object a line.

    python -m tests.oracle.generator --seed S --cases N --profile P --nodes A-B [--first I]

Case i of a seed and profile does not depend on N. The clusters are small and their vocabularies smaller, so that ties,
near fits and conflicts are common. Every object is one that the API server would accept (`oracle -validate`).
"""

import argparse
import json
import sys

from tests.oracle.generator.case import RandomCase
from tests.oracle.generator.profiles import PROFILES


def main() -> int:
    """Write the cases that the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.oracle.generator",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", default="1")
    parser.add_argument("--cases", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="index of the first case")
    parser.add_argument("--profile", choices=PROFILES, default="mixed")
    parser.add_argument("--nodes", default="2-12", help="A-B or a number")
    options = parser.parse_args()
    low, _, high = options.nodes.partition("-")
    fewest, most = int(low), int(high or low)
    if not 1 <= fewest <= most:
        parser.error("--nodes wants A-B with 1 <= A <= B")
    for index in range(options.first, options.first + options.cases):
        case = RandomCase(options.seed, options.profile, index, fewest, most).build()
        sys.stdout.write(json.dumps(case, separators=(",", ":")) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
