#!/usr/bin/env python3
"""Crash cycles: clients load a celld, which is killed or stopped at a random moment and restarted.
Then an audit compares its state with every answer it gave.

A cycle is one life of celld, from its start to its end. The cycle's number seeds the load and the
moment of the end. Several cycles form a round: they share a data directory, and at the end of the
round all jobs finish and a last audit follows, even when the time limit or a signal (SIGINT,
SIGTERM) ends the round early. `CELLD_BINARY` names the program.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

import rounds  # noqa: E402
from crash_round import Round  # noqa: E402

CYCLES_OF_A_ROUND = 25

if __name__ == "__main__":
    rounds.main(Round, __doc__, CYCLES_OF_A_ROUND)
