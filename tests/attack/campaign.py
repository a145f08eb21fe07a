#!/usr/bin/env python3
"""The mutations as a campaign: a unit is a second of them; the first one's number is the seed.
`CELLD_BINARY` names the program.
"""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "campaigns"))

import program  # noqa: E402

SECONDS_MIN = 8  # The test wants some conversations.
SECONDS_MAX = 120


def mutate(seed, seconds):
    """(conversations, whether all went well)"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::ResourceWarning", "-m", "unittest", "test_mutations"],
        cwd=HERE, stderr=subprocess.PIPE, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.path.join(HERE, "..", "e2e"),
             "CELLD_MUTATION_SEED": str(seed), "CELLD_MUTATION_SECONDS": str(seconds)})
    print(done.stderr, flush=True)
    conversations = re.search(r"(\d+) conversations", done.stderr)
    return int(conversations[1]) if conversations else 0, done.returncode == 0


def main():
    found = program.options(__doc__)
    count = min(round(found.seconds or SECONDS_MAX), found.count or SECONDS_MAX)
    seconds = max(SECONDS_MIN, min(count, SECONDS_MAX))
    conversations, well = mutate(found.first, seconds)
    print(f"{conversations} conversations of mutants in {seconds} s, "
          f"{'no' if well else 'a'} failure")
    failed = [] if well else [{"from": found.first, "count": seconds}]
    program.finish(found, seconds, failed, {"conversations": conversations})


if __name__ == "__main__":
    main()
