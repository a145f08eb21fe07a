"""What fails in the runs of failing_disk.py, and how many runs make a pass."""

import collections

# More calls than a celld without faults makes, from a new directory and from an old one. So the
# last units of each plan are beyond the last call, and their runs must pass without a fault.
CALLS = {"new": {"write": 180, "sync": 70, "any": 280, "read": 150},
         "old": {"write": 190, "sync": 60, "any": 260, "read": 1300}}
Plan = collections.namedtuple("Plan", "name prepared fault calls")
PLANS = [Plan(f"{start}, {kind} {error} {span}", start == "old", f"{kind}:{{}}:{error}:{span}",
              CALLS[start][kind])
         for start in ("new", "old")
         for kind, error, span in (("write", "EIO", "once"), ("write", "ENOSPC", "on"),
                                   ("write", "SHORT", "on"), ("write", "SHORT", "once"),
                                   ("sync", "EIO", "once"), ("sync", "EIO", "on"),
                                   ("any", "EIO", "on"), ("any", "ENOSPC", "once"),
                                   ("read", "EIO", "once"))]
