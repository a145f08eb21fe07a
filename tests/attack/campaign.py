#!/usr/bin/env python3
"""The mutations as a campaign: a unit is a second of them. Every few seconds another seed begins,
the number of its first unit, with a fresh celld: one that goes on fills its caches, and the test
holds its memory against that of the beginning. `CELLD_BINARY` names the program.
"""

import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "campaigns"))

import program  # noqa: E402

SECONDS_OF_A_SEED = 8


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
    ends_at = time.monotonic() + (found.seconds or float("inf"))
    done, failed, conversations = 0, [], 0
    while done < (found.count or sys.maxsize) and (done == 0 or time.monotonic() < ends_at):
        first = found.first + done
        more, well = mutate(first, SECONDS_OF_A_SEED)
        if not well:
            failed.append({"from": first, "count": SECONDS_OF_A_SEED})
        done += SECONDS_OF_A_SEED
        conversations += more
    print(f"{conversations} conversations of mutants in {done} s, {len(failed)} failures")
    program.finish(found, done, failed, {"conversations": conversations})


if __name__ == "__main__":
    main()
