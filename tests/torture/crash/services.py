#!/usr/bin/env python3
"""Crash cycles of services: celld is killed or stopped at random moments, and restarted, while jobs
undo what they have done, services are limited or down, schedules submit jobs, and reloads change
all of these and move jobs between cells.

Afterwards, the calls that the provider saw must show: a job that failed has undone what it had
done, in reverse order, and nothing twice except after a kill or stop; no entity had two calls at
once; the service "limited" had no more calls at once, and "rated" no more in a second, than their
limits allow; no attempt was used up by waiting or by an interruption; no job failed because a
circuit was open; and each due time of a schedule has one job.

A cycle is one life of celld, from its start to its end. The cycle's number seeds the load and the
moment of the end. Several cycles form a round, in which they share a data directory. At its end all
jobs finish, and their calls are judged. `CELLD_BINARY` names the program.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

import rounds  # noqa: E402
from services_round import Round  # noqa: E402

CYCLES_OF_A_ROUND = 15

if __name__ == "__main__":
    rounds.main(Round, __doc__, CYCLES_OF_A_ROUND)
