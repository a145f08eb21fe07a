"""The campaigns of the tree. To add one, add an entry."""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "disk"))

from campaign import Campaign  # noqa: E402
from failing_plans import PLANS  # noqa: E402

LIMITS = ("--from", "{from}", "--count", "{count}", "--seconds", "{seconds}",
          "--summary", "{summary}")
# For units that tolerate each other's load. Their processes wait most of the time.
SHARED = (*LIMITS, "--workers", str(2 * (os.cpu_count() or 1)))

CAMPAIGNS = (
    Campaign(
        name="simulation", promises="P1-P12",
        what="the engine on a virtual clock, with schedules, faults and crashes drawn from a seed",
        unit="seeds", goal=1_000_000,
        command=("build/celld_simulation", *LIMITS), needs=("build/celld_simulation",)),
    Campaign(
        name="stores", promises="P1, P2, P3, P6",
        what="the SQLite store and the in-memory one on the same operations, faults and crashes",
        unit="seeds", goal=100_000,
        command=("build/celld_stores", *LIMITS), needs=("build/celld_stores",)),
    Campaign(
        name="crash", promises="P1-P6, P11, P12",
        what="a celld under load, killed or stopped at random moments and restarted",
        unit="cycles", goal=10_000,
        command=("tests/torture/crash/cycles.py", *SHARED), needs=("build/celld",)),
    Campaign(
        name="services", promises="P1, P2, P5, P11",
        what="the same while jobs compensate, schedules fire, and services are limited or down",
        unit="cycles", goal=10_000,
        command=("tests/torture/crash/services.py", *SHARED), needs=("build/celld",)),
    Campaign(
        name="power-cuts", promises="P1, P2",
        what="the store, and sometimes a whole celld, on disks as a power cut can leave them",
        unit="disks", goal=100_000,
        command=("tests/torture/disk/power_cuts.py", *SHARED),
        needs=("build/celld", "build/celld_power_cuts", "build/celld_disk_shim.so"),
        slice_min_s=20),
    Campaign(
        name="failing-disks", promises="P1, P2",
        what="a celld whose N-th disk call fails, and the same celld after a restart",
        unit="runs", goal=sum(plan.calls for plan in PLANS),  # A pass.
        command=("tests/torture/disk/failing_disk.py", *SHARED),
        needs=("build/celld", "build/celld_power_cuts", "build/celld_disk_shim.so"),
        slice_min_s=20),
    Campaign(
        name="damage", promises="P1",
        what="a celld that starts on a database in which bytes have changed",
        unit="databases", goal=10_000,
        command=("tests/torture/damage/damage.py", *LIMITS), needs=("build/celld",),
        slice_min_s=20),
    Campaign(
        name="backlog", promises="P9",
        what="starts of a celld on a database with a million jobs",
        unit="starts", goal=1000,
        command=("tests/torture/scale/backlog.py", *LIMITS, "--jobs", "1000000"),
        needs=("build/celld",), slice_min_s=90),
    Campaign(
        name="hostile", promises="P5, P8, P9",
        what="many hostile providers at once, alongside well-behaved ones",
        unit="rounds", goal=1000,
        command=("tests/torture/hostile/campaign.py", *LIMITS), needs=("build/celld",),
        slice_min_s=60),
    Campaign(
        name="storms", promises="P4, P9, P12",
        what="resizes, reloads and overload in turn, for up to ten minutes each",
        unit="seconds of storms", goal=1800,
        command=("tests/torture/storms/campaign.py", *LIMITS), needs=("build/celld",),
        slice_min_s=60, slice_whole_s=610),
    Campaign(
        name="soak", promises="P9",
        what="a steady load with retention, after which celld holds no more than before it",
        unit="minutes", goal=24 * 60,
        command=("tests/torture/soak/soak.py", *LIMITS), needs=("build/celld",),
        slice_min_s=150, slice_whole_s=3600),
    Campaign(
        name="fuzz", promises="P9, P12",
        what="each of the fuzzers, continuing from the corpus so far",
        unit="seconds", goal=7 * 3600,
        command=("tests/torture/fuzz/campaign.py", *LIMITS, "--workers", str(os.cpu_count() or 1)),
        needs=("build-fuzz/fuzz_json",),
        slice_min_s=10),
    Campaign(
        name="mutations", promises="P9",
        what="mutated requests over many connections, while other clients keep working",
        unit="seconds", goal=3600,
        command=("tests/torture/attack/campaign.py", *LIMITS), needs=("build/celld",),
        slice_min_s=10),
    Campaign(
        name="mutants", promises="all",
        what="small mistakes in the product, each built and tried against the tests",
        unit="mutants", goal=1200,
        command=("tests/torture/mutants/mutants.py", *LIMITS), slice_min_s=600),
)
