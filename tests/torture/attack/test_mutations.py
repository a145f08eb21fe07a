"""Valid requests with random mutations, over many connections at once.

`CELLD_MUTATION_SECONDS` sets the duration (default 4), `CELLD_MUTATION_SEED` the seed.
"""

import os
import sys
import unittest

from mutations import converse
from siege import Siege

SECONDS = float(os.environ.get("CELLD_MUTATION_SECONDS", "4"))
SEED = os.environ.get("CELLD_MUTATION_SEED", "1")


class Mutations(Siege):
    def test_no_mutated_request_gets_a_wrong_answer_or_does_harm(self):
        self.start_siege(head_timeout_ms=700, body_timeout_ms=700, idle_timeout_ms=1000,
                         write_timeout_ms=1000)
        with self.siege():
            count, statuses, faults = converse(self.daemon, SEED, SECONDS)
            print(f"{count} conversations, answers: {statuses}", file=sys.stderr)
        self.assertEqual(faults, [])
        self.assertGreater(count, 100)
        self.assertGreater(len(statuses), 8, "most kinds of answers occur")


if __name__ == "__main__":
    unittest.main()
