"""A journal of what clients sent and celld answered: one JSON object per line.

- `began` (life, wall_ahead_s): a celld is started. `wall_ahead_s`: the wall clock less
  CLOCK_MONOTONIC. `watching`: a client follows its events. `signalled` (how): the test sends it a
  signal. `died` (how): it has ended.
- `interrupted` (jobs): the jobs that the database of a dead celld shows as running: [key, epoch of
  the lease, step, earlier interruptions in a row] of each.
- `submitting` (key, job): a job is sent with an idempotency key. `accepted` (key, id): 202 or 200.
- `requesting` (id, what): a request to cancel or reopen (`retry`) is sent. `answered` (id, what,
  status): its answer.
- `resizing` (cell, size): a pool size is sent. `resized` (cell): 202. `size` (cell, size): a celld
  that has just started has this size.
- `saw` (job): a job in an answer or event, which celld therefore has on disk.

Each note has `at`, a time from CLOCK_MONOTONIC. A crash leaves requests without an answer.
"""

import json
import time

from ledger import Ledger


class Journal:
    """Enters notes in a ledger, and writes those that are news to the file."""

    def __init__(self, path):
        self.ledger = Ledger()
        self.file = open(path, "a", encoding="utf-8")

    def note(self, note, **members):
        entry = {"note": note, "at": time.monotonic(), **members}
        if self.ledger.enter(entry):
            self.file.write(json.dumps(entry) + "\n")
            self.file.flush()

    def close(self):
        self.file.close()


def read(path):
    """The ledger of an existing journal."""
    ledger = Ledger()
    with open(path, encoding="utf-8") as file:
        for line in file:
            ledger.enter(json.loads(line))
    return ledger
