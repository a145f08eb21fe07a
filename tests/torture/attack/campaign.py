#!/usr/bin/env python3
"""The mutation test as a campaign; a unit is one second of it. Every few seconds the test starts
again, with a fresh celld and the number of its first unit as the seed: a celld that runs for long
fills its caches, and the test compares its memory with that at the start. `CELLD_BINARY` names the
program.
"""

import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

import program  # noqa: E402

SECONDS_OF_A_SEED = 8
FAILURES_MAX = 3


def mutate(seed, seconds):
    """Runs the test; returns (conversations, whether it passed)."""
    test = subprocess.Popen(
        [sys.executable, "-W", "ignore::ResourceWarning", "-m", "unittest", "test_mutations"],
        cwd=HERE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.path.join(HERE, "..", "..", "lib"),
             "CELLD_MUTATION_SEED": str(seed), "CELLD_MUTATION_SECONDS": str(seconds)})
    try:
        said = test.communicate()[1]
    except KeyboardInterrupt:  # The test has got it too, and ends its daemons.
        test.communicate()
        raise
    print(said, flush=True)
    conversations = re.search(r"(\d+) conversations", said)
    return int(conversations[1]) if conversations else 0, test.returncode == 0


def work(options, outcome):
    ends_at, first = time.monotonic() + options.seconds, options.first
    while outcome.units < options.count and (first == options.first or time.monotonic() < ends_at):
        began_at = time.monotonic()
        conversations, well = mutate(first, SECONDS_OF_A_SEED)
        if not well:
            outcome.fail(first, SECONDS_OF_A_SEED)
        # A failed run may have ended early.
        outcome.add(SECONDS_OF_A_SEED if well else
                    min(SECONDS_OF_A_SEED, int(time.monotonic() - began_at)),
                    {"conversations": conversations})
        if len(outcome.failed) == FAILURES_MAX:
            break
        first += SECONDS_OF_A_SEED
    print(f"{outcome.figures['conversations']} mutated conversations in {outcome.units} s, "
          f"{len(outcome.failed)} failures")


def main():
    options = program.options(__doc__)
    program.run(options, lambda outcome: work(options, outcome))


if __name__ == "__main__":
    main()
