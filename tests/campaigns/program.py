"""The command line of a campaign's program, for those that are written in Python."""

import argparse
import json
import sys


def options(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--from", type=int, default=0, dest="first",
                        help="number of the first unit")
    parser.add_argument("--count", type=int, help="at most so many units")
    parser.add_argument("--seconds", type=float, help="begin no unit after so many seconds")
    parser.add_argument("--summary", help="file for the outcome, as JSON")
    found = parser.parse_args()
    if found.count is None and found.seconds is None:
        parser.error("--count or --seconds is missing")
    return found


def finish(found, units, failed, figures):
    """Writes the summary and ends the program. `failed`: a {"from", "count"} for each failure."""
    if found.summary:
        with open(found.summary, "w", encoding="utf-8") as file:
            json.dump({"units": units, "failures": len(failed), "failed": failed,
                       "figures": figures}, file)
    sys.exit(1 if failed else 0)
